package plainjson

import (
	"encoding/binary"
	"math/bits"
)

// Eight bytes are looked at in one word.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// endings marks, by their high bits, the bytes of a word that end a run of plain
// text: quotes, backslashes, control characters, and what is not ASCII. With the bit
// of 2 turned over, quotes and control characters are all that is not above a space.
// A byte from which a bound is taken away may borrow from the one above, so only the
// lowest mark is sure.
func endings(word uint64) uint64 {
	low, slash := word^ones*2, word^ones*'\\'
	return ((low - ones*(' '+1)) | (slash - ones) | word) & highs
}

// Raw reads any string and checks it.
func (c *Cursor) Raw() Raw {
	at := c.at
	if at >= len(c.text) || c.text[at] != '"' {
		c.take('"')
		at = c.at - 1
	}
	from := at + 1
	for at = from; at+16 <= len(c.text); at += 16 {
		words := c.text[at : at+16 : at+16]
		end, next := endings(binary.LittleEndian.Uint64(words)), endings(binary.LittleEndian.Uint64(words[8:]))
		if end|next == 0 {
			continue
		}
		if end == 0 {
			end = next
			at += 8
		}
		at += bits.TrailingZeros64(end) / 8
		if c.text[at] != '"' {
			break
		}
		c.at = at + 1
		return Raw{from, at, true}
	}
	return c.unusual(from, at)
}

// unusual is Raw for a string that is not plain from at on, or stands near the end.
func (c *Cursor) unusual(from, at int) Raw {
	plain := true
	for at < len(c.text) {
		switch b := c.text[at]; {
		case b == '"':
			c.at = at + 1
			return Raw{from, at, plain}
		case b == '\\':
			n := escape(c.text[at:])
			if n == 0 {
				c.Fail()
				return Raw{}
			}
			plain = false
			at += n
		case b < ' ':
			c.Fail()
			return Raw{}
		default:
			plain = plain && b < 0x80
			at++
		}
	}
	c.Fail()
	return Raw{}
}

// Repeats reads a member without spaces whose name is that of a former one, and
// whose value is a list of its string alone: ["x"] where "x" was. Comparing is then
// enough. False: something else comes, which was not read.
func (c *Cursor) Repeats(name, value Raw) (newName, newValue Raw, ok bool) {
	at, text := c.at, c.text
	list := at + name.To - name.From + 2 // behind the name
	to := list + 2 + value.To - value.From + 2
	if name.From == 0 || value.From == 0 || to >= len(text) || text[list] != ':' || text[list+1] != '[' || text[to] != ']' ||
		string(text[at:list]) != string(text[name.From-1:name.To+1]) || string(text[list+2:to]) != string(text[value.From-1:value.To+1]) {
		return Raw{}, Raw{}, false
	}
	c.at = to + 1
	return Raw{at + 1, list - 1, name.Plain}, Raw{list + 3, to - 1, value.Plain}, true
}

// escape returns the length of the escape at the front of text, 0 if it is none.
func escape(text []byte) int {
	if len(text) < 2 || text[0] != '\\' {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(text) < 6 {
			return 0
		}
		for _, digit := range text[2:6] {
			if !('0' <= digit && digit <= '9' || 'a' <= digit && digit <= 'f' || 'A' <= digit && digit <= 'F') {
				return 0
			}
		}
		return 6
	}
	return 0
}
