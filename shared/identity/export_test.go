package identity

import (
	"context"
	"encoding/binary"

	"github.com/go-jose/go-jose/v4/jwt"
)

// MaxVerified is how many tokens a Verifier remembers.
const MaxVerified = maxVerified

// Kept is how many tokens the Verifier remembers.
func (v *Verifier) Kept() int { return v.verified.kept() }

// Forget empties the memory.
func (v *Verifier) Forget() { v.verified = verified{} }

func (s *verified) kept() int { return len(s.young) + len(s.old) }

// A Memory is a Verifier's, with tokens that are only numbers.
type Memory struct{ s verified }

func number(n int) (d digest) {
	binary.BigEndian.PutUint64(d[:], uint64(n))
	return d
}

// Add is a token that was verified by a key set.
func (m *Memory) Add(keys, token int) {
	m.s.put(number(keys), number(token), &jwt.Claims{Subject: "u"})
}

// Has asks under a key set.
func (m *Memory) Has(keys, token int) bool {
	_, ok := m.s.get(number(keys), number(token))
	return ok
}

// Kept is how many tokens it has.
func (m *Memory) Kept() int { return m.s.kept() }

// Plain tells whether the token is read without the library.
func Plain(token string) bool {
	_, ok := readPlain(token)
	return ok
}

// InFull is Shopper by the library alone, and without a memory.
func (v *Verifier) InFull(ctx context.Context, token string) (string, error) {
	c, _, err := v.verifyAny(ctx, token)
	if err != nil {
		return "", err
	}
	return c.Subject, nil
}
