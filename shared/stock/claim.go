package stock

import (
	"context"
	"fmt"
	"time"

	"flashsale/shared/sale"
)

// A ClaimOutcome tells the writer whether it may write an order.
type ClaimOutcome int

// The outcomes of [Store.Claim]; the numbers are those of claim.lua.
const (
	Claimed    ClaimOutcome = iota + 1 // write it
	Dropped                            // given up by its purchase: reject it
	Superseded                         // the shopper holds another order: reject it
	Unguarded                          // the shard is not loaded: the database decides alone
	Confirmed                          // claimed, and its row was written before: the record came twice
)

func (o ClaimOutcome) String() string {
	switch o {
	case Claimed:
		return "claimed"
	case Dropped:
		return "dropped"
	case Superseded:
		return "superseded"
	case Unguarded:
		return "unguarded"
	case Confirmed:
		return "confirmed"
	default:
		return fmt.Sprintf("claim outcome %d", int(o))
	}
}

// Claim takes orders over for the writer, before it writes them: no purchase
// can give them up from here on. A hold that Redis lost is put back. All orders
// are of that sale; outcomes come in their order. After an error any of them
// may be claimed, and claiming again is safe.
func (s *Store) Claim(ctx context.Context, sh Shards, placed []sale.Placed) ([]ClaimOutcome, error) {
	outcomes, err := s.claim(ctx, sh, placed, false)
	if err != nil {
		return nil, fmt.Errorf("stock: claim: %w", err)
	}
	return outcomes, nil
}

// Adopt puts holds back for orders whose rows are PENDING or PAID: a claim that
// no tombstone stops. It is never [Dropped].
func (s *Store) Adopt(ctx context.Context, sh Shards, placed []sale.Placed) ([]ClaimOutcome, error) {
	outcomes, err := s.claim(ctx, sh, placed, true)
	if err != nil {
		return nil, fmt.Errorf("stock: adopt: %w", err)
	}
	return outcomes, nil
}

func (s *Store) claim(ctx context.Context, sh Shards, placed []sale.Placed, adopt bool) ([]ClaimOutcome, error) {
	keys := s.keyring.of(sh)
	b := newBatch(claimScript, firstLook.Milliseconds(), flag(adopt))
	for i, p := range placed {
		home := sh.Home(p.UserID)
		b.add(home, keys[home].all, i, p.OrderID.String(), p.UserID, itemText(p.ItemID), millis(p.ReservedAt))
	}
	outcomes := make([]ClaimOutcome, len(placed))
	err := b.run(ctx, s.rdb, func(place int, code int64) error {
		o := ClaimOutcome(code)
		if o < Claimed || o > Confirmed {
			return fmt.Errorf("unknown outcome %d", code)
		}
		outcomes[place] = o
		return nil
	})
	return outcomes, err
}

// A Confirmation says that an order's row is written.
type Confirmation struct {
	OrderID sale.OrderID
	UserID  string
	PayBy   time.Time
}

// Confirm notes that rows are written: their holds are claimed, know until when
// to pay, and leave the outbox. An order that holds nothing (any more) is passed
// over; a hold is never made anew.
func (s *Store) Confirm(ctx context.Context, sh Shards, orders []Confirmation) error {
	const confirmed, notHeld = 1, 2 // as in confirm.lua
	keys := s.keyring.of(sh)
	b := newBatch(confirmScript)
	for i, c := range orders {
		home := sh.Home(c.UserID)
		b.add(home, keys[home].outbox, i, c.OrderID.String(), c.UserID, millis(c.PayBy))
	}
	err := b.run(ctx, s.rdb, func(_ int, code int64) error {
		if code != confirmed && code != notHeld {
			return fmt.Errorf("unknown outcome %d", code)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("stock: confirm: %w", err)
	}
	return nil
}
