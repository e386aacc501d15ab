package login_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"flashsale/localstack/dev/login"
)

const verifier = "a-verifier-of-forty-three-characters-or-more-"

func ask() url.Values {
	sum := sha256.Sum256([]byte(verifier))
	return url.Values{
		"response_type": {"code"}, "client_id": {audience}, "redirect_uri": {"http://example.com/"}, "state": {"s1"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
}

// authorize sends the form and returns the way back.
func authorize(t *testing.T, h http.Handler, query url.Values, user string) (*httptest.ResponseRecorder, url.Values) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://example.com/dev/authorize?"+query.Encode(), strings.NewReader(url.Values{"user": {user}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	back, err := url.Parse(w.Header().Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	return w, back.Query()
}

func exchange(h http.Handler, code string, change url.Values) (int, map[string]any) {
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {"http://example.com/"},
		"client_id": {audience}, "code_verifier": {verifier},
	}
	for name, values := range change {
		form[name] = values
	}
	r := httptest.NewRequest(http.MethodPost, "/dev/token", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var answer map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &answer) // what is not JSON has no fields
	return w.Code, answer
}

func TestCode(t *testing.T) {
	t.Parallel()
	h := provider(t)
	w, back := authorize(t, h, ask(), "u1")
	if w.Code != http.StatusSeeOther || back.Get("state") != "s1" || back.Get("code") == "" {
		t.Fatalf("authorize: got %d to %v", w.Code, back)
	}
	status, answer := exchange(h, back.Get("code"), nil)
	token, _ := answer["access_token"].(string)
	if status != http.StatusOK || claimsOf(t, h, token, jose.ES256)["sub"] != "u1" {
		t.Errorf("token: got %d %v, want one of u1", status, answer)
	}
	if status, answer := exchange(h, back.Get("code"), nil); status != http.StatusBadRequest || answer["error"] != "invalid_grant" {
		t.Errorf("the code again: got %d %v, want invalid_grant", status, answer)
	}
}

// A code that was shown with anything wrong is gone, too.
func TestCodeRefused(t *testing.T) {
	t.Parallel()
	h := provider(t)
	for name, change := range map[string]url.Values{
		"verifier": {"code_verifier": {"another-verifier-of-forty-three-characters-or"}}, "no verifier": {"code_verifier": nil},
		"client": {"client_id": {"other"}}, "redirect": {"redirect_uri": {"http://example.com/other"}}, "code": {"code": {"x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, back := authorize(t, h, ask(), "u1")
			if status, answer := exchange(h, back.Get("code"), change); status != http.StatusBadRequest || answer["error"] != "invalid_grant" {
				t.Errorf("got %d %v, want invalid_grant", status, answer)
			}
			if name != "code" {
				if status, _ := exchange(h, back.Get("code"), nil); status != http.StatusBadRequest {
					t.Errorf("the code afterwards: got %d, want it to be gone", status)
				}
			}
		})
	}
	t.Run("grant type", func(t *testing.T) {
		t.Parallel()
		if _, answer := exchange(h, "x", url.Values{"grant_type": {"password"}}); answer["error"] != "unsupported_grant_type" {
			t.Errorf("got %v", answer)
		}
	})
}

func TestCodeLate(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p, err := login.New(issuer, audience, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	_, back := authorize(t, p.Handler(), ask(), "u1")
	now = now.Add(61 * time.Second)
	if status, answer := exchange(p.Handler(), back.Get("code"), nil); status != http.StatusBadRequest {
		t.Errorf("after a minute: got %d %v, want 400", status, answer)
	}
}

func TestAuthorizeRefused(t *testing.T) {
	t.Parallel()
	h := provider(t)
	for name, test := range map[string]struct {
		field, value string
		leads        bool // back to the page, with an error
	}{
		"client":          {"client_id", "other", false},
		"redirect":        {"redirect_uri", "http://example.com/more", false},
		"other host":      {"redirect_uri", "http://evil.example/", false},
		"response":        {"response_type", "token", true},
		"plain":           {"code_challenge_method", "plain", true},
		"no challenge":    {"code_challenge", "", true},
		"bad challenge":   {"code_challenge", "????", true},
		"short challenge": {"code_challenge", "YWJj", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			query := ask()
			query.Set(test.field, test.value)
			w, back := authorize(t, h, query, "u1")
			if test.leads && (back.Get("error") != "invalid_request" || back.Get("state") != "s1") {
				t.Errorf("got %d to %v, want invalid_request", w.Code, back)
			}
			if !test.leads && (w.Code != http.StatusBadRequest || len(back) > 0) {
				t.Errorf("got %d to %v, want 400 and no way", w.Code, back)
			}
		})
	}
	t.Run("nobody", func(t *testing.T) {
		t.Parallel()
		if _, back := authorize(t, h, ask(), ""); back.Get("error") != "access_denied" {
			t.Errorf("got %v", back)
		}
	})
	t.Run("the form", func(t *testing.T) {
		t.Parallel()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://example.com/dev/authorize?"+ask().Encode(), nil))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `name="user"`) || !strings.Contains(w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
		}
	})
}
