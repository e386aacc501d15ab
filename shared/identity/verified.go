package identity

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"sync"

	"github.com/go-jose/go-jose/v4/jwt"
)

// maxVerified is how many tokens are kept at the most, in two halves. One is a
// digest, a sub of at most 255 bytes and three times: below 8 MB in all.
const maxVerified = 16384

// verified remembers tokens that were good, so that a double click, a poll and a
// retry do not pay for the signature again. It is as safe as checking anew:
//
//   - A token is known by the SHA-256 of all of it. Who can show another token
//     of the same digest, changed in one bit or forged, has broken SHA-256.
//   - Only the signature and what never changes are remembered (issuer, audience,
//     sub). The times are judged by the clock at each call.
//   - It belongs to one key set. When the provider shows another one, all is
//     forgotten, so a withdrawn key cannot live on here.
//   - What does not verify leaves no trace, so forged tokens push nobody out. Nor
//     can one good token: see canonical. Who is pushed out is verified again.
type verified struct {
	mu         sync.Mutex
	keys       digest
	young, old map[digest]jwt.Claims // old goes when young is full
}

type digest = [sha256.Size]byte

func (s *verified) get(keys, token digest) (jwt.Claims, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys != keys {
		s.keys, s.young, s.old = keys, nil, nil
	}
	if c, ok := s.young[token]; ok {
		return c, true
	}
	c, ok := s.old[token]
	if ok {
		s.add(token, c) // who comes again stays
	}
	return c, ok
}

// put does nothing if the key set has changed while the token was verified.
func (s *verified) put(keys, token digest, c *jwt.Claims) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == keys {
		s.add(token, jwt.Claims{Subject: c.Subject, Expiry: c.Expiry, NotBefore: c.NotBefore, IssuedAt: c.IssuedAt})
	}
}

func (s *verified) add(token digest, c jwt.Claims) {
	if s.young == nil || len(s.young) >= maxVerified/2 {
		s.young, s.old = make(map[digest]jwt.Claims), s.young
	}
	s.young[token] = c
}

// canonical tells whether the token is written as a provider writes it. Base64
// decoders pass over spare bits and line breaks, so one token has thousands of
// spellings that all verify; they must not fill the memory.
func canonical(token string) bool {
	for part := range strings.SplitSeq(token, ".") {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return false
		}
	}
	return !strings.ContainsAny(token, "\r\n")
}
