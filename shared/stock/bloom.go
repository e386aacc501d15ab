package stock

import (
	"crypto/sha1" //nolint:gosec // spreads bits, as redis.sha1hex does in the scripts; it guards nothing
	"encoding/binary"
	"strconv"
	"sync/atomic"

	"flashsale/shared/sale"
)

// The form of a winners' filter is told in winners.lua; scripts set bits by the same rules.
const (
	filterHeader = 64
	filterProbes = 7
	// Sixteen bits for each unit: one in a thousand strangers is taken for a winner. To
	// ask Redis for one costs as much as some fifty refusals. The bounds hold for any
	// sale; the upper one is all that 20 bits reach.
	bitsPerUnit = 16
	minFilter   = 12 << 10
	maxFilter   = 128 << 10
)

// filterSize is how many bytes of bits the filter of one of the sale's shards
// needs, and wornFilter how many shoppers may be added before it is made anew:
// it cannot forget those whose units came back.
func filterSize(sl *sale.Sale) int {
	bytes := unitsPerShard(sl) * bitsPerUnit / 8
	return min(max((bytes+1023)/1024*1024, minFilter), maxFilter)
}

func wornFilter(sl *sale.Sale) int { return max(unitsPerShard(sl)/2, 1000) }

func unitsPerShard(sl *sale.Sale) int {
	units := 0
	for _, it := range sl.Items {
		units += it.Quantity
	}
	return units/max(sl.Shards, 1) + 1
}

// A probe is where a shopper's bits are: seven times five hex digits.
type probe [sha1.Size]byte

func probeOf(userID []byte) probe { return sha1.Sum(userID) } //nolint:gosec // as above

// bit is the i-th of them in a filter of so many bits.
func (p *probe) bit(i int, bits uint32) uint32 {
	at := i * 5 / 2
	n := uint32(p[at])<<16 | uint32(p[at+1])<<8 | uint32(p[at+2])
	if i%2 == 0 {
		n >>= 4
	}
	return n & (1<<20 - 1) % bits
}

// A filter is an environment's copy of a shard's winners' filter. It may be
// asked and added to at once.
type filter struct {
	header [filterHeader]byte // as it was read
	words  []atomic.Uint64    // big-endian, as Redis numbers its bits
	bits   uint32
}

func newFilter(size int) *filter {
	return &filter{words: make([]atomic.Uint64, (size+7)/8), bits: uint32(size) * 8} //nolint:gosec // at most maxFilter, or what Redis holds
}

// parseFilter reads a whole filter.
func parseFilter(text []byte) *filter {
	body := text[filterHeader:]
	f := newFilter(len(body))
	copy(f.header[:], text)
	padded := append(body[:len(body):len(body)], make([]byte, 7)...)
	for i := range f.words {
		f.words[i].Store(binary.BigEndian.Uint64(padded[i*8:]))
	}
	return f
}

// body is the bits as Redis has them.
func (f *filter) body() []byte {
	text := make([]byte, 0, len(f.words)*8)
	for i := range f.words {
		text = binary.BigEndian.AppendUint64(text, f.words[i].Load())
	}
	return text[:f.bits/8]
}

func (f *filter) add(p *probe) {
	for i := range filterProbes {
		bit := p.bit(i, f.bits)
		f.words[bit/64].Or(1 << (63 - bit%64))
	}
}

// mayHave is false only for shoppers who were never added.
func (f *filter) mayHave(p *probe) bool {
	for i := range filterProbes {
		bit := p.bit(i, f.bits)
		if f.words[bit/64].Load()&(1<<(63-bit%64)) == 0 {
			return false
		}
	}
	return true
}

// complete tells whether a header is that of a filter that misses nobody and may be used.
func complete(header []byte, worn int) bool {
	if len(header) < filterHeader || header[0] != 'C' {
		return false
	}
	added, err := strconv.Atoi(string(header[32:48]))
	return err == nil && added <= worn
}

// whole tells whether the text is a complete filter of at least the sale's size,
// as winners.lua judges it.
func whole(text []byte, sl *sale.Sale) bool {
	return len(text) >= filterHeader+filterSize(sl) && complete(text, wornFilter(sl))
}
