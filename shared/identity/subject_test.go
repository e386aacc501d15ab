package identity_test

import (
	"strings"
	"testing"

	"flashsale/shared/identity"
)

func TestUnverifiedSubject(t *testing.T) {
	t.Parallel()
	signed := ecSigner().sign(claims(nil), nil)
	for name, tc := range map[string]struct{ token, want string }{
		"good":                     {signed, "u1"},
		"nobody's signature":       {raw(`{"alg":"ES256"}`, with("sub", "u2"), "x"), "u2"},
		"after other claims":       {raw("{}", `{"a":[{"sub":"x"}],"b":"\u0041\"","sub":"u3","c":null}`, "x"), "u3"},
		"with spaces":              {raw("{}", "{ \"sub\" : \"u4\" }\n", "x"), "u4"},
		"255 bytes":                {raw("{}", with("sub", strings.Repeat("u", 255)), "x"), strings.Repeat("u", 255)},
		"256 bytes":                {raw("{}", with("sub", strings.Repeat("u", 256)), "x"), ""},
		"empty":                    {raw("{}", with("sub", ""), "x"), ""},
		"missing":                  {raw("{}", with("sub", nil), "x"), ""},
		"null":                     {raw("{}", `{"sub":null}`, "x"), ""},
		"a number":                 {raw("{}", `{"sub":1}`, "x"), ""},
		"twice":                    {raw("{}", `{"sub":"u1","sub":"u1"}`, "x"), ""},
		"twice, once escaped":      {raw("{}", `{"sub":"u1","s\u0075b":"u2"}`, "x"), ""},
		"in another case":          {raw("{}", `{"SUB":"u1"}`, "x"), ""},
		"escaped":                  {raw("{}", `{"sub":"\u0075"}`, "x"), "u"},
		"its name escaped":         {raw("{}", `{"s\u0075b":"u1"}`, "x"), "u1"},
		"not ASCII":                {raw("{}", `{"sub":"Jürgen"}`, "x"), "Jürgen"},
		"not UTF-8":                {raw("{}", "{\"sub\":\"u\xff\"}", "x"), "u\ufffd"},
		"256 bytes, not ASCII":     {raw("{}", with("sub", strings.Repeat("ü", 128)), "x"), ""},
		"escaped beside a fault":   {raw("{}", `{"sub":"\u0075","exp":"tomorrow"}`, "x"), ""},
		"deeper than one looks":    {raw("{}", `{"sub":"u5","x":`+strings.Repeat("[", 70)+strings.Repeat("]", 70)+"}", "x"), "u5"},
		"a control character":      {raw("{}", `{"sub":"u\u0000"}`, "x"), ""},
		"DEL":                      {raw("{}", "{\"sub\":\"u\x7f\"}", "x"), ""},
		"not JSON behind it":       {raw("{}", `{"sub":"u1",}`, "x"), ""},
		"two documents":            {raw("{}", `{"sub":"u1"}{}`, "x"), ""},
		"an array":                 {raw("{}", `["sub","u1"]`, "x"), ""},
		"claims are not base64url": {"e30.e30+.e30", ""},
		"no dots":                  {"e30", ""},
		"nothing":                  {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var buffer [identity.MaxClaims]byte
			sub, ok := identity.UnverifiedSubject(&buffer, []byte(tc.token))
			if ok != (tc.want != "") || ok && string(sub) != tc.want {
				t.Errorf("UnverifiedSubject = %q, %t; want %q", sub, ok, tc.want)
			}
		})
	}
	t.Run("the longest", func(t *testing.T) {
		t.Parallel()
		var buffer [identity.MaxClaims]byte
		for size, want := range map[int]string{8<<10 - 8: "u1", 8<<10 - 4: ""} { // of the claims in base64
			filler := strings.Repeat("x", size/4*3-len(`{"sub":"u1","x":""}`))
			token := raw("{}", `{"sub":"u1","x":"`+filler+`"}`, "xx")
			if _, err := identity.Bearer([]string{"Bearer " + token}); (err == nil) != (want != "") {
				t.Errorf("a bearer of %d bytes: %v", len(token), err)
			}
			if sub, ok := identity.UnverifiedSubject(&buffer, []byte(token)); string(sub) != want || ok != (want != "") {
				t.Errorf("%d bytes: UnverifiedSubject = %q, %t; want %q", len(token), sub, ok, want)
			}
		}
	})
}

