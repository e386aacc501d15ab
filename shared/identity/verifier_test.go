package identity_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"flashsale/shared/config"
	"flashsale/shared/identity"
)

func TestGoodTokens(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, allKeys())
	unnamed := rsaSigner()
	unnamed.kid = ""
	for name, tc := range map[string]struct{ token, want string }{
		"RS256":                   {rsaSigner().sign(claims(nil), nil), "u1"},
		"ES256":                   {ecSigner().sign(claims(nil), nil), "u1"},
		"EdDSA":                   {edSigner().sign(claims(nil), nil), "u1"},
		"no kid, one such key":    {unnamed.sign(claims(nil), nil), "u1"},
		"audience in an array":    {ecSigner().sign(with("aud", []string{"x", audience}), nil), "u1"},
		"expired within the skew": {ecSigner().sign(with("exp", noon.Add(-time.Minute).Unix()), nil), "u1"},
		"issued within the skew":  {ecSigner().sign(with("iat", noon.Add(time.Minute).Unix()), nil), "u1"},
		"without nbf and iat":     {ecSigner().sign(claims(map[string]any{"nbf": nil, "iat": nil}), nil), "u1"},
		"fractional exp":          {ecSigner().sign(with("exp", 1e10+0.5), nil), "u1"},
		"sub of 255 bytes":        {ecSigner().sign(with("sub", strings.Repeat("u", 255)), nil), strings.Repeat("u", 255)},
		"unknown claims":          {ecSigner().sign(with("roles", []any{1, map[string]any{"sub": "x"}}), nil), "u1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := v.Shopper(t.Context(), tc.token)
			if err != nil || got != tc.want {
				t.Errorf("Shopper = %q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

// badTokens are all of the right keys unless their name says otherwise.
func badTokens() map[string]string {
	ec := ecSigner()
	good := ec.sign(claims(nil), nil)
	parts := strings.Split(good, ".")
	wrongKid, unnamed := ec, rsaSigner()
	wrongKid.kid, unnamed.kid = "ec-1\nforged", ""
	underRSAName := signer{"rsa-1", jose.ES256, ec.key}
	pss := signer{"rsa-1", jose.PS256, rsaSigner().key}
	return map[string]string{
		"alg none":                raw(`{"alg":"none"}`, claims(nil), ""),
		"alg none, dressed up":    raw(`{"alg":"nOnE","kid":"ec-1"}`, claims(nil), "x"),
		"alg missing":             raw(`{"kid":"ec-1"}`, claims(nil), "x"),
		"HS256 with public PEM":   hs256(publicPEM()),
		"HS256 with the JWKS":     hs256(allKeys()),
		"PS256 by an RSA key":     pss.sign(claims(nil), nil),
		"ES256 under RSA's kid":   underRSAName.sign(claims(nil), nil),
		"someone else's key":      strangeSigner().sign(claims(nil), nil),
		"embedded jwk":            embedded(),
		"kid with a newline":      wrongKid.sign(claims(nil), nil),
		"kid of a wrong type":     raw(`{"alg":"ES256","kid":7}`, claims(nil), "x"),
		"critical header":         raw(`{"alg":"ES256","kid":"ec-1","crit":["x"],"x":1}`, claims(nil), "x"),
		"unencoded payload":       ec.sign(claims(nil), map[string]any{"b64": true, "crit": []string{"b64"}}),
		"header twice":            raw(`{"alg":"ES256","alg":"ES256","kid":"ec-1"}`, claims(nil), "x"),
		"payload changed":         parts[0] + "." + strings.Split(raw("", with("sub", "u2"), ""), ".")[1] + "." + parts[2],
		"signature of zeros":      parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64)),
		"signature cut":           good[:len(good)-4],
		"wrong audience":          ec.sign(with("aud", "other"), nil),
		"wrong audiences":         ec.sign(with("aud", []string{"other", audience + "x"}), nil),
		"no audience":             ec.sign(with("aud", nil), nil),
		"audience is a number":    ec.sign(with("aud", 7), nil),
		"wrong issuer":            ec.sign(with("iss", issuer+"/"), nil),
		"no issuer":               ec.sign(with("iss", nil), nil),
		"expired":                 ec.sign(with("exp", noon.Add(-61*time.Second).Unix()), nil),
		"no expiry":               ec.sign(with("exp", nil), nil),
		"expiry is null":          ec.sign(strings.Replace(with("exp", 0), `"exp":0`, `"exp":null`, 1), nil),
		"expiry as text":          ec.sign(with("exp", "9999999999"), nil),
		"expiry beyond int64":     ec.sign(with("exp", 1e300), nil),
		"not valid yet":           ec.sign(with("nbf", noon.Add(61*time.Second).Unix()), nil),
		"issued in the future":    ec.sign(with("iat", noon.Add(61*time.Second).Unix()), nil),
		"no sub":                  ec.sign(with("sub", nil), nil),
		"empty sub":               ec.sign(with("sub", ""), nil),
		"NUL in sub":              ec.sign(with("sub", "u\x001"), nil),
		"newline in sub":          ec.sign(with("sub", "u\n1"), nil),
		"sub of 256 bytes":        ec.sign(with("sub", strings.Repeat("u", 256)), nil),
		"sub is a number":         ec.sign(with("sub", 7), nil),
		"sub twice":               ec.sign(`{"sub":"u2",`+claims(nil)[1:], nil),
		"sub twice, once escaped": ec.sign(`{"\u0073ub":"u2",`+claims(nil)[1:], nil),
		"over 8 KB":               ec.sign(with("pad", strings.Repeat("x", 8<<10)), nil),
		"claims are an array":     ec.sign("[]", nil),
		"claims are nothing":      ec.sign("", nil),
		"five parts (JWE)":        good + "." + good,
		"two parts":               parts[0] + "." + parts[1],
		"empty":                   "",
	}
}

func hs256(secret []byte) string {
	enc := base64.RawURLEncoding.EncodeToString
	text := enc([]byte(`{"alg":"HS256","kid":"rsa-1"}`)) + "." + enc([]byte(claims(nil)))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return text + "." + enc(mac.Sum(nil))
}

func publicPEM() []byte {
	der := must(x509.MarshalPKIXPublicKey(&rsaSigner().key.(*rsa.PrivateKey).PublicKey))
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func embedded() string {
	s := strangeSigner()
	js := must(jose.NewSigner(jose.SigningKey{Algorithm: s.alg, Key: s.key}, &jose.SignerOptions{EmbedJWK: true}))
	return must(must(js.Sign([]byte(claims(nil)))).CompactSerialize())
}

func TestBadTokens(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, allKeys())
	for name, token := range badTokens() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := v.Shopper(t.Context(), token)
			if !errors.Is(err, identity.ErrUnauthenticated) || got != "" {
				t.Errorf("Shopper = %q, %v; want no shopper and ErrUnauthenticated", got, err)
			}
		})
	}
}

