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

// endings marks, by their high bits, the bytes of a word that end a run of text: a
// quote, a backslash, and control characters. Each of them borrows from the byte
// above when 1 or a space is taken away, so only the lowest mark is sure.
func endings(word uint64) uint64 {
	quote, slash := word^ones*'"', word^ones*'\\'
	return ((quote - ones) | (slash - ones) | (word - ones*' ')) &^ word & highs
}

// load returns the next eight bytes, with NULs, which end any text, behind the last.
func load(text []byte) uint64 {
	if len(text) >= 8 {
		return binary.LittleEndian.Uint64(text)
	}
	var padded [8]byte
	copy(padded[:], text)
	return binary.LittleEndian.Uint64(padded[:])
}

// Raw reads any string and checks it.
func (c *Cursor) Raw() Raw {
	c.take('"')
	text, from, at := c.text, c.at, c.at
	special := uint64(0) // not 0 after an escape, or a byte that is not ASCII
	for at < len(text) {
		word := load(text[at:])
		end := endings(word)
		if end == 0 {
			special |= word & highs
			at += 8
			continue
		}
		special |= word & highs & (end&-end - 1) // of the bytes before the end
		at += bits.TrailingZeros64(end) / 8
		if at < len(text) && text[at] == '"' {
			c.at = at + 1
			return Raw{from, at, special == 0}
		}
		n := escape(text[at:])
		if n == 0 {
			break
		}
		special = 1
		at += n
	}
	c.Fail()
	return Raw{}
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
