// Package plainjson reads JSON in place, without allocating, as far as it is plain.
//
// It promises that text which a Cursor has read to its end is valid JSON, and
// that what it returned is what encoding/json finds there. The reverse does not
// hold: a Cursor gives up on valid text that it does not expect, and its user
// then asks encoding/json, which has the last word about errors too.
package plainjson

// maxDepth is where a Cursor gives up, far before encoding/json does.
const maxDepth = 64

// A Cursor moves through one document. After it has failed every method returns
// nothing, so only [Cursor.Done] needs a look.
//
//	for c.Open('{'); c.Next('}'); {
//		switch string(c.Key()) {
//		case "name":
//			name = c.Text()
//		default:
//			c.Skip()
//		}
//	}
type Cursor struct {
	text   []byte
	at     int
	first  bool // nothing was read since Open
	failed bool
}

// A Raw is a string as it stands between its quotes: text[From:To].
type Raw struct {
	From, To int
	Plain    bool // ASCII without escapes: it means itself
}

// New starts at the front of text, which must not change meanwhile.
func New(text []byte) Cursor { return Cursor{text: text} }

// Fail gives up: the text is not what the caller can read.
func (c *Cursor) Fail() { c.failed, c.at = true, len(c.text) }

// At is how much was read.
func (c *Cursor) At() int { return c.at }

// Done tells whether all was read and nothing failed.
func (c *Cursor) Done() bool {
	c.space()
	return !c.failed && c.at == len(c.text)
}

// Open enters an object by '{' or an array by '['.
func (c *Cursor) Open(bracket byte) {
	c.take(bracket)
	c.first = true
}

// Next goes to the next member or element. It is false behind the last one, which
// bracket ends.
func (c *Cursor) Next(bracket byte) bool {
	first := c.first
	c.first = false
	next := c.peek()
	switch {
	case next == bracket:
		c.at++
		return false
	case first:
		return !c.failed
	case next != ',':
		c.Fail()
		return false
	}
	c.at++
	return true
}

// Key reads a member's name, which must be plain, and its colon.
func (c *Cursor) Key() []byte {
	raw := c.RawKey()
	if !raw.Plain {
		c.Fail()
		return nil
	}
	return c.text[raw.From:raw.To:raw.To]
}

// RawKey is Key for any name.
func (c *Cursor) RawKey() Raw {
	raw := c.Raw()
	if c.is(':') {
		c.at++
	} else {
		c.take(':')
	}
	return raw
}

// Text reads a string, which must be plain. It is part of the document.
func (c *Cursor) Text() []byte {
	raw := c.Raw()
	if !raw.Plain {
		c.Fail()
		return nil
	}
	return c.text[raw.From:raw.To:raw.To]
}

// Null reads a null if there is one.
func (c *Cursor) Null() bool { return c.peek() == 'n' && c.word("null") }

// Bool reads true or false.
func (c *Cursor) Bool() bool {
	if c.peek() == 't' {
		return c.word("true")
	}
	c.word("false")
	return false
}

// Int reads an integer of at most 18 digits, without fraction or exponent.
func (c *Cursor) Int() int64 {
	c.space()
	from := c.at
	c.number()
	if c.failed || c.at-from > 18 {
		c.Fail()
		return 0
	}
	n, sign := int64(0), int64(1)
	for _, digit := range c.text[from:c.at] {
		switch {
		case digit == '-':
			sign = -1
		case digit < '0' || digit > '9': // a fraction or an exponent
			c.Fail()
			return 0
		default:
			n = n*10 + int64(digit-'0')
		}
	}
	return sign * n
}

// Skip passes over a value of any kind and checks it. It returns where it stood.
func (c *Cursor) Skip() (from, to int) {
	c.space()
	from = c.at
	c.skip(maxDepth)
	return from, c.at
}

func (c *Cursor) skip(depth int) {
	if depth == 0 {
		c.Fail()
		return
	}
	switch c.peek() {
	case '"':
		c.Raw()
	case '{':
		for c.Open('{'); c.Next('}'); {
			c.RawKey()
			c.skip(depth - 1)
		}
	case '[':
		for c.Open('['); c.Next(']'); {
			c.skip(depth - 1)
		}
	case 't':
		c.word("true")
	case 'f':
		c.word("false")
	case 'n':
		c.word("null")
	default:
		c.number()
	}
}

func (c *Cursor) space() {
	for c.at < len(c.text) && c.text[c.at] <= ' ' {
		switch c.text[c.at] {
		case ' ', '\n', '\r', '\t':
			c.at++
		default:
			return
		}
	}
}

// peek returns the next byte that is not space, 0 at the end.
func (c *Cursor) peek() byte {
	if at := c.at; at < len(c.text) && c.text[at] > ' ' {
		return c.text[at] // what machines write has mostly no space
	}
	c.space()
	if c.at == len(c.text) {
		return 0
	}
	return c.text[c.at]
}

//go:noinline
func (c *Cursor) take(want byte) {
	if c.peek() != want {
		c.Fail()
		return
	}
	c.at++
}

// Literal reads exactly this text, which is not empty. False: something else comes, which was not read.
func (c *Cursor) Literal(text []byte) bool {
	if len(c.text)-c.at < len(text) || string(c.text[c.at:c.at+len(text)]) != string(text) {
		return false
	}
	c.at += len(text)
	return true
}

func (c *Cursor) word(want string) bool {
	if len(c.text)-c.at < len(want) || string(c.text[c.at:c.at+len(want)]) != want {
		c.Fail()
		return false
	}
	c.at += len(want)
	return true
}

// number follows the grammar: -? (0 | [1-9] digits) (. digits)? ([eE] [+-]? digits)?
func (c *Cursor) number() {
	if c.is('-') {
		c.at++
	}
	if c.is('0') {
		c.at++
	} else {
		c.digits()
	}
	if c.is('.') {
		c.at++
		c.digits()
	}
	if c.is('e') || c.is('E') {
		c.at++
		if c.is('+') || c.is('-') {
			c.at++
		}
		c.digits()
	}
}

func (c *Cursor) is(want byte) bool { return c.at < len(c.text) && c.text[c.at] == want }

// digits wants one at least.
func (c *Cursor) digits() {
	at := c.at
	for at < len(c.text) && c.text[at]-'0' <= 9 {
		at++
	}
	if at == c.at {
		c.Fail()
		return
	}
	c.at = at
}
