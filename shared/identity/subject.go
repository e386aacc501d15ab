package identity

import (
	"bytes"
	"encoding/base64"

	"flashsale/shared/plainjson"
)

// MaxClaims is how long the claims of a token can be, in bytes.
const MaxClaims = maxToken / 4 * 3

// UnverifiedSubject reads the sub of a well-formed token and checks nothing: the
// token may be anybody's. If a [Verifier] accepts the token it names the same
// shopper. False: it would refuse, or the token is unusual; ask it.
//
// The sub is written to buffer, which must hold the claims; with [MaxClaims]
// bytes it always does. Nothing is allocated.
func UnverifiedSubject(buffer, token []byte) (sub []byte, ok bool) {
	_, rest, _ := bytes.Cut(token, []byte{'.'})
	part, _, _ := bytes.Cut(rest, []byte{'.'})
	if base64.RawURLEncoding.DecodedLen(len(part)) > len(buffer) {
		return nil, false
	}
	n, err := base64.RawURLEncoding.Decode(buffer, part)
	if err != nil {
		return nil, false
	}
	c := plainjson.New(buffer[:n])
	for c.Open('{'); c.Next('}'); {
		switch {
		case string(c.Key()) != "sub":
			c.Skip()
		case ok: // twice, which the verifier refuses
			c.Fail()
		default:
			sub, ok = c.Text(), true
		}
	}
	return sub, ok && c.Done() && plainUserID(sub)
}

// plainUserID is [sale.ValidUserID] for ASCII.
func plainUserID(sub []byte) bool {
	for _, c := range sub {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return len(sub) >= 1 && len(sub) <= 255
}
