package identity

import (
	"errors"
	"fmt"
	"strings"
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
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", unauthenticated("scheme is not Bearer")
	}
	token = strings.TrimLeft(token, " ")
	if len(token) > maxToken {
		return "", unauthenticated("token is too long")
	}
	if !wellFormed(token) {
		return "", unauthenticated("token is malformed")
	}
	return token, nil
}

// wellFormed walks once, without allocating: after sell-out it is all that
// stands before a refusal.
func wellFormed(token string) bool {
	parts, length := 1, 0
	for i := range len(token) {
		switch c := token[i]; {
		case c == '.':
			if length == 0 {
				return false
			}
			parts, length = parts+1, 0
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			c == '-', c == '_', c == '~', c == '+', c == '/', c == '=':
			length++
		default:
			return false
		}
	}
	return parts == 3 && length > 0
}
