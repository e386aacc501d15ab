package login

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	codeLife = time.Minute
	maxCodes = 10_000 // nobody signs in faster; more is a mistake
)

// A grant is what a code stands for.
type grant struct {
	user, redirect, challenge string
	until                     time.Time
}

// codes are the grants that wait for their page. Each is good once.
type codes struct {
	mu     sync.Mutex
	grants map[string]grant
}

func (c *codes) add(g grant, now time.Time) (code string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for code, g := range c.grants {
		if now.After(g.until) {
			delete(c.grants, code)
		}
	}
	if len(c.grants) >= maxCodes {
		return "", false
	}
	code = rand.Text()
	c.grants[code] = g
	return code, true
}

// take removes the grant, right or wrong: a code that was seen by somebody else is
// worth nothing after its first use.
func (c *codes) take(code string) (grant, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := c.grants[code]
	delete(c.grants, code)
	return g, ok
}

var signIn = template.Must(template.New("sign in").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in</title><link rel="stylesheet" href="/style.css">
<main><section class="hero"><form method="post">
<h1>Sign in</h1><p class="when">Development: any name will do, and needs no password.</p>
<p class="when"><label for="user">Shopper</label> <input id="user" name="user" value="{{.}}" maxlength="255" autocomplete="username" required autofocus></p>
<p class="when"><button class="primary">Sign in</button></p>
</form></section></main></html>
`))

// authorize is OAuth's authorization endpoint for the page that the same server shows:
// GET asks who it is, POST sends the shopper back with a code. PKCE by S256 is a must.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	redirect := query.Get("redirect_uri")
	// Before these two are right nothing is sent anywhere.
	if query.Get("client_id") != p.audience || redirect != "http://"+r.Host+"/" {
		http.Error(w, "client_id or redirect_uri is not one of this server's.", http.StatusBadRequest)
		return
	}
	back := func(name, value string) {
		answer := url.Values{name: {value}, "state": {query.Get("state")}}
		http.Redirect(w, r, redirect+"?"+answer.Encode(), http.StatusSeeOther)
	}
	challenge := query.Get("code_challenge")
	sum, err := base64.RawURLEncoding.DecodeString(challenge)
	if query.Get("response_type") != "code" || query.Get("code_challenge_method") != "S256" || err != nil || len(sum) != sha256.Size {
		back("error", "invalid_request")
		return
	}
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		_ = signIn.Execute(w, "u"+rand.Text()[:6])
		return
	}
	user := r.PostFormValue("user")
	if user == "" {
		back("error", "access_denied")
		return
	}
	now := p.now()
	code, ok := p.codes.add(grant{user, redirect, challenge, now.Add(codeLife)}, now)
	if !ok {
		back("error", "temporarily_unavailable")
		return
	}
	back("code", code)
}

// exchange is OAuth's token endpoint.
func (p *Provider) exchange(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	fail := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": code})
	}
	if r.PostFormValue("grant_type") != "authorization_code" {
		fail("unsupported_grant_type")
		return
	}
	g, ok := p.codes.take(r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || p.now().After(g.until) || r.PostFormValue("client_id") != p.audience ||
		r.PostFormValue("redirect_uri") != g.redirect || base64.RawURLEncoding.EncodeToString(sum[:]) != g.challenge {
		fail("invalid_grant")
		return
	}
	token, err := p.token(&request{Alg: jose.ES256}, g.user)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "INTERNAL", err)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": int(lifetime.Seconds())})
}
