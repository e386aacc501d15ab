package identity

import (
	"encoding/binary"

	"github.com/go-jose/go-jose/v4/jwt"
)

// MaxVerified is how many tokens a Verifier remembers.
const MaxVerified = maxVerified

// Kept is how many tokens the Verifier remembers.
func (v *Verifier) Kept() int { return v.verified.kept() }

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
