package identity_test

import (
	"encoding/json"
	"strings"
	"testing"

	"flashsale/shared/identity"
)

// TestRealTokensArePlain: those of providers take the short way.
func TestRealTokensArePlain(t *testing.T) {
	t.Parallel()
	tokens := map[string]string{"RS256": token(rsaSigner()), "ES256": token(ecSigner()), "EdDSA": token(edSigner())}
	for name, p := range providers() {
		tokens[name] = p.token(nil)
	}
	for name, token := range tokens {
		if !identity.Plain(token) {
			t.Errorf("%s: not plain: %s", name, token)
		}
	}
}

// unusual are headers and claims that the library must judge.
var unusual = []struct{ header, payload string }{
	{`{"alg":"EdDSA","kid":"ed-1","x":1}`, claims(nil)},
	{`{"alg":"EdDSA","kid":"ed-1","kid":"ed-1"}`, claims(nil)},
	{`{"alg":"EdDSA","k\u0069d":"ed-1"}`, claims(nil)},
	{`{"alg":"EdDSA","kid":null}`, claims(nil)},
	{`{"alg":"EdDSA","kid":"ed-1","typ":1}`, claims(nil)},
	{`{"alg":"HS256","kid":"ed-1"}`, claims(nil)},
	{`{"kid":"ed-1"}`, claims(nil)},
	{``, claims(nil)},
	{`{"alg":"EdDSA","kid":"ed-1"}`, with("sub", "J\u00fcrgen")},
	{`{"alg":"EdDSA","kid":"ed-1"}`, with("exp", 1e10+0.5)},
	{`{"alg":"EdDSA","kid":"ed-1"}`, with("exp", int64(9007199254740993))},
	{`{"alg":"EdDSA","kid":"ed-1"}`, with("aud", []any{audience, 1})},
	{`{"alg":"EdDSA","kid":"ed-1"}`, with("jti", 7)},
	{`{"alg":"EdDSA","kid":"ed-1"}`, `{"x":1,"x":2,` + claims(nil)[1:]},
	{`{"alg":"EdDSA","kid":"ed-1"}`, claims(nil) + "{}"},
	{`{"alg":"EdDSA","kid":"ed-1"}`, strings.Replace(with("nbf", 0), `"nbf":0`, `"nbf":null`, 1)},
}

func TestUnusualTokensAreNotPlain(t *testing.T) {
	t.Parallel()
	good := token(edSigner())
	v := newVerifier(t, allKeys())
	for _, u := range unusual {
		spelled := edSigner().signed(u.header, u.payload)
		if identity.Plain(spelled) {
			t.Errorf("taken for plain: %s %s", u.header, u.payload)
		}
		agreeInFull(t, v, spelled)
	}
	for name, spelled := range map[string]string{
		"a spare bit": respelled(token(rsaSigner())), "a line break": good[:9] + "\n" + good[9:], "two parts": "e30.e30", "four parts": good + ".e30", "nothing": "",
	} {
		if identity.Plain(spelled) {
			t.Errorf("%s: taken for plain", name)
		}
		agreeInFull(t, v, spelled)
	}
}

// agreeInFull has a token judged both ways.
func agreeInFull(t *testing.T, v *identity.Verifier, token string) {
	t.Helper()
	want, wantErr := v.InFull(t.Context(), token)
	got, err := v.Shopper(t.Context(), token)
	if len(token) > 8<<10 {
		return // Shopper refuses that at once
	}
	if got != want || (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
		t.Fatalf("got %q, %v; the library says %q, %v: %s", got, err, want, wantErr, token)
	}
}

// FuzzPlain signs any header and claims, so that nothing else decides.
func FuzzPlain(f *testing.F) {
	v := newVerifier(f, allKeys())
	for _, u := range unusual {
		f.Add(u.header, u.payload)
	}
	for _, p := range providers() {
		f.Add(`{"alg":"EdDSA","kid":"ed-1","typ":"JWT"}`, string(must(json.Marshal(p.claims))))
	}
	for _, more := range []string{`"SUB":"u2"`, `"Exp":0`, `"token_use":"access","client_id":"flash-sale","aud":[]`, `"x":[{"a":1,"a":2}]`, "\"x\":\"\xff\"", `"exp":-1`, `"exp":01`} {
		f.Add(`{"alg":"EdDSA","kid":"ed-1"}`, "{"+more+","+claims(nil)[1:])
		f.Add(`{"alg":"EdDSA","kid":"ed-1"}`, "{"+more+"}")
	}
	f.Fuzz(func(t *testing.T, header, payload string) {
		if len(header)+len(payload) < 4<<10 {
			agreeInFull(t, v, edSigner().signed(header, payload))
		}
	})
}
