// Package giveback returns the units of orders that ended unpaid.
//
// PostgreSQL decides first: a transaction ends the order and writes a release
// row. Only after its commit is the unit freed in Redis and the row deleted. A
// crash in between repeats the release, and a release repeated does nothing, so
// the package promises that each unit comes back once, and comes back at all.
package giveback

import (
	"context"
	"errors"
	"fmt"

	"flashsale/shared/order"
	"flashsale/shared/stock"
)

// batch bounds what one round takes from the outbox, and so what one script
// call does at the most.
const batch = 500

// Drain empties the release outbox and tells how many units Redis took back.
// Two drains at once are safe. A sale whose shards cannot be reached keeps its
// rows for the next drain and does not hold up the others.
func Drain(ctx context.Context, orders *order.Store, units *stock.Store) (int, error) {
	released := 0
	var failed error
	after := int64(0)
	for {
		rows, err := orders.Releases(ctx, after, batch)
		if err != nil {
			return released, errors.Join(failed, fmt.Errorf("giveback: %w", err))
		}
		bySale := map[stock.Shards][]order.Release{}
		for _, r := range rows {
			sh := stock.Shards{Sale: r.SaleID, N: r.Shards}
			bySale[sh] = append(bySale[sh], r)
			after = r.ID
		}
		for sh, rows := range bySale {
			n, err := release(ctx, orders, units, sh, rows)
			released += n
			failed = errors.Join(failed, err)
		}
		if len(rows) < batch {
			return released, failed
		}
	}
}

func release(ctx context.Context, orders *order.Store, units *stock.Store, sh stock.Shards, rows []order.Release) (int, error) {
	held := make([]stock.Held, len(rows))
	ids := make([]int64, len(rows))
	for i, r := range rows {
		held[i], ids[i] = stock.Held{OrderID: r.OrderID, UserID: r.UserID}, r.ID
	}
	outcomes, err := units.Release(ctx, sh, stock.Settled, held)
	if err != nil {
		return 0, fmt.Errorf("giveback: sale %d: %w", sh.Sale, err)
	}
	released := 0
	for _, o := range outcomes {
		if o == stock.Released {
			released++
		}
	}
	// A shard that is not loaded has nothing to give back: it is archived, or a
	// rebuild will count from the rows. So every outcome finishes the row.
	if err := orders.ReleasesDone(ctx, ids); err != nil {
		return released, fmt.Errorf("giveback: sale %d: %w", sh.Sale, err)
	}
	return released, nil
}

// One returns the unit of one release at once, ahead of the next drain.
func One(ctx context.Context, orders *order.Store, units *stock.Store, r order.Release) error {
	_, err := release(ctx, orders, units, stock.Shards{Sale: r.SaleID, N: r.Shards}, []order.Release{r})
	return err
}
