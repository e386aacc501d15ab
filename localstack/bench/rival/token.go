package rival

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// A verifier checks tokens as any shop's middleware does.
type verifier struct {
	keys     jose.JSONWebKeySet
	expected jwt.Expected
}

func newVerifier(cfg Config) (*verifier, error) {
	v := &verifier{expected: jwt.Expected{Issuer: cfg.Issuer, AnyAudience: jwt.Audience{cfg.Audience}}}
	if err := json.Unmarshal([]byte(cfg.JWKS), &v.keys); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return v, nil
}

func (v *verifier) shopper(authorization string) (string, error) {
	token, ok := strings.CutPrefix(authorization, "Bearer ")
	if !ok {
		return "", errors.New("no bearer token")
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256, jose.RS256})
	if err != nil {
		return "", err
	}
	keys := v.keys.Key(parsed.Headers[0].KeyID)
	if len(keys) == 0 {
		return "", errors.New("unknown key")
	}
	var claims jwt.Claims
	if err := parsed.Claims(keys[0].Key, &claims); err != nil {
		return "", err
	}
	expected := v.expected
	expected.Time = time.Now()
	return claims.Subject, claims.Validate(expected)
}
