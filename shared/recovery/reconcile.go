package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"flashsale/shared/order"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// Reconciled counts what a comparison of both sides mended.
type Reconciled struct {
	Adopted  int // living rows whose hold was lost
	Released int // holds whose row had ended, or was another's
	Repaired int // damage inside Redis: stock, quotas, settings, keys, holds that nobody looked after

	TransfersFinished int // moves between shards that stopped half-way
}

// Reconcile makes Redis agree with the rows: settings are asserted, damage inside
// a shard is mended by what the shard itself knows, so is the ledger, lost holds of
// living rows are put back, holds of ended rows are released, and holds without
// a row are left to the sweep. Items that were in doubt when it began are on
// sale again when it is through.
//
// It reads both sides one after the other while the sale goes on, so it may be
// overtaken. What it then does wrong in the small (a hold for a row that ended
// in between) the next pass finds and mends.
func (k *Keeper) Reconcile(ctx context.Context, s *sale.Sale) (Reconciled, error) {
	var sum Reconciled
	settings, err := k.Orders.Settings(ctx, s.ID)
	righted := 0
	if err == nil {
		righted, err = k.govern(ctx, s.ID)
	}
	if err == nil {
		sum, err = k.repair(ctx, stock.Of(s))
	}
	sum.Repaired += righted
	if err == nil {
		err = k.compare(ctx, stock.Of(s), &sum)
	}
	if err == nil {
		// The rows themselves: a count that is too low stops the expirer, one that
		// is too high the guard.
		var miscounted int
		miscounted, err = k.Orders.RecountSold(ctx, s.ID, "stockkeeper")
		sum.Repaired += miscounted
	}
	covered := len(settings.Doubts) > 0
	if err == nil && covered {
		covered, err = k.cover(ctx, stock.Of(s), settings.Doubts)
	}
	if err == nil && covered {
		// Only doubts of the settings read first: a later one waits for its own pass.
		err = k.Orders.LiftDoubts(ctx, s.ID, settings.Version, "stockkeeper")
	}
	// A repair drops damaged settings.
	if err == nil && (covered || sum.Repaired > 0) {
		err = k.Govern(ctx, s.ID)
	}
	if err != nil {
		return sum, fmt.Errorf("recovery: reconcile sale %d: %w", s.ID, err)
	}
	return sum, nil
}

// compare matches holds and rows. A shopper has one hold, in one shard. Holds are
// released first: one may be in the way of the shopper's living row.
func (k *Keeper) compare(ctx context.Context, shards stock.Shards, sum *Reconciled) error {
	held := map[string]stock.Hold{} // by shopper
	for shard := range shards.N {
		holds, err := k.Stock.Holds(ctx, shards, shard)
		if err != nil {
			return err
		}
		for _, h := range holds {
			held[h.UserID] = h
		}
		dropped, err := k.Stock.DropWinners(ctx, shards, shard, holds)
		if err != nil {
			return err
		}
		if dropped {
			sum.Repaired++
		}
	}
	active, err := k.Orders.Active(ctx, shards.Sale)
	if err != nil {
		return err
	}
	var unheld []sale.OrderID
	for _, row := range active {
		if h, ok := held[row.UserID]; ok && belongs(h, row) {
			delete(held, row.UserID)
			continue
		}
		unheld = append(unheld, row.ID)
	}
	if err := k.settle(ctx, shards, slices.Collect(maps.Values(held)), sum); err != nil {
		return err
	}
	adopted, err := k.adopt(ctx, shards, unheld)
	sum.Adopted += adopted
	return err
}

// holdable tells whether a hold can name the row. One that somebody made by hand
// may have no order id, shopper or item that can be read back: its hold would be
// dropped as damage, and put back, and each round would cost a unit.
func holdable(row order.Order) bool {
	id, err := sale.ParseOrderID(row.ID.String())
	return err == nil && id.SaleID() == row.SaleID && sale.ValidUserID(row.UserID) && row.ItemID > 0
}

// belongs tells whether the hold is the row's: an order id alone may have been
// written to anybody's hold.
func belongs(h stock.Hold, row order.Order) bool {
	return h.OrderID == row.ID && h.ItemID == row.ItemID && h.UserID == row.UserID
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
		if row.State.Active() && holdable(row) {
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
		if outcomes[i] == stock.Claimed || outcomes[i] == stock.Confirmed {
			confirm = append(confirm, stock.Confirmation{OrderID: p.OrderID, UserID: p.UserID, PayBy: rows[p.OrderID].PayBy})
		}
	}
	return len(confirm), k.Stock.Confirm(ctx, shards, confirm)
}

// settle frees the holds whose rows are final or another's. A hold without a row
// is on its way and the sweep's business, which looks at the outbox alone: one
// that is not in it lost its entry, or the database its row.
func (k *Keeper) settle(ctx context.Context, shards stock.Shards, holds []stock.Hold, sum *Reconciled) error {
	f, err := k.fatesOf(ctx, holds)
	if err != nil {
		return err
	}
	released, err := k.release(ctx, shards, f.over)
	sum.Released += released
	if err != nil {
		return err
	}
	back, err := k.Stock.Unconfirm(ctx, shards, f.rowless)
	sum.Repaired += back
	return err
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
