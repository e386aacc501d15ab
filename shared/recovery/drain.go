package recovery

import (
	"context"
	"slices"
	"time"

	"flashsale/shared/sale"
)

// drainLook is how long a rebuild waits between two looks at the order log.
const drainLook = 100 * time.Millisecond

// A drain is a rebuild's wait for the order log. It may take more than one pass while other sales fill
// the log, so the mark is kept: a fresh one in each pass might never be reached.
type drain struct {
	seen    int64 // what BeginRebuild said in the pass that looked last
	missing []int // shards without their marker
	written func(context.Context) (bool, error)
}

// stands tells whether the mark of an earlier pass holds for this one: all that those shards have sold lies
// before it. So the pause has stood since, else they may have sold again, and no other shard is lost.
func (d *drain) stands(seen int64, missing []int) bool {
	raised := int64(0)
	if len(missing) > 0 {
		raised = 1 // this pass has made the pause anew
	}
	for _, shard := range missing {
		if !slices.Contains(d.missing, shard) {
			return false
		}
	}
	return seen == d.seen+raised
}

// drain waits until the writer has written what the lost shards have sold, for as long as a purchase
// may take: it is seldom behind by more. [ErrDraining] leaves the rest to the next pass.
func (k *Keeper) drain(ctx context.Context, s *sale.Sale, seen int64, missing []int) error {
	d, err := k.marked(ctx, s, seen, missing)
	if err != nil {
		return err
	}
	for until := time.Now().Add(k.UnderWay); ; {
		written, err := d.written(ctx)
		if err != nil {
			return err
		}
		if written {
			k.drains.Delete(s.ID)
			return nil
		}
		if !time.Now().Before(until) {
			return ErrDraining
		}
		if err := pause(ctx, drainLook); err != nil {
			return err
		}
	}
}

// marked is the wait that an earlier pass began, or a new one.
func (k *Keeper) marked(ctx context.Context, s *sale.Sale, seen int64, missing []int) (*drain, error) {
	if known, ok := k.drains.Load(s.ID); ok {
		if d := known.(*drain); d.stands(seen, missing) {
			again := &drain{seen, missing, d.written}
			k.drains.Store(s.ID, again)
			return again, nil
		}
	}
	if len(missing) > 0 {
		if err := k.landing(ctx, s); err != nil {
			return nil, err
		}
	}
	items := make([]sale.ItemID, len(s.Items))
	for i, item := range s.Items {
		items[i] = item.ID
	}
	written, err := k.Mark(ctx, items)
	if err != nil {
		return nil, err
	}
	d := &drain{seen, missing, written}
	k.drains.Store(s.ID, d)
	return d, nil
}

// landing waits for the purchases that are under way, where there can be some.
func (k *Keeper) landing(ctx context.Context, s *sale.Sale) error {
	now, err := k.Stock.Clock(ctx)
	if err != nil || now.Before(s.OpensAt) || now.After(s.ClosesAt.Add(k.UnderWay)) {
		return err
	}
	return pause(ctx, k.UnderWay)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
