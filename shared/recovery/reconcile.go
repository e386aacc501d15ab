package recovery

import (
	"context"
	"errors"
	"fmt"

	"flashsale/shared/order"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// Reconciled counts what a comparison of both sides mended.
type Reconciled struct {
	Adopted  int // living rows whose hold was lost
	Released int // holds whose row had ended
	Repaired int // damage inside Redis: stock, quotas, keys

	TransfersFinished int // moves between shards that stopped half-way
}

// Reconcile makes Redis agree with the rows: damage inside a shard is mended by
// what the shard itself knows, the ledger is asserted, lost holds of living rows
// are put back, holds of ended rows are released. Items that were in doubt when
// it began are on sale again when it is through.
//
// It reads both sides one after the other while the sale goes on, so it may be
// overtaken. What it then does wrong in the small (a hold for a row that ended
// in between) the next pass finds and mends.
func (k *Keeper) Reconcile(ctx context.Context, s *sale.Sale) (Reconciled, error) {
	var sum Reconciled
	settings, err := k.Orders.Settings(ctx, s.ID)
	if err == nil {
		sum, err = k.repair(ctx, stock.Of(s))
	}
	if err == nil {
		err = k.compare(ctx, stock.Of(s), &sum)
	}
	if err == nil && len(settings.Doubts) > 0 {
		// Only doubts of the settings read first: a later one waits for its own pass.
		if err = k.Orders.LiftDoubts(ctx, s.ID, settings.Version, "stockkeeper"); err == nil {
			err = k.Govern(ctx, s.ID)
		}
	}
	if err != nil {
		return sum, fmt.Errorf("recovery: reconcile sale %d: %w", s.ID, err)
	}
	return sum, nil
}

// compare matches holds and rows by order id.
func (k *Keeper) compare(ctx context.Context, shards stock.Shards, sum *Reconciled) error {
	held := map[sale.OrderID]stock.Hold{}
	for shard := range shards.N {
		holds, err := k.Stock.Holds(ctx, shards, shard)
		if err != nil {
			return err
		}
		for _, h := range holds {
			held[h.OrderID] = h
		}
	}
	active, err := k.Orders.Active(ctx, shards.Sale)
	if err != nil {
		return err
	}
	var unheld []sale.OrderID
	for _, row := range active {
		if _, ok := held[row.ID]; ok {
			delete(held, row.ID)
			continue
		}
		unheld = append(unheld, row.ID)
	}
	adopted, err := k.adopt(ctx, shards, unheld)
	sum.Adopted += adopted
	if err != nil {
		return err
	}
	released, err := k.releaseEnded(ctx, shards, held)
	sum.Released += released
	return err
}

// adopt puts back the holds of rows that live. The rows are read once more:
// most of them ended since the holds were read, rather than losing theirs.
func (k *Keeper) adopt(ctx context.Context, shards stock.Shards, ids []sale.OrderID) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	rows, err := k.Orders.Orders(ctx, ids)
	if err != nil {
		return 0, err
	}
	var placed []sale.Placed
	for _, row := range rows {
		if row.State.Active() {
			placed = append(placed, sale.Placed{
				OrderID: row.ID, SaleID: row.SaleID, ItemID: row.ItemID, UserID: row.UserID, ReservedAt: row.ReservedAt,
			})
		}
	}
	outcomes, err := k.Stock.Adopt(ctx, shards, placed)
	if err != nil {
		return 0, err
	}
	var confirm []stock.Confirmation
	for i, p := range placed {
		// Superseded: the shopper holds another order, which the writer will reject.
		if outcomes[i] == stock.Claimed {
			confirm = append(confirm, stock.Confirmation{OrderID: p.OrderID, UserID: p.UserID, PayBy: rows[p.OrderID].PayBy})
		}
	}
	return len(confirm), k.Stock.Confirm(ctx, shards, confirm)
}

// releaseEnded frees the holds of rows that are final. A hold without a row is
// on its way, and the sweep's business.
func (k *Keeper) releaseEnded(ctx context.Context, shards stock.Shards, held map[sale.OrderID]stock.Hold) (int, error) {
	ids := make([]sale.OrderID, 0, len(held))
	for id := range held {
		ids = append(ids, id)
	}
	rows, err := k.Orders.Orders(ctx, ids)
	if err != nil {
		return 0, err
	}
	ended := map[stock.ReleaseMode][]stock.Held{}
	for id, row := range rows {
		if mode, ok := releaseMode(row.State); ok {
			ended[mode] = append(ended[mode], stock.Held{OrderID: id, UserID: held[id].UserID})
		}
	}
	released := 0
	for mode, orders := range ended {
		outcomes, err := k.Stock.Release(ctx, shards, mode, orders)
		if err != nil {
			return released, err
		}
		for _, o := range outcomes {
			if o == stock.Released {
				released++
			}
		}
	}
	return released, nil
}

// releaseMode is how the hold of an order in that state is released; false for
// an order that keeps its hold.
func releaseMode(state order.State) (stock.ReleaseMode, bool) {
	switch state {
	case order.Rejected:
		return stock.Rejected, true
	case order.Expired, order.Cancelled:
		return stock.Settled, true
	default:
		return "", false
	}
}

func lostIfNotLoaded(err error) error {
	if errors.Is(err, stock.ErrNotLoaded) {
		return ErrLost
	}
	return err
}
