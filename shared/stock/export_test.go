package stock

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
type Keys struct{ Meta, Holds, Stock, Unconfirmed, Released string }

// All lists them.
func (k Keys) All() []string {
	return []string{k.Meta, k.Holds, k.Stock, k.Unconfirmed, k.Released}
}

// KeysOf returns the keys of a shard.
func (s *Store) KeysOf(sh Shards, shard int) Keys {
	k := s.keyring.of(sh)[shard]
	return Keys{k.meta, k.holds, k.stock, k.unconfirmed, k.released}
}

// CachedSales tells how many sales' keys are remembered.
func (s *Store) CachedSales() int { return len(s.keyring.sales) }
