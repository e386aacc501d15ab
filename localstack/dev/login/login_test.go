package login_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"flashsale/localstack/dev/login"
)

const (
	issuer   = "http://localhost:3000/dev"
	audience = "flash-sale"
)

func provider(t testing.TB) http.Handler {
	t.Helper()
	p, err := login.New(issuer, audience, time.Now)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return p.Handler()
}

func post(h http.Handler, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/dev/login", strings.NewReader(body)))
	return w
}

// claimsOf verifies a token by the published keys.
func claimsOf(t *testing.T, h http.Handler, token string, alg jose.SignatureAlgorithm) map[string]any {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/dev/jwks.json", nil))
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(w.Body.Bytes(), &keys); err != nil {
		t.Fatalf("keys: %v", err)
	}
	if strings.Contains(w.Body.String(), `"d":`) {
		t.Fatal("the key set shows a private key")
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{alg})
	if err != nil {
		t.Fatalf("token %q: %v", token, err)
	}
	var claims map[string]any
	if err := parsed.Claims(keys, &claims); err != nil {
		t.Fatalf("verify: %v", err)
	}
	return claims
}

func TestLogin(t *testing.T) {
	t.Parallel()
	h := provider(t)
	tokenOf := func(t *testing.T, body string) string {
		t.Helper()
		w := post(h, body)
		var answer struct{ Token string }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK || answer.Token == "" {
			t.Fatalf("%s: got %d %s", body, w.Code, w.Body)
		}
		return answer.Token
	}

	t.Run("a user", func(t *testing.T) {
		t.Parallel()
		got := claimsOf(t, h, tokenOf(t, `{"user":"u1"}`), jose.ES256)
		if got["sub"] != "u1" || got["iss"] != issuer || got["aud"] != audience {
			t.Errorf("claims = %v", got)
		}
		if exp, _ := got["exp"].(float64); int64(exp) <= time.Now().Unix() {
			t.Errorf("exp = %v, want the future", got["exp"])
		}
	})
	t.Run("RS256", func(t *testing.T) {
		t.Parallel()
		if got := claimsOf(t, h, tokenOf(t, `{"user":"u1","alg":"RS256"}`), jose.RS256); got["sub"] != "u1" {
			t.Errorf("claims = %v", got)
		}
	})
	t.Run("claims override, null removes", func(t *testing.T) {
		t.Parallel()
		got := claimsOf(t, h, tokenOf(t, `{"user":"u1","claims":{"exp":1,"aud":["a","b"],"sub":null}}`), jose.ES256)
		aud, _ := got["aud"].([]any)
		if _, has := got["sub"]; has || got["exp"] != 1.0 || len(aud) != 2 {
			t.Errorf("claims = %v", got)
		}
	})
	t.Run("many", func(t *testing.T) {
		t.Parallel()
		var answer struct{ Tokens []string }
		if err := json.Unmarshal(post(h, `{"user":"u","count":2345}`).Body.Bytes(), &answer); err != nil {
			t.Fatalf("answer: %v", err)
		}
		if len(answer.Tokens) != 2345 {
			t.Fatalf("got %d tokens, want 2345", len(answer.Tokens))
		}
		for i, want := range map[int]string{0: "u-0", 1234: "u-1234", 2344: "u-2344"} {
			if got := claimsOf(t, h, answer.Tokens[i], jose.ES256)["sub"]; got != want {
				t.Errorf("token %d is for %v, want %s", i, got, want)
			}
		}
	})
	t.Run("one of many", func(t *testing.T) {
		t.Parallel()
		if got := post(h, `{"user":"u","count":1}`).Body.String(); !strings.HasPrefix(got, `{"tokens":["`) {
			t.Errorf("got %.40s, want a list", got)
		}
	})
	for _, body := range []string{
		``, `{}`, `[]`, `{"user":""}`, `{"user":7}`, `{"user":"u","count":0}`, `{"user":"u","count":500001}`,
		`{"user":"u","alg":"none"}`, `{"user":"u","alg":"HS256"}`, `{"user":"u","claims":7}`, `{"user":"u","typo":1}`,
	} {
		t.Run("bad "+body, func(t *testing.T) {
			t.Parallel()
			if w := post(h, body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"BAD_REQUEST"`) {
				t.Errorf("got %d %s, want 400", w.Code, w.Body)
			}
		})
	}
}

func BenchmarkMany(b *testing.B) {
	h := provider(b)
	for b.Loop() {
		post(h, `{"user":"u","count":10000}`)
	}
}
