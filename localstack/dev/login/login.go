// Package login is an identity provider for development: it hands anybody a token
// for any user, by a plain call or by OpenID Connect's authorization code with PKCE.
//
// It promises tokens that a verifier accepts or refuses for the same reasons as
// production's: real signatures by keys in a JWKS, and every claim can be overridden
// to make a token wrong. Its keys live as long as the process.
package login

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	maxRequest = 1 << 20
	maxCount   = 500_000
	lifetime   = 12 * time.Hour
	chunk      = 500 // tokens signed by one worker at a time
)

// A Provider signs tokens.
type Provider struct {
	issuer   string
	audience string
	now      func() time.Time
	keys     map[jose.SignatureAlgorithm]jose.JSONWebKey // private
	codes    codes
}

// New makes a provider with fresh keys, one for ES256 and one for RS256.
func New(issuer, audience string, now func() time.Time) (*Provider, error) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("login: key: %w", err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("login: key: %w", err)
	}
	return &Provider{issuer: issuer, audience: audience, now: now, codes: codes{grants: make(map[string]grant)}, keys: map[jose.SignatureAlgorithm]jose.JSONWebKey{
		jose.ES256: {Key: ec, KeyID: "dev-es256", Algorithm: string(jose.ES256), Use: "sig"},
		jose.RS256: {Key: rs, KeyID: "dev-rs256", Algorithm: string(jose.RS256), Use: "sig"},
	}}, nil
}

// Issuer is what the tokens name as theirs.
func (p *Provider) Issuer() string { return p.issuer }

// JWKS is the public key set, as JSON.
func (p *Provider) JWKS() ([]byte, error) {
	es, rs := p.keys[jose.ES256], p.keys[jose.RS256]
	return json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{es.Public(), rs.Public()}})
}

// request is the body of a login. Claims replace the usual ones; null removes one.
type request struct {
	User   string                     `json:"user"`
	Claims map[string]json.RawMessage `json:"claims"`
	Alg    jose.SignatureAlgorithm    `json:"alg"`
	Count  *int                       `json:"count"`
}

// Handler answers POST /dev/login, GET /dev/jwks.json, and what the page signs in by:
// /dev/authorize and POST /dev/token.
func (p *Provider) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /dev/jwks.json", func(w http.ResponseWriter, _ *http.Request) {
		keys, err := p.JWKS()
		if err != nil {
			refuse(w, http.StatusInternalServerError, "INTERNAL", err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(keys)
	})
	mux.HandleFunc("POST /dev/login", func(w http.ResponseWriter, r *http.Request) {
		req, err := parse(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			refuse(w, http.StatusBadRequest, "BAD_REQUEST", err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if req.Count != nil {
			p.writeMany(w, req)
			return
		}
		token, err := p.token(req, req.User)
		if err != nil {
			refuse(w, http.StatusInternalServerError, "INTERNAL", err)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"token": token})
	})
	mux.HandleFunc("GET /dev/authorize", p.authorize)
	mux.HandleFunc("POST /dev/authorize", p.authorize)
	mux.HandleFunc("POST /dev/token", p.exchange)
	return mux
}

func parse(body io.Reader) (*request, error) {
	req := request{Alg: jose.ES256}
	dec := json.NewDecoder(body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&req); err != nil {
		return nil, fmt.Errorf(`want {"user":"u1"}: %w`, err)
	}
	switch {
	case req.User == "":
		return nil, errors.New(`"user" is missing`)
	case req.Alg != jose.ES256 && req.Alg != jose.RS256:
		return nil, errors.New(`"alg" is ES256 or RS256`)
	case req.Count != nil && (*req.Count < 1 || *req.Count > maxCount):
		return nil, fmt.Errorf(`"count" is 1 to %d`, maxCount)
	}
	return &req, nil
}

// Token is an ordinary token of a user.
func (p *Provider) Token(user string) (string, error) {
	return p.token(&request{Alg: jose.ES256}, user)
}

func (p *Provider) token(req *request, user string) (string, error) {
	key := p.keys[req.Alg]
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: req.Alg, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("login: signer: %w", err)
	}
	payload, err := json.Marshal(p.claims(req, user))
	if err != nil {
		return "", fmt.Errorf("login: claims: %w", err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("login: sign: %w", err)
	}
	return signed.CompactSerialize()
}

func (p *Provider) claims(req *request, user string) map[string]any {
	now := p.now()
	claims := map[string]any{
		"iss": p.issuer, "aud": p.audience, "sub": user,
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(lifetime).Unix(),
	}
	for name, value := range req.Claims {
		claims[name] = value
	}
	maps.DeleteFunc(claims, func(_ string, value any) bool {
		raw, ok := value.(json.RawMessage)
		return ok && bytes.Equal(raw, []byte("null"))
	})
	return claims
}

// writeMany streams {"tokens":[...]} in the users' order: half a million tokens are
// 200 MB, and signing them keeps every core busy for seconds.
func (p *Provider) writeMany(w io.Writer, req *request) {
	out := bufio.NewWriter(w)
	defer func() { _ = out.Flush() }()
	_, _ = out.WriteString(`{"tokens":[`)
	workers := runtime.GOMAXPROCS(0)
	for from := 0; from < *req.Count; from += workers * chunk {
		tokens := make([]string, min(workers*chunk, *req.Count-from))
		var signing sync.WaitGroup
		for start := 0; start < len(tokens); start += chunk {
			signing.Go(func() {
				for i := start; i < min(start+chunk, len(tokens)); i++ {
					// An error leaves an empty string: nobody can be logged in by it.
					tokens[i], _ = p.token(req, req.User+"-"+strconv.Itoa(from+i))
				}
			})
		}
		signing.Wait()
		for i, token := range tokens {
			if from+i > 0 {
				_ = out.WriteByte(',')
			}
			// The compact form needs no escapes.
			if _, err := out.WriteString(`"` + token + `"`); err != nil {
				return // the caller hung up
			}
		}
	}
	_, _ = out.WriteString("]}\n")
}

func refuse(w http.ResponseWriter, status int, code string, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "message": err.Error()})
}
