package identity

import (
	"errors"
	"fmt"
)

// ErrUnauthenticated means that the caller has shown no valid token. It is
// wrapped with the reason, which is for the log: it tells a forger what to mend.
var ErrUnauthenticated = errors.New("identity: not authenticated")

// ErrKeysUnavailable means that no token can be checked now; it says nothing
// about the caller.
var ErrKeysUnavailable = errors.New("identity: no keys to check tokens with")

// maxToken bounds the work that an unknown caller can cause.
const maxToken = 8 << 10

func unauthenticated(reason string) error { return fmt.Errorf("%w: %s", ErrUnauthenticated, reason) }

// Bearer takes the token from the values of the Authorization headers. It only
// looks at its form: exactly one value, scheme Bearer in any case, three
// non-empty parts. The token may still be anybody's.
func Bearer(headers []string) (token string, err error) {
	if len(headers) != 1 {
		return "", unauthenticated("not exactly one Authorization header")
	}
	token, fault := bearer(headers[0])
	if fault != "" {
		return "", unauthenticated(fault)
	}
	return token, nil
}

// BearerIn is Bearer for the one header of an event that is read in place: the
// token is part of it, and nothing is allocated.
func BearerIn(header []byte) (token []byte, ok bool) {
	token, fault := bearer(header)
	return token, fault == ""
}

// bearer returns a fault in words, or none.
func bearer[T string | []byte](header T) (token T, fault string) {
	const scheme = "bearer"
	if len(header) < len(scheme) || len(header) > len(scheme) && header[len(scheme)] != ' ' {
		return token, "scheme is not Bearer"
	}
	for i := range len(scheme) {
		if header[i]|0x20 != scheme[i] {
			return token, "scheme is not Bearer"
		}
	}
	from := len(scheme)
	for from < len(header) && header[from] == ' ' {
		from++
	}
	switch rest := header[from:]; {
	case len(rest) > maxToken:
		return token, "token is too long"
	case !wellFormed(rest):
		return token, "token is malformed"
	default:
		return rest, ""
	}
}

// The kinds of bytes in a token.
const (
	dot   = 1
	other = 2 // has no place in a token
)

var kinds = func() (kinds [256]uint8) {
	for c := range kinds {
		switch c := byte(c); {
		case c == '.':
			kinds[c] = dot
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			c == '-', c == '_', c == '~', c == '+', c == '/', c == '=':
		default:
			kinds[c] = other
		}
	}
	return kinds
}()

// wellFormed walks once, without allocating: after sell-out it is all that
// stands before a refusal.
func wellFormed[T string | []byte](token T) bool {
	dots, after := 0, 0 // where the part begins
	for i := 0; i < len(token); i++ {
		// Eight bytes in a row are mostly of no special kind.
		for ; i+8 <= len(token); i += 8 {
			b := token[i : i+8]
			if kinds[b[0]]|kinds[b[1]]|kinds[b[2]]|kinds[b[3]]|kinds[b[4]]|kinds[b[5]]|kinds[b[6]]|kinds[b[7]] != 0 {
				break
			}
		}
		if i == len(token) {
			break
		}
		switch kinds[token[i]] {
		case other:
			return false
		case dot:
			if i == after || dots == 2 {
				return false
			}
			dots, after = dots+1, i+1
		}
	}
	return dots == 2 && after < len(token)
}
