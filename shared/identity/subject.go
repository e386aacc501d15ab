package identity

import (
	"bytes"
	"encoding/base64"

	"github.com/go-jose/go-jose/v4/json"

	"flashsale/shared/plainjson"
	"flashsale/shared/sale"
)

// MaxClaims is how long the claims of a token can be, in bytes.
const MaxClaims = maxToken / 4 * 3

// UnverifiedSubject reads the sub of a token and checks nothing: the token may be
// anybody's. If a [Verifier] accepts the token it names the same shopper. False: it
// would refuse, whoever has signed.
//
// The sub is part of the buffer, and nothing is allocated. Only claims that are
// unusual are read as the verifier reads them; that is dearer, but still no check of
// a signature, for which a stranger could have the keys fetched.
func UnverifiedSubject(buffer *[MaxClaims]byte, token []byte) (sub []byte, ok bool) {
	if len(token) > maxToken {
		return nil, false
	}
	_, rest, _ := bytes.Cut(token, []byte{'.'})
	part, _, _ := bytes.Cut(rest, []byte{'.'})
	n, err := base64.RawURLEncoding.Decode(buffer[:], part)
	if err != nil {
		return nil, false
	}
	c := plainjson.New(buffer[:n])
	for c.Open('{'); c.Next('}'); {
		switch {
		case string(c.Key()) != "sub":
			c.Skip()
		case sub != nil:
			c.Fail() // twice
		default:
			sub = c.Text()
		}
	}
	if !c.Done() {
		return subjectInFull(buffer[:n])
	}
	return sub, plainUserID(sub)
}

// subjectInFull copies the claims: what the library reads escapes to the heap, and the
// buffer must not.
func subjectInFull(text []byte) (sub []byte, ok bool) {
	var c claims
	if err := json.Unmarshal(bytes.Clone(text), &c); err != nil {
		return nil, false
	}
	return []byte(c.Subject), sale.ValidUserID(c.Subject)
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