func TestTokenWithoutKidNeedsTheOnlyKey(t *testing.T) {
	t.Parallel()
	second := signer{"ec-2", jose.ES256, newEC()}
	v := newVerifier(t, keySet(ecSigner().public(), second.public(), rsaSigner().public()))
	for name, tc := range map[string]struct {
		signer signer
		ok     bool
	}{
		"two keys of its algorithm": {signer{"", jose.ES256, second.key}, false},
		"one key of its algorithm":  {signer{"", jose.RS256, rsaSigner().key}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := v.Shopper(t.Context(), tc.signer.sign(claims(nil), nil))
			if (err == nil) != tc.ok {
				t.Errorf("Shopper: %v, want success %t", err, tc.ok)
			}
		})
	}
}

func TestKeySets(t *testing.T) {
	t.Parallel()
	weak := jose.JSONWebKey{Key: &must(rsa.GenerateKey(rand.Reader, 1024)).PublicKey, KeyID: "weak"}
	encryption, hashed := ecSigner().public(), rsaSigner().public()
	encryption.Use, hashed.Algorithm = "enc", "RS512"
	private := jose.JSONWebKey{Key: ecSigner().key, KeyID: "private"}
	secret := jose.JSONWebKey{Key: []byte(strings.Repeat("k", 32)), KeyID: "oct"}
	for name, jwks := range map[string][]byte{
		"nothing":             nil,
		"not JSON":            []byte("<html>"),
		"no keys":             []byte(`{"keys":[]}`),
		"unknown type only":   []byte(`{"keys":[{"kty":"XYZ","kid":"a"}]}`),
		"weak RSA only":       keySet(weak),
		"encryption only":     keySet(encryption),
		"other algorithm":     keySet(hashed),
		"private key only":    keySet(private),
		"symmetric key only":  keySet(secret),
		"all of the unusable": keySet(weak, encryption, hashed, private, secret),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := identity.StaticKeys(jwks); err == nil {
				t.Error("StaticKeys took it, want an error")
			}
		})
	}
	t.Run("a usable key among them", func(t *testing.T) {
		t.Parallel()
		jwks := keySet(weak, secret, private, ecSigner().public())
		jwks = []byte(strings.Replace(string(jwks), `[`, `[{"kty":"XYZ"},`, 1))
		v := newVerifier(t, jwks)
		if _, err := v.Shopper(t.Context(), ecSigner().sign(claims(nil), nil)); err != nil {
			t.Errorf("Shopper: %v", err)
		}
	})
}

func TestNew(t *testing.T) {
	t.Parallel()
	cfg := config.Identity{Issuer: issuer, Audience: audience, JWKS: string(allKeys()), Skew: time.Minute}
	v, err := identity.New(cfg, at(noon))
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	if err := v.Warm(t.Context()); err != nil {
		t.Errorf("Warm: %v", err)
	}
	if got, err := v.Shopper(t.Context(), ecSigner().sign(claims(nil), nil)); err != nil || got != "u1" {
		t.Errorf("Shopper = %q, %v; want u1", got, err)
	}
	cfg.JWKS = "{}"
	if _, err := identity.New(cfg, at(noon)); err == nil {
		t.Error("New took an empty key set")
	}
}

func FuzzShopper(f *testing.F) {
	v := newVerifier(f, allKeys())
	good := ecSigner().sign(claims(nil), nil)
	f.Add(good)
	for _, token := range badTokens() {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		agreeOnSubject(t, v, token)
		got, err := v.Shopper(t.Context(), token)
		if (err == nil) != (got != "") {
			t.Fatalf("Shopper(%q) = %q, %v", token, got, err)
		}
		// Only what was signed can pass. ECDSA signatures have a second form, so the
		// first two parts are compared.
		if err == nil && token[:strings.LastIndex(token, ".")] != good[:strings.LastIndex(good, ".")] {
			t.Fatalf("a token that nobody signed passed: %q", token)
		}
	})
}

func BenchmarkShopper(b *testing.B) {
	v := newVerifier(b, allKeys())
	for _, s := range []signer{rsaSigner(), ecSigner(), edSigner()} {
		known := token(s)
		for name, token := range map[string]string{"known": known, "new": known, "unusual": respelled(known)} { // the last is never kept
			b.Run(string(s.alg)+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if name == "new" {
						v.Forget()
					}
					if _, err := v.Shopper(b.Context(), token); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
