// Package sale says what a sale is: its items and window, the ids of its
// orders, and which shard a shopper belongs to.
//
// The package promises that a [Sale] made by [ParseFile] is valid as a whole,
// so nothing behind it checks a quantity or a window again, and that the same
// shopper always gets the same home shard. It is a leaf: it reaches no server.
package sale

import (
	"math"
	"time"
	"unicode"
	"unicode/utf8"
)

// ID names a sale: 1 to 2^32-1, so that it fits into every order id.
type ID uint32

// ItemID names an item: 1 to 2^63-1, unique over all sales.
type ItemID int64

// A Sale is one flash sale as its operator described it.
type Sale struct {
	ID            ID            `json:"id"`
	Name          string        `json:"name"`
	OpensAt       time.Time     `json:"opensAt"`          // milliseconds, UTC
	ClosesAt      time.Time     `json:"closesAt"`         // milliseconds, UTC; purchases end here
	PaymentWindow time.Duration `json:"paymentWindow"`    // from the row's writing to payBy
	Grace         time.Duration `json:"grace"`            // after payBy, for payments under way
	Shards        int           `json:"shards"`           // fixed at the first load
	Spread        time.Duration `json:"spread,omitempty"` // over which shoppers are admitted; 0: all at opensAt
	Items         []Item        `json:"items"`
}

// An Item is one product offered in a sale.
type Item struct {
	ID         ItemID `json:"id"`
	ProductID  int64  `json:"productId"`
	Name       string `json:"name"`
	Quantity   int    `json:"quantity"`
	PriceMinor int64  `json:"priceMinor"` // in the currency's smallest unit
	Currency   string `json:"currency"`   // ISO 4217
}

// A State is where a sale stands.
type State string

// The states of a sale, in the order in which it passes through them.
const (
	Created  State = "CREATED" // described, no stock in Redis yet
	Loaded   State = "LOADED"  // stock is in Redis, not open yet
	Open     State = "OPEN"
	Paused   State = "PAUSED" // loaded and before its end, but stopped
	Closed   State = "CLOSED"
	Archived State = "ARCHIVED"
)

// A Standing is what is known of a sale besides its description. Item doubts
// are not in it: they stop an item, not the sale.
type Standing struct {
	Loaded   bool `json:"loaded"`
	Paused   bool `json:"paused"`
	Archived bool `json:"archived,omitempty"`
}

// StateAt tells the state of s at now.
func (s *Sale) StateAt(now time.Time, st Standing) State {
	switch {
	case st.Archived:
		return Archived
	case !now.Before(s.ClosesAt):
		return Closed
	case !st.Loaded:
		return Created
	case st.Paused:
		return Paused
	case now.Before(s.OpensAt):
		return Loaded
	default:
		return Open
	}
}

// AdmitsAll tells whether the last shopper is admitted before the sale closes.
func (s *Sale) AdmitsAll() bool { return s.ClosesAt.After(s.OpensAt.Add(s.Spread)) }

// Item returns the item of s with that id.
func (s *Sale) Item(id ItemID) (Item, bool) {
	for _, it := range s.Items {
		if it.ID == id {
			return it, true
		}
	}
	return Item{}, false
}

// ParseID reads a sale id in its one decimal spelling.
func ParseID(text string) (ID, bool) {
	n, ok := parsePositive(text, math.MaxUint32)
	return ID(n), ok //nolint:gosec // parsePositive bounds it
}

// ParseItemID reads an item id in its one decimal spelling.
func ParseItemID(text string) (ItemID, bool) {
	n, ok := parsePositive(text, math.MaxInt64)
	return ItemID(n), ok //nolint:gosec // parsePositive bounds it
}

// parsePositive refuses signs and leading zeros, so that one thing has one
// spelling: caches and rate limits by path cannot be fooled.
func parsePositive(text string, limit uint64) (uint64, bool) {
	if text == "" || text[0] == '0' || len(text) > 19 {
		return 0, false // nineteen digits cannot overflow
	}
	n := uint64(0)
	for i := range len(text) {
		digit := text[i] - '0'
		if digit > 9 {
			return 0, false
		}
		n = 10*n + uint64(digit)
	}
	return n, n <= limit
}

// ValidUserID tells whether text can be a shopper: 1 to 255 bytes of UTF-8
// without control characters. It is used as a Redis field, a JSON string and a
// PostgreSQL text, and the last cannot hold a NUL.
func ValidUserID(text string) bool {
	if text == "" || len(text) > 255 || !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if unicode.IsControl(r) {
			return false
		}
	}
	return true
}
