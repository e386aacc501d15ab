package recovery

import (
	"context"
	"fmt"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// Update gives a sale another description, as [order.Store.UpdateSale] does, and
// tells its shards at once. Again is fine: the rows stay as they are and the
// shards are told once more. A sale that Redis has lost is [ErrLost].
func (k *Keeper) Update(ctx context.Context, next sale.Sale, definition []byte, by string) (changed []string, err error) {
	l, err := k.Orders.Listing(ctx, next.ID)
	var opener time.Time
	if err == nil && l.Loaded && !l.Archived {
		if err = k.notLost(ctx, &l.Sale); err == nil {
			opener, err = k.Stock.Clock(ctx)
		}
	}
	if err == nil {
		changed, err = k.Orders.UpdateSale(ctx, next, definition, by, opener)
	}
	if err == nil {
		err = k.assert(ctx, next.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("recovery: update sale %d: %w", next.ID, err)
	}
	return changed, nil
}

func (k *Keeper) notLost(ctx context.Context, s *sale.Sale) error {
	lost, err := k.Lost(ctx, s)
	if err == nil && lost {
		err = ErrLost
	}
	return err
}

// assert tells the shards what the rows say: first the units, so that a window
// that opens now sells no more than there are.
func (k *Keeper) assert(ctx context.Context, id sale.ID) error {
	l, err := k.Orders.Listing(ctx, id)
	if err != nil || !l.Loaded || l.Archived {
		return err
	}
	if _, err := k.repair(ctx, stock.Of(&l.Sale)); err != nil {
		return err
	}
	return k.Govern(ctx, id)
}

// Archive ends a sale for good and then drops its keys. What is under way is in
// the way: [order.BusyError]. If it dies in between, the next call drops them;
// called again after that it does nothing. It tells whether this call did it.
func (k *Keeper) Archive(ctx context.Context, id sale.ID, by string) (first bool, err error) {
	l, err := k.Orders.Listing(ctx, id)
	if err != nil {
		return false, fmt.Errorf("recovery: archive: %w", err)
	}
	var left order.Remains
	if l.Loaded && !l.Archived {
		left, err = k.remains(ctx, &l)
	}
	if err == nil {
		first, err = k.Orders.Archive(ctx, id, by, left)
	}
	if err == nil {
		err = k.Stock.Drop(ctx, stock.Of(&l.Sale))
	}
	if err != nil {
		return false, fmt.Errorf("recovery: archive sale %d: %w", id, err)
	}
	return first, nil
}

// remains looks in this sequence: once Redis sells no more, no hold is new, and
// once all records are read, every one of them has a hold or a row that tells. Before
// that the purchases under way must be over: a failover may have lost their holds.
func (k *Keeper) remains(ctx context.Context, l *sale.Listing) (order.Remains, error) {
	var left order.Remains
	if err := k.notLost(ctx, &l.Sale); err != nil {
		return left, err
	}
	if err := k.Govern(ctx, l.ID); err != nil {
		return left, err
	}
	now, err := k.Stock.Clock(ctx)
	if err != nil {
		return left, err
	}
	left.Selling, left.UnderWay = now.Before(l.ClosesAt), now.Before(l.ClosesAt.Add(k.UnderWay))
	if left.Unread, err = k.Backlog(ctx); err != nil {
		return left, err
	}
	shards := stock.Of(&l.Sale)
	for shard := range shards.N {
		report, err := k.Stock.Check(ctx, shards, shard)
		if err != nil {
			return left, err
		}
		left.Unconfirmed += report.Outbox
		left.Unreadable += report.Unreadable
		holds, err := k.Stock.Holds(ctx, shards, shard)
		if err != nil {
			return left, err
		}
		for _, h := range holds {
			left.Held = append(left.Held, h.OrderID)
		}
	}
	return left, nil
}
