// Package identitytest is an identity provider for tests. It promises tokens
// that its own verifier accepts, and the means to spoil them one by one.
// Nothing that is deployed imports it.
package identitytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"flashsale/shared/identity"
)

// What the tokens say and the verifier wants.
const (
	Issuer   = "https://id.test"
	Audience = "flash-sale-test"
	kid      = "test"
)

// A Provider signs by one ES256 key.
type Provider struct{ key *ecdsa.PrivateKey }

// New makes a provider with a fresh key.
func New() *Provider { return &Provider{must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))} }

// Verifier accepts the provider's tokens.
func (p *Provider) Verifier(t testing.TB) *identity.Verifier {
	t.Helper()
	public := jose.JSONWebKey{Key: p.key.Public(), KeyID: kid, Use: "sig"}
	keys, err := identity.StaticKeys(must(json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public}})))
	if err != nil {
		t.Fatalf("identitytest: %v", err)
	}
	return identity.NewVerifier(keys, Issuer, Audience, time.Minute, time.Now)
}

// Token is a good token of that shopper.
func (p *Provider) Token(userID string) string { return p.Sign(map[string]any{"sub": userID}) }

// Sign makes a token of good claims with changes; nil leaves a claim out.
func (p *Provider) Sign(changes map[string]any) string {
	return SignBy(jose.ES256, p.key, changes)
}

// SignBy is Sign by another algorithm or key, under the provider's key id.
func SignBy(alg jose.SignatureAlgorithm, key any, changes map[string]any) string {
	claims := map[string]any{"iss": Issuer, "aud": Audience, "sub": "u1", "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	options := (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", kid)
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, options))
	return must(must(signer.Sign(must(json.Marshal(claims)))).CompactSerialize())
}

// PublicPEM is the key as a forger finds it: some libraries take it for a secret.
func (p *Provider) PublicPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(p.key.Public()))})
}

// must is for what cannot fail with the values above.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
