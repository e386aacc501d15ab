package identity

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"math/big"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"flashsale/shared/plainjson"
)

// A plain token is one as providers write them: canonical base64, ASCII, no header
// but alg, kid and typ, whole numbers for times. It is read in a tenth of the time
// that the library needs. Whatever looks different in the least is left to that, so
// what is plain is never judged differently; FuzzPlain has both judge each token.
type plain struct {
	name      keyName
	signed    string // the first two parts, as they stand
	signature []byte
	claims    claims
}

var strict = base64.RawURLEncoding.Strict()

func readPlain(token string) (t plain, ok bool) {
	head, rest, _ := strings.Cut(token, ".")
	body, tail, _ := strings.Cut(rest, ".")
	header, ok1 := decode(head)
	payload, ok2 := decode(body)
	signature, ok3 := decode(tail)
	if !ok1 || !ok2 || !ok3 || !t.readHeader(header) || !t.readClaims(payload) {
		return plain{}, false
	}
	t.signed, t.signature = token[:len(head)+1+len(body)], signature
	return t, true
}

// decode is false for spare bits, and for line breaks, which the decoder passes over.
func decode(part string) ([]byte, bool) {
	text, err := strict.DecodeString(part)
	return text, err == nil && len(text) == strict.DecodedLen(len(part))
}

func (t *plain) readHeader(text []byte) bool {
	var had names
	c := plainjson.New(text)
	for c.Open('{'); c.Next('}'); {
		switch key := c.Key(); {
		case had.twice(key):
			c.Fail()
		case string(key) == "alg":
			t.name.alg = algorithm(c.Text())
		case string(key) == "kid":
			t.name.id = string(c.Text())
		case string(key) == "typ":
			c.Text()
		default:
			c.Fail()
		}
	}
	return c.Done() && t.name.alg != ""
}

// algorithm is one of [algorithms], or empty.
func algorithm(name []byte) jose.SignatureAlgorithm {
	for _, alg := range algorithms {
		if string(alg) == string(name) {
			return alg
		}
	}
	return ""
}

func (t *plain) readClaims(text []byte) bool {
	var had names
	c := plainjson.New(text)
	for c.Open('{'); c.Next('}'); {
		key := c.Key()
		if had.twice(key) {
			c.Fail()
		}
		switch string(key) {
		case "iss":
			t.claims.Issuer = string(c.Text())
		case "sub":
			t.claims.Subject = string(c.Text())
		case "aud":
			from, to := c.Skip()
			if t.claims.Audience = audienceIn(text[from:to]); t.claims.Audience == nil {
				c.Fail()
			}
		case "exp":
			t.claims.Expiry = dateIn(&c)
		case "nbf":
			t.claims.NotBefore = dateIn(&c)
		case "iat":
			t.claims.IssuedAt = dateIn(&c)
		case "jti":
			c.Text()
		case "token_use":
			t.claims.TokenUse = string(c.Text())
		case "client_id":
			t.claims.ClientID = string(c.Text())
		default:
			c.Skip()
		}
	}
	return c.Done()
}

// audienceIn is nil for what is neither a text nor an array of texts.
func audienceIn(text []byte) jwt.Audience {
	all := jwt.Audience{}
	c := plainjson.New(text)
	if len(text) > 0 && text[0] == '[' {
		for c.Open('['); c.Next(']'); {
			all = append(all, string(c.Text()))
		}
	} else {
		all = append(all, string(c.Text()))
	}
	if !c.Done() {
		return nil
	}
	return all
}

// dateIn leaves numbers that a float64 may round to the library.
func dateIn(c *plainjson.Cursor) *jwt.NumericDate {
	const exact = 1 << 53
	n := c.Int()
	if n < -exact || n > exact {
		c.Fail()
	}
	date := jwt.NumericDate(n)
	return &date
}

// names are those that an object had so far.
type names struct {
	all [24][]byte
	n   int
}

// twice is true also for more names than there is room for.
func (s *names) twice(name []byte) bool {
	for _, former := range s.all[:s.n] {
		if bytes.Equal(former, name) {
			return true
		}
	}
	if s.n == len(s.all) {
		return true
	}
	s.all[s.n] = name
	s.n++
	return false
}

// verifyPlain is verify for a plain token.
func (v *Verifier) verifyPlain(ctx context.Context, t *plain) (*jwt.Claims, *keySet, error) {
	key, set, err := v.keys.find(ctx, t.name)
	if err != nil {
		return nil, nil, err
	}
	if !t.signedBy(key) {
		return nil, nil, unauthenticated("signature")
	}
	if err := v.check(&t.claims); err != nil {
		return nil, nil, err
	}
	return &t.claims.Claims, set, nil
}

// signedBy takes a key of the algorithm that the token names: [Keys] find no other.
func (t *plain) signedBy(key any) bool {
	sum := sha256.Sum256([]byte(t.signed))
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		const half = 32
		if len(t.signature) != 2*half {
			return false
		}
		r, s := new(big.Int).SetBytes(t.signature[:half]), new(big.Int).SetBytes(t.signature[half:])
		return ecdsa.Verify(key, sum[:], r, s)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], t.signature) == nil
	case ed25519.PublicKey:
		return ed25519.Verify(key, []byte(t.signed), t.signature)
	}
	return false
}
