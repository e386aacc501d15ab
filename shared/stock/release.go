package stock

import (
	"context"
	"fmt"

	"flashsale/shared/sale"
)

// A ReleaseMode says why a unit comes back.
type ReleaseMode string

// The modes of release.lua.
const (
	Settled   ReleaseMode = "settled"   // the row is final: expired or cancelled
	Rejected  ReleaseMode = "rejected"  // the row was refused
	Unclaimed ReleaseMode = "unclaimed" // the purchase gives up, unless a writer has claimed
)

// A ReleaseOutcome tells what became of one order's unit.
type ReleaseOutcome int

// The outcomes of [Store.Release]; the numbers are those of release.lua.
const (
	Released         ReleaseOutcome = iota + 1 // the unit is in stock again
	NotHeld                                    // this order holds nothing
	StillClaimed                               // Unclaimed only: a writer has it, the order lives
	ReleaseNotLoaded                           // the shard is not loaded, nothing was written
)

func (o ReleaseOutcome) String() string {
	switch o {
	case Released:
		return "released"
	case NotHeld:
		return "not held"
	case StillClaimed:
		return "still claimed"
	case ReleaseNotLoaded:
		return "not loaded"
	default:
		return fmt.Sprintf("release outcome %d", int(o))
	}
}

// Held names an order whose unit may be held.
type Held struct {
	OrderID sale.OrderID
	UserID  string
}

// Release gives each order's unit back if that order has the hold, once however
// often it is called. Outcomes come in the orders' order. Rejected leaves a
// tombstone where it released, Unclaimed also where nothing was held, so that
// the order's record, should it still land, is dropped.
func (s *Store) Release(ctx context.Context, sh Shards, mode ReleaseMode, orders []Held) ([]ReleaseOutcome, error) {
	keys := s.keyring.of(sh)
	b := newBatch(releaseScript, string(mode))
	for i, h := range orders {
		home := sh.Home(h.UserID)
		b.add(home, keys[home].release, i, h.OrderID.String(), h.UserID)
	}
	outcomes := make([]ReleaseOutcome, len(orders))
	err := b.run(ctx, s.rdb, func(place int, code int64) error {
		o := ReleaseOutcome(code)
		if o < Released || o > ReleaseNotLoaded {
			return fmt.Errorf("unknown outcome %d", code)
		}
		outcomes[place] = o
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("stock: release (%s): %w", mode, err)
	}
	return outcomes, nil
}
