package recovery

import (
	"context"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// fates sorts holds by what their rows say of them.
type fates struct {
	living  []stock.Confirmation               // PENDING or PAID
	over    map[stock.ReleaseMode][]stock.Held // final, or the row is another's
	rowless []stock.Hold
}

// fatesOf reads the holds' rows.
func (k *Keeper) fatesOf(ctx context.Context, holds []stock.Hold) (fates, error) {
	if len(holds) == 0 {
		return fates{}, nil
	}
	ids := make([]sale.OrderID, len(holds))
	for i, h := range holds {
		ids[i] = h.OrderID
	}
	rows, err := k.Orders.Orders(ctx, ids)
	if err != nil {
		return fates{}, err
	}
	f := fates{over: map[stock.ReleaseMode][]stock.Held{}}
	for _, h := range holds {
		row, written := rows[h.OrderID]
		held := stock.Held{OrderID: h.OrderID, UserID: h.UserID}
		mode, ended := releaseMode(row.State)
		switch {
		case !written:
			f.rowless = append(f.rowless, h)
		case !belongs(h, row): // the order itself may live: no tombstone
			f.over[stock.Settled] = append(f.over[stock.Settled], held)
		case ended:
			f.over[mode] = append(f.over[mode], held)
		default:
			f.living = append(f.living, stock.Confirmation{OrderID: h.OrderID, UserID: h.UserID, PayBy: row.PayBy})
		}
	}
	return f, nil
}

// release frees holds and tells how many units came back.
func (k *Keeper) release(ctx context.Context, shards stock.Shards, over map[stock.ReleaseMode][]stock.Held) (int, error) {
	released := 0
	for mode, orders := range over {
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