// agreeOnSubject has the verifier judge the token too. Who names nobody is refused.
func agreeOnSubject(t *testing.T, v *identity.Verifier, token string) {
	t.Helper()
	var buffer [identity.MaxClaims]byte
	sub, ok := identity.UnverifiedSubject(&buffer, []byte(token))
	if userID, err := v.Shopper(t.Context(), token); err == nil && (!ok || userID != string(sub)) {
		t.Fatalf("the verifier names %q, UnverifiedSubject %q, %t: %s", userID, sub, ok, token)
	}
}

// TestSubjectOfRealTokens: the providers' tokens are plain, so they take the fast way.
func TestSubjectOfRealTokens(t *testing.T) {
	t.Parallel()
	for name, p := range providers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var buffer [identity.MaxClaims]byte
			if sub, ok := identity.UnverifiedSubject(&buffer, []byte(p.token(nil))); !ok || string(sub) != p.sub {
				t.Errorf("UnverifiedSubject = %q, %t; want %s", sub, ok, p.sub)
			}
		})
	}
}

// FuzzSubject signs any claims, so that the verifier has no other reason to refuse.
func FuzzSubject(f *testing.F) {
	v := newVerifier(f, allKeys())
	good := claims(nil)
	f.Add(good)
	for _, more := range []string{
		`"sub":"u2",`, `"SUB":"u2",`, `"s\u0075b":"u2",`, "\"\u017fub\":\"u2\",", `"x":{"sub":"u2"},`, `"x":"\"sub\":\"u2\"",`, "\"\xff\":1,", `"x":-0e1,`,
	} {
		f.Add("{" + more + good[1:])
		f.Add(good[:len(good)-1] + "," + strings.TrimSuffix(more, ",") + "}")
	}
	f.Fuzz(func(t *testing.T, payload string) {
		if len(payload) < 4<<10 {
			agreeOnSubject(t, v, edSigner().sign(payload, nil))
		}
	})
}

// reference is what a well-formed bearer is, in the simplest words.
func reference(header string) (string, bool) {
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimLeft(token, " ")
	parts := strings.Split(token, ".")
	ok := strings.EqualFold(scheme, "Bearer") && len(token) <= 8<<10 && len(parts) == 3
	for _, part := range parts {
		ok = ok && part != "" && strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_~+/=") == ""
	}
	return token, ok
}

func FuzzBearer(f *testing.F) {
	for _, header := range []string{
		"Bearer a.b.c", "bEARER  aaaaaaaaaaaaaaaaa.bbbbbbb.cccccccc", "Bearer", "Bearer .b.c", "Bearer a..c", "Bearer a.b.", "Bearer a.b.c.d",
		"Bearer aaaaaaaa.bbbbbbbb.cccccccc", "Bearer aaaaaaa.bbbbbbb.ccccccc", "Bearer a.b.cccccccccc\xff", "Bearer a.b.c ", "Basic a.b.c",
	} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		want, ok := reference(header)
		got, err := identity.Bearer([]string{header})
		if (err == nil) != ok || ok && got != want {
			t.Errorf("Bearer(%q) = %q, %v; want %q, %t", header, got, err, want, ok)
		}
		in, inOK := identity.BearerIn([]byte(header))
		if inOK != ok || ok && string(in) != want {
			t.Errorf("BearerIn(%q) = %q, %t; want %q, %t", header, in, inOK, want, ok)
		}
	})
}

// TestJudgingABearerAllocatesNothing is not parallel: others' allocations would count.
func TestJudgingABearerAllocatesNothing(t *testing.T) {
	header := []byte("Bearer " + rsaSigner().sign(claims(nil), nil))
	if got := testing.AllocsPerRun(100, func() {
		token, ok := identity.BearerIn(header)
		if !ok {
			t.Fatal("no bearer")
		}
		var buffer [identity.MaxClaims]byte
		if _, ok := identity.UnverifiedSubject(&buffer, token); !ok {
			t.Fatal("no sub")
		}
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

func BenchmarkUnverifiedSubject(b *testing.B) {
	token := []byte(cognito(map[string]any{"token_use": "access", "client_id": cognitoClient, "username": "u1", "scope": "openid profile"}).token(nil))
	b.SetBytes(int64(len(token)))
	b.ReportAllocs()
	for b.Loop() {
		var buffer [identity.MaxClaims]byte
		if _, ok := identity.UnverifiedSubject(&buffer, token); !ok {
			b.Fatal("no sub")
		}
	}
}
