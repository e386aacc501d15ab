package e2e_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"flashsale/localstack/servers"
)

// badAuthorization is about the header. An odd one that is right is heard as its
// owner: 409 with the order.
func badAuthorization(owner shopper, sale uint32, item int64, order string) map[string]input {
	inputs := make(map[string]input)
	add := func(name string, header http.Header, code int, refusal string) {
		inputs["buy, "+name] = input{method: "POST", path: purchasePath(item), header: header, code: code, refusal: refusal}
	}
	one := func(value string) http.Header { return http.Header{"Authorization": {value}} }
	token := owner.token
	refused := map[string]http.Header{
		"missing": {}, "empty": one(""), "two": {"Authorization": {"Bearer " + token, "Bearer " + token}},
		"two spellings": {"Authorization": {"Bearer " + token}, "authorization": {"Bearer x.y.z"}},
		"joined":        one("Bearer " + token + ", Bearer " + token),
		"no scheme":     one(token), "no space": one("Bearer" + token), "no token": one("Bearer"), "Basic": one("Basic dTpw"),
		"Basic with a token": one("Basic " + token), "two parts": one("Bearer a.b"), "four parts": one("Bearer a.b.c.d"),
		"empty signature": one("Bearer " + token[:strings.LastIndex(token, ".")+1]), "odd characters": one("Bearer a.b.c§"),
	}
	for name, header := range refused {
		add(name, header, 401, "UNAUTHENTICATED")
		inputs["status, "+name] = input{method: "GET", path: orderPath(order), header: header, code: 401, refusal: "UNAUTHENTICATED"}
		inputs["my order, "+name] = input{method: "GET", path: salePath(sale) + "/my-order", header: header, code: 401, refusal: "UNAUTHENTICATED"}
	}
	add("lower-case name", http.Header{"authorization": {"Bearer " + token}}, 409, "ALREADY_PURCHASED")
	add("lower-case scheme", one("bearer "+token), 409, "ALREADY_PURCHASED")
	add("upper-case scheme", one("BEARER "+token), 409, "ALREADY_PURCHASED")
	// First what any eye can see, then the item, then the signature.
	inputs["unknown item, missing"] = input{method: "POST", path: purchasePath(servers.ItemID()), code: 401, refusal: "UNAUTHENTICATED"}
	inputs["unknown item, forged"] = input{method: "POST", path: purchasePath(servers.ItemID()), header: one("Bearer a.b.c"), code: 404, refusal: "UNKNOWN_ITEM"}
	return inputs
}

// badTokens are well-formed. Those that are refused name a shopper who could buy.
func badTokens(t *testing.T, s *shop, item int64, order string) map[string]input {
	t.Helper()
	inputs := make(map[string]input)
	add := func(name, token string, code int, refusal string) {
		inputs["buy, "+name] = input{method: "POST", path: purchasePath(item), header: bearer(token), code: code, refusal: refusal}
	}
	refuse := func(name, token string) {
		add(name, token, 401, "UNAUTHENTICATED")
		inputs["status, "+name] = input{method: "GET", path: orderPath(order), header: bearer(token), code: 401, refusal: "UNAUTHENTICATED"}
	}
	with := func(claims map[string]any) string {
		return s.token(t, map[string]any{"user": "forger", "claims": claims})
	}
	past := time.Now().Add(-time.Hour).Unix()
	for name, claims := range map[string]map[string]any{
		"wrong audience":         {"aud": "another-shop"},
		"wrong audience in list": {"aud": []string{"another-shop", "flash-sale "}},
		"empty audience":         {"aud": []string{}},
		"no audience":            {"aud": nil},
		"wrong issuer":           {"iss": "https://id.example"},
		"no issuer":              {"iss": nil},
		"expired":                {"exp": past},
		"no expiry":              {"exp": nil},
		"expiry is text":         {"exp": "tomorrow"},
		"not yet valid":          {"nbf": time.Now().Add(time.Hour).Unix()},
		"no sub":                 {"sub": nil},
		"empty sub":              {"sub": ""},
		"sub is a number":        {"sub": 7},
		"NUL in sub":             {"sub": "for\x00ger"},
		"line end in sub":        {"sub": "forger\n"},
		"sub of 256 bytes":       {"sub": strings.Repeat("f", 256)},
		"8 KB":                   {"filler": strings.Repeat("f", 8<<10)},
	} {
		refuse(name, with(claims))
	}
	good := s.login(t, "forger").token
	parts := strings.Split(good, ".")
	refuse("changed payload", parts[0]+"."+encode(map[string]any{"sub": "owner"})+"."+parts[2])
	refuse("other's signature", parts[0]+"."+parts[1]+"."+strings.Split(s.login(t, "owner").token, ".")[2])
	refuse("not base64", "a.b.c")
	for name, token := range forgeries(t, s, parts[1]) {
		refuse(name, token)
	}
	own := func(request map[string]any) string {
		request["user"] = "owner"
		return s.token(t, request)
	}
	add("right audience in list", own(map[string]any{"claims": map[string]any{"aud": []string{"another-shop", "flash-sale"}}}), 409, "ALREADY_PURCHASED")
	add("RS256", own(map[string]any{"alg": "RS256"}), 409, "ALREADY_PURCHASED")
	inputs["status, someone else's"] = input{method: "GET", path: orderPath(order), header: bearer(good), code: 404, refusal: "UNKNOWN_ORDER"}
	return inputs
}

// forgeries are signed by nobody, or by what everybody knows: the public keys, taken
// for an HMAC's secret.
func forgeries(t *testing.T, s *shop, payload string) map[string]string {
	t.Helper()
	a, err := s.call(t.Context(), http.MethodGet, "/dev/jwks.json", nil, "")
	if err != nil {
		t.Fatal(err)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal([]byte(a.Text), &set); err != nil || len(set.Keys) == 0 {
		t.Fatalf("keys: %v, %s", err, a)
	}
	tokens := make(map[string]string)
	for _, alg := range []string{"none", "None", "NONE", ""} {
		tokens[fmt.Sprintf("alg %q", alg)] = encode(map[string]any{"alg": alg, "typ": "JWT", "kid": set.Keys[0].KeyID}) + "." + payload + ".AAAA"
	}
	for _, key := range set.Keys {
		der, err := x509.MarshalPKIXPublicKey(key.Key)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := key.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		secrets := map[string][]byte{"PEM": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), "DER": der, "JWK": raw}
		for form, secret := range secrets {
			for _, header := range []map[string]any{{"alg": "HS256", "kid": key.KeyID}, {"alg": "HS256"}, {"alg": key.Algorithm, "kid": key.KeyID}} {
				signed := encode(header) + "." + payload
				mac := hmac.New(sha256.New, secret)
				mac.Write([]byte(signed))
				tokens[fmt.Sprintf("%v by the public key as %s of %s", header, form, key.KeyID)] = signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
			}
		}
	}
	return tokens
}

func encode(part map[string]any) string {
	text, err := json.Marshal(part)
	if err != nil {
		panic(err) // strings always marshal
	}
	return base64.RawURLEncoding.EncodeToString(text)
}
