package identity_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"flashsale/shared/identity"
)

const (
	issuer   = "https://id.example"
	audience = "flash-sale"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// RSA keys take long to make, so all tests share the signers.
var (
	rsaSigner     = sync.OnceValue(func() signer { return signer{"rsa-1", jose.RS256, must(rsa.GenerateKey(rand.Reader, 2048))} })
	ecSigner      = sync.OnceValue(func() signer { return signer{"ec-1", jose.ES256, newEC()} })
	edSigner      = sync.OnceValue(func() signer { return signer{"ed-1", jose.EdDSA, newEd()} })
	strangeSigner = sync.OnceValue(func() signer { return signer{"ec-1", jose.ES256, newEC()} })
)

type signer struct {
	kid string
	alg jose.SignatureAlgorithm
	key any // private
}

func newEC() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

func newEd() ed25519.PrivateKey {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (s signer) public() jose.JSONWebKey {
	k := jose.JSONWebKey{Key: s.key, KeyID: s.kid, Use: "sig"}
	return k.Public()
}

func keySet(keys ...jose.JSONWebKey) []byte {
	return must(json.Marshal(jose.JSONWebKeySet{Keys: keys}))
}

func allKeys() []byte {
	return keySet(rsaSigner().public(), ecSigner().public(), edSigner().public())
}

// sign makes a token of exactly that payload. Extra headers win.
func (s signer) sign(payload string, headers map[string]any) string {
	o := (&jose.SignerOptions{}).WithType("JWT")
	if s.kid != "" {
		o.WithHeader("kid", s.kid)
	}
	for name, value := range headers {
		o.WithHeader(jose.HeaderKey(name), value)
	}
	js := must(jose.NewSigner(jose.SigningKey{Algorithm: s.alg, Key: s.key}, o))
	return must(must(js.Sign([]byte(payload))).CompactSerialize())
}

// claims are good ones, with changes; a nil value leaves the claim out.
func claims(changes map[string]any) string {
	c := map[string]any{
		"iss": issuer, "aud": audience, "sub": "u1",
		"exp": noon.Add(time.Hour).Unix(), "iat": noon.Unix(), "nbf": noon.Unix(),
	}
	for name, value := range changes {
		if value == nil {
			delete(c, name)
			continue
		}
		c[name] = value
	}
	return string(must(json.Marshal(c)))
}

func with(name string, value any) string { return claims(map[string]any{name: value}) }

// raw puts a token together without any library, for what libraries refuse to make.
func raw(header, payload, signature string) string {
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(header)) + "." + enc([]byte(payload)) + "." + enc([]byte(signature))
}

// signed is a token of an Ed25519 key, with that header whatever it says.
func (s signer) signed(header, payload string) string {
	enc := base64.RawURLEncoding.EncodeToString
	text := enc([]byte(header)) + "." + enc([]byte(payload))
	return text + "." + enc(ed25519.Sign(s.key.(ed25519.PrivateKey), []byte(text)))
}

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func newVerifier(t testing.TB, jwks []byte) *identity.Verifier {
	t.Helper()
	keys, err := identity.StaticKeys(jwks)
	if err != nil {
		t.Fatalf("StaticKeys: %v", err)
	}
	return identity.NewVerifier(keys, issuer, audience, time.Minute, at(noon))
}
