// Package identity tells who a shopper is: it checks a JWT against the identity
// provider's keys (JWKS).
//
// It promises that the key alone decides how a token is checked, never the
// token; that a flood of forged tokens causes no more than one fetch of keys per
// cool-down and never delays a valid shopper; and that an identity provider that
// is away does not shut out those whose keys are already known.
package identity

import (
	"context"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"

	"flashsale/shared/config"
	"flashsale/shared/sale"
)

// algorithms are all that a key can stand for; see signatureOf.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}

// A Verifier checks tokens. It is safe for concurrent use.
type Verifier struct {
	keys     *Keys
	issuer   string
	audience string
	skew     time.Duration
	now      func() time.Time
	verified verified
}

// NewVerifier accepts tokens of that issuer for that audience, which both must
// be given; an access token without aud may name it as its client_id. Clocks may
// differ by skew.
func NewVerifier(keys *Keys, issuer, audience string, skew time.Duration, now func() time.Time) *Verifier {
	return &Verifier{keys: keys, issuer: issuer, audience: audience, skew: skew, now: now}
}

// New makes a Verifier, and its keys, from the settings.
func New(cfg config.Identity, now func() time.Time) (*Verifier, error) {
	if cfg.JWKSURL != "" {
		keys := FetchedKeys(cfg.JWKSURL, cfg.Cooldown, now)
		return NewVerifier(keys, cfg.Issuer, cfg.Audience, cfg.Skew, now), nil
	}
	keys, err := StaticKeys([]byte(cfg.JWKS))
	if err != nil {
		return nil, err
	}
	return NewVerifier(keys, cfg.Issuer, cfg.Audience, cfg.Skew, now), nil
}

// Warm fetches the keys, so that the first shopper need not wait for them. After
// an error the Verifier works and tries again by itself.
func (v *Verifier) Warm(ctx context.Context) error { return v.keys.warm(ctx) }

// Shopper returns the token's sub, which names the shopper. Errors:
// [ErrUnauthenticated], wrapped with the reason; [ErrKeysUnavailable].
func (v *Verifier) Shopper(ctx context.Context, token string) (userID string, err error) {
	if len(token) > maxToken {
		return "", unauthenticated("token is too long")
	}
	id := sha256.Sum256([]byte(token))
	if set := v.keys.current(ctx); set != nil {
		if c, ok := v.verified.get(set.digest, id); ok {
			if err := v.inTime(&c); err != nil {
				return "", err
			}
			return c.Subject, nil
		}
	}
	c, set, err := v.verify(ctx, token)
	if err != nil {
		return "", err
	}
	if canonical(token) {
		v.verified.put(set.digest, id, c)
	}
	return c.Subject, nil
}

// verify also returns the key set that knew the token's key.
func (v *Verifier) verify(ctx context.Context, token string) (*jwt.Claims, *keySet, error) {
	if t, ok := readPlain(token); ok {
		return v.verifyPlain(ctx, &t)
	}
	return v.verifyAny(ctx, token)
}

func (v *Verifier) verifyAny(ctx context.Context, token string) (*jwt.Claims, *keySet, error) {
	// Strict about its JSON: a key that appears twice is an error, here and below.
	jws, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, nil, unauthenticated("token cannot be read")
	}
	header := jws.Signatures[0].Protected
	// The library knows one critical header, b64, which has no place in a JWT.
	if _, ok := header.ExtraHeaders["crit"]; ok {
		return nil, nil, unauthenticated("critical header")
	}
	key, set, err := v.keys.find(ctx, keyName{header.KeyID, jose.SignatureAlgorithm(header.Algorithm)})
	if err != nil {
		return nil, nil, err
	}
	payload, err := jws.Verify(key)
	if err != nil {
		return nil, nil, unauthenticated("signature")
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, nil, unauthenticated("claims cannot be read")
	}
	if err := v.check(&c); err != nil {
		return nil, nil, err
	}
	return &c.Claims, set, nil
}

// claims are what a token says. Amazon Cognito's access tokens have no aud: they
// name the client that they are for in client_id.
type claims struct {
	jwt.Claims
	TokenUse string `json:"token_use"`
	ClientID string `json:"client_id"`
}

// isFor tells whether the token is meant for that audience. One that has an aud
// is judged by it alone: azp and client_id then say who asked, not who is asked.
func (c *claims) isFor(audience string) bool {
	if c.Audience == nil {
		return c.TokenUse == "access" && c.ClientID == audience
	}
	return slices.Contains(c.Audience, audience)
}

func (v *Verifier) check(claims *claims) error {
	switch {
	case claims.Issuer != v.issuer:
		return unauthenticated("issuer")
	case !claims.isFor(v.audience):
		return unauthenticated("audience")
	case claims.Expiry == nil:
		return unauthenticated("no expiry")
	case !sale.ValidUserID(claims.Subject):
		return unauthenticated("subject")
	}
	return v.inTime(&claims.Claims)
}

// inTime judges exp, nbf and iat, which is all that changes about a good token.
func (v *Verifier) inTime(claims *jwt.Claims) error {
	if err := claims.ValidateWithLeeway(jwt.Expected{Time: v.now()}, v.skew); err != nil {
		return unauthenticated("expired or not valid yet")
	}
	return nil
}
