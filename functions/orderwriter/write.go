package orderwriter

import (
	"context"
	"errors"

	"flashsale/shared/order"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// reasonForeign is in the letter of a record whose order id has another's row.
const reasonForeign = "the order id is another order's"

// write makes the rows of all claimed records in one transaction and then tells
// Redis how each ended. If Redis does not hear it, the records come again: the
// rows are known by then, and only the telling is repeated.
func (b *batch) write(ctx context.Context, entries []entry, how func(context.Context, []sale.Placed) ([]order.Written, error)) {
	if len(entries) == 0 {
		return
	}
	written, err := how(ctx, placedOf(entries))
	if err != nil {
		b.fail(ctx, "write", err, entries...)
		return
	}
	ends := map[stock.Shards]*ending{}
	for i, e := range entries {
		b.count(written[i])
		end := ends[e.shards]
		if end == nil {
			end = &ending{}
			ends[e.shards] = end
		}
		end.add(e, written[i])
	}
	for sh, end := range ends {
		if err := b.tell(ctx, sh, end); err != nil {
			b.fail(ctx, "confirm", err, end.entries...)
			continue
		}
		for _, e := range end.foreign {
			b.deadLetter(ctx, e)
		}
	}
	b.move(ctx, ends)
}

// move gives units to shards that wish for some: while a sale runs, the writer
// comes by more often than the stockkeeper. The records are done with, so what
// fails here fails none of them; the stockkeeper does it too.
func (b *batch) move(ctx context.Context, ends map[stock.Shards]*ending) {
	ctx, cancel := context.WithTimeout(ctx, moveTime)
	defer cancel()
	for sh := range ends {
		if _, err := b.keeper().Move(ctx, sh); err != nil {
			b.Log.WarnContext(ctx, "units were not moved between shards", "saleId", sh.Sale, "error", err)
		}
	}
}

func (b *batch) count(w order.Written) {
	switch w.Result {
	case order.ResultNew:
		b.written++
	case order.ResultKnown:
		b.known++
	case order.ResultForeign: // counts as a dead letter
	default:
		b.rejected++
	}
}

// An ending is what Redis must hear of one sale's rows.
type ending struct {
	entries  []entry
	foreign  []entry // with the id of an order that is not theirs
	confirm  []stock.Confirmation
	settled  []stock.Held // expired or cancelled before the record came again, or foreign
	rejected []stock.Held
	doubtful bool // the guard refused an order that Redis had a unit for
}

func (d *ending) add(e entry, w order.Written) {
	d.entries = append(d.entries, e)
	held := stock.Held{OrderID: e.placed.OrderID, UserID: e.placed.UserID}
	if w.Result == order.ResultForeign {
		e.reason = reasonForeign
		d.foreign = append(d.foreign, e)
		// What the claim gave this shopper under the id of another's order goes back.
		// No tombstone: it would be one for the other's record too. A shopper's own
		// order that the record gives another item has its hold, and that stays.
		if w.State == "" {
			d.settled = append(d.settled, held)
		}
	}
	switch w.State {
	case order.Pending, order.Paid:
		d.confirm = append(d.confirm, stock.Confirmation{OrderID: held.OrderID, UserID: held.UserID, PayBy: w.PayBy})
	case order.Expired, order.Cancelled:
		d.settled = append(d.settled, held)
	case order.Rejected:
		d.rejected = append(d.rejected, held)
		d.doubtful = d.doubtful || w.Reason == order.ReasonGuard
	}
}

func (b *batch) tell(ctx context.Context, sh stock.Shards, end *ending) error {
	if len(end.confirm) > 0 {
		if err := b.Stock.Confirm(ctx, sh, end.confirm); err != nil {
			return err
		}
	}
	// The doubt before the unit: else the phantom is sold again at once.
	if end.doubtful {
		// A lost shard sells nothing anyway, and its rebuild waits for this very record.
		if err := b.keeper().Govern(ctx, sh.Sale); err != nil && !errors.Is(err, recovery.ErrLost) {
			return err
		}
	}
	for mode, held := range map[stock.ReleaseMode][]stock.Held{stock.Settled: end.settled, stock.Rejected: end.rejected} {
		if len(held) == 0 {
			continue
		}
		if _, err := b.Stock.Release(ctx, sh, mode, held); err != nil {
			return err
		}
	}
	return nil
}

// keeper moves units and tells the shards what governs them; it publishes nothing.
func (b *batch) keeper() *recovery.Keeper {
	return &recovery.Keeper{Orders: b.Orders, Stock: b.Stock}
}

// apart keeps the order of both parts.
func apart(entries []entry) (fresh, known []entry) {
	for _, e := range entries {
		if e.known {
			known = append(known, e)
		} else {
			fresh = append(fresh, e)
		}
	}
	return fresh, known
}

func bySale(entries []entry) map[stock.Shards][]entry {
	groups := map[stock.Shards][]entry{}
	for _, e := range entries {
		groups[e.shards] = append(groups[e.shards], e)
	}
	return groups
}

func placedOf(entries []entry) []sale.Placed {
	placed := make([]sale.Placed, len(entries))
	for i, e := range entries {
		placed[i] = e.placed
	}
	return placed
}

func idsOf(entries []entry) []sale.OrderID {
	ids := make([]sale.OrderID, len(entries))
	for i, e := range entries {
		ids[i] = e.placed.OrderID
	}
	return ids
}
