package recovery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// sweepCap bounds what one pass looks at per shard, so that a writer that is
// behind by many thousands is not buried under records published again.
const sweepCap = 500

// publishers is how many records are published at once.
const publishers = 32

// publishWait bounds the wait for one of them. What came too late may have arrived, and the next
// pass looks again: after a freeze the first pass must not wait for as long as a record lives.
const publishWait = 800 * time.Millisecond

// Swept counts what became of the holds whose look had come.
type Swept struct {
	Republished int
	Confirmed   int
	Released    int
}

// Sweep looks after a sale's holds that no writer has confirmed for a while. A
// living row confirms the hold, a final row or somebody else's releases it, and
// without a row the record is published again under the same order id: its first
// publish may have been lost with the function that made it. If it was not, the
// writer meets the same order twice, which changes nothing. A shard that cannot be
// asked keeps no other's holds waiting.
func (k *Keeper) Sweep(ctx context.Context, s *sale.Sale) (Swept, error) {
	var sum Swept
	shards := stock.Of(s)
	var failed error
	for shard := range shards.N {
		// A hold that cannot be read comes as an error beside the sound ones.
		due, dueErr := k.Stock.Due(ctx, shards, shard, sweepCap)
		swept, err := k.look(ctx, shards, due)
		err = errors.Join(dueErr, err)
		sum.Republished += swept.Republished
		sum.Confirmed += swept.Confirmed
		sum.Released += swept.Released
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("recovery: sweep sale %d shard %d: %w", s.ID, shard, err))
		}
	}
	return sum, failed
}

func (k *Keeper) look(ctx context.Context, shards stock.Shards, due []stock.Hold) (Swept, error) {
	f, err := k.fatesOf(ctx, due)
	if err != nil {
		return Swept{}, err
	}
	var sum Swept
	if err := k.Stock.Confirm(ctx, shards, f.living); err != nil {
		return sum, err
	}
	sum.Confirmed = len(f.living)
	if sum.Released, err = k.release(ctx, shards, f.over); err != nil {
		return sum, err
	}
	sum.Republished, err = k.republish(ctx, shards, f.rowless)
	return sum, err
}

// republish reports the first failure but tries all: one partition without a
// leader must not keep the others' orders back.
func (k *Keeper) republish(ctx context.Context, shards stock.Shards, lost []stock.Hold) (int, error) {
	var sent atomic.Int64
	var once sync.Once
	var failed error
	var group errgroup.Group
	group.SetLimit(publishers)
	for _, h := range lost {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, publishWait)
			defer cancel()
			err := k.Log.Publish(ctx, sale.Placed{
				OrderID: h.OrderID, SaleID: shards.Sale, ItemID: h.ItemID, UserID: h.UserID, ReservedAt: h.ReservedAt,
			})
			if err != nil {
				once.Do(func() { failed = err })
				return nil
			}
			sent.Add(1)
			return nil
		})
	}
	_ = group.Wait() // the functions above return no errors
	return int(sent.Load()), failed
}
