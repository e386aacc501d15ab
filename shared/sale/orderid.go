package sale

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// An OrderID is a UUID of version 8: 48 bits of milliseconds, 12 bits that
// differ within one, the sale's 32 bits and a 30 bit owner check. It sorts by time, names its
// sale, and tells whether it is the caller's, all without an index.
//
//	tttttttt-tttt-8rrr-Vsss-sssssccccccc   V: variant 10, then 2 bits of the sale
type OrderID [16]byte

// checkMask covers the last 30 bits.
const checkMask = 1<<30 - 1

// ParseOrderID reads the canonical lower-case form only: one order, one spelling.
func ParseOrderID(text string) (OrderID, error) {
	var id OrderID
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return OrderID{}, errors.New("not an order id")
	}
	compact := text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:]
	if _, err := hex.Decode(id[:], []byte(compact)); err != nil || id.String() != text {
		return OrderID{}, errors.New("not an order id")
	}
	// 48 bits of milliseconds reach the year 10889, which JSON cannot say.
	if id[6]>>4 != 8 || id[8]>>6 != 0b10 || id.SaleID() == 0 || id.Time().Year() > 9999 {
		return OrderID{}, errors.New("not an order id")
	}
	return id, nil
}

func (id OrderID) String() string {
	var b [36]byte
	hex.Encode(b[:8], id[:4])
	hex.Encode(b[9:13], id[4:6])
	hex.Encode(b[14:18], id[6:8])
	hex.Encode(b[19:23], id[8:10])
	hex.Encode(b[24:], id[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// MarshalText makes an OrderID a JSON string.
func (id OrderID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is as strict as [ParseOrderID].
func (id *OrderID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseOrderID(string(text))
	return err
}

// SaleID names the sale that the order belongs to.
func (id OrderID) SaleID() ID {
	return ID(binary.BigEndian.Uint64(id[8:]) >> 30 & 0xffffffff) //nolint:gosec // masked to 32 bits
}

// Time is when the id was made, in milliseconds.
func (id OrderID) Time() time.Time {
	ms := binary.BigEndian.Uint64(id[:8]) >> 16
	return time.UnixMilli(int64(ms)).UTC() //nolint:gosec // 48 bits
}

// A Mint makes order ids and checks whose they are.
type Mint struct {
	secret []byte
	now    func() time.Time
	serial atomic.Uint32
}

// NewMint takes the secret of the owner check, shared by all functions: 16
// bytes or more. Changing it makes young orders that are not written yet
// unknown to their shoppers for a moment; rows are not affected.
func NewMint(secret []byte, now func() time.Time) (*Mint, error) {
	if len(secret) < 16 {
		return nil, fmt.Errorf("sale: the order id secret has %d bytes, 16 are needed", len(secret))
	}
	m := &Mint{secret: secret, now: now}
	var start [2]byte
	_, _ = rand.Read(start[:]) // documented never to fail
	m.serial.Store(uint32(binary.BigEndian.Uint16(start[:])))
	return m, nil
}

// New makes the id of a shopper's order in a sale. Two presses of one shopper
// within a millisecond must not get the same id: one call's release would free
// the other's hold. So a mint counts, from a random start; two environments may
// still meet, once in 4096.
func (m *Mint) New(s ID, userID string) OrderID {
	var id OrderID
	binary.BigEndian.PutUint64(id[:], uint64(m.now().UnixMilli())<<16)      //nolint:gosec // after 1970
	binary.BigEndian.PutUint16(id[6:], uint16(8<<12|m.serial.Add(1)&0xfff)) //nolint:gosec // 16 bits
	binary.BigEndian.PutUint64(id[8:], 1<<63|uint64(s)<<30)
	low := binary.BigEndian.Uint64(id[8:]) | m.check(id, userID)
	binary.BigEndian.PutUint64(id[8:], low)
	return id
}

// Owns tells whether id was made for that shopper. It is no proof against a
// patient guesser (30 bits), so it decides only what an unwritten order's
// status call says, never what a shopper may do.
func (m *Mint) Owns(id OrderID, userID string) bool {
	return binary.BigEndian.Uint64(id[8:])&checkMask == m.check(id, userID)
}

func (m *Mint) check(id OrderID, userID string) uint64 {
	low := binary.BigEndian.Uint64(id[8:]) &^ checkMask
	binary.BigEndian.PutUint64(id[8:], low)
	mac := hmac.New(sha256.New, m.secret)
	mac.Write(id[:])
	mac.Write([]byte(userID))
	return binary.BigEndian.Uint64(mac.Sum(nil)) & checkMask
}
