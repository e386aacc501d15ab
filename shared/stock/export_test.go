package stock

import "flashsale/shared/sale"

// For the tests: keys are built in keys.go only, and holds are written by Lua only.
var (
	ParseHold = parseHold
	Slot      = slot
	Tag       = tag
)

const (
	FirstLook   = firstLook
	LongestWait = longestWait
	CatalogKey  = catalogKey
	CatalogAge  = catalogAge
)

// Keys are the keys of one shard.
type Keys struct{ Meta, Holds, Stock, Unconfirmed, Released, Winners string }

// All lists them.
func (k Keys) All() []string {
	return []string{k.Meta, k.Holds, k.Stock, k.Unconfirmed, k.Released, k.Winners}
}

// KeysOf returns the keys of a shard.
func (s *Store) KeysOf(sh Shards, shard int) Keys {
	k := s.keyring.of(sh)[shard]
	return Keys{k.meta, k.holds, k.stock, k.unconfirmed, k.released, k.winners}
}

// CachedSales tells how many sales' keys are remembered.
func (s *Store) CachedSales() int { return len(s.keyring.sales) }

const (
	LatchTime  = latchTime
	LatchRenew = latchRenew
	FillLease  = fillLease
)

// FillHash names fill.lua in a call.
var FillHash = fillScript.Hash()

// A Filter is a winners' filter for the shards of a sale.
type Filter struct{ f *filter }

// NewFilter makes an empty one.
func NewFilter(sl *sale.Sale) Filter { return Filter{newFilter(filterSize(sl))} }

// Add puts a shopper in.
func (f Filter) Add(userID string) { p := probeOf([]byte(userID)); f.f.add(&p) }

// MayHave asks for one.
func (f Filter) MayHave(userID string) bool { p := probeOf([]byte(userID)); return f.f.mayHave(&p) }

// Size is in bytes.
func (f Filter) Size() int { return len(f.f.body()) }

// Sales tells how many sales are remembered.
func (l *Latch) Sales() int { return len(*l.sales.Load()) }

// Looking tells whether a look at a sale is under way.
func (l *Latch) Looking(id sale.ID) bool {
	st := l.of(id)
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.flight != nil
}
