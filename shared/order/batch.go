package order

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"flashsale/shared/sale"
)

// A Result says what became of one record of a batch.
type Result int

// The results of a record.
const (
	ResultNew         Result = iota + 1 // a PENDING row was written
	ResultKnown                         // the order had a row before; State says how it stands
	ResultRejected                      // a REJECTED row was written; Reason says why
	ResultUnknownItem                   // no such item in that sale: nothing was written
	ResultForeign                       // the order id is another order's, which stays as it is
)

// Written is the outcome of one record. State, PayBy and Reason are the row's;
// they are zero if there is none or it is another shopper's.
type Written struct {
	Result Result
	State  State
	PayBy  time.Time // zero for REJECTED
	Reason string    // only of REJECTED
}

// WriteBatch writes orders in one transaction and answers in the order given.
// Records may repeat, within a batch and over batches. Of those that do not fit
// into an item's quantity the first to arrive win, and the item is then in doubt.
// After an error the outcome is unknown; the same batch may be written again.
func (s *Store) WriteBatch(ctx context.Context, placed []sale.Placed) ([]Written, error) {
	if len(placed) == 0 {
		return nil, nil
	}
	b := newBatch(placed)
	done, err := s.writeNew(ctx, b)
	if err == nil && !done {
		err = s.writeAny(ctx, b)
	}
	if err != nil {
		return nil, wrap("write batch", err)
	}
	return b.answer(placed), nil
}

// WriteAgain is WriteBatch for orders that have rows already, most likely.
func (s *Store) WriteAgain(ctx context.Context, placed []sale.Placed) ([]Written, error) {
	if len(placed) == 0 {
		return nil, nil
	}
	b := newBatch(placed)
	if err := s.writeAny(ctx, b); err != nil {
		return nil, wrap("write again", err)
	}
	return b.answer(placed), nil
}

// writeAny is the careful way, of a batch with others than new orders.
func (s *Store) writeAny(ctx context.Context, b *batch) error {
	return s.change(ctx, func(tx pgx.Tx) error {
		if err := b.insert(ctx, tx, s.now()); err != nil {
			return err
		}
		if err := b.resolve(ctx, tx, s.now()); err != nil {
			return err
		}
		return b.count(ctx, tx, s)
	})
}

// A batch is the work of one write: its distinct orders, by arrival.
type batch struct {
	placed  []sale.Placed
	written map[sale.OrderID]Written
	rows    map[sale.OrderID]Order // whose each row is; the states are in written
}

func newBatch(placed []sale.Placed) *batch {
	b := &batch{written: make(map[sale.OrderID]Written, len(placed)), rows: make(map[sale.OrderID]Order, len(placed))}
	for _, p := range placed {
		if _, again := b.written[p.OrderID]; !again {
			b.written[p.OrderID] = Written{}
			b.rows[p.OrderID] = Order{ID: p.OrderID, SaleID: p.SaleID, ItemID: p.ItemID, UserID: p.UserID}
			b.placed = append(b.placed, p)
		}
	}
	return b
}

// insert writes the rows that no unique rule refuses. Sorted by shopper, so that
// two writers with the same shoppers wait for each other one way only.
func (b *batch) insert(ctx context.Context, tx pgx.Tx, now *time.Time) error {
	rows, err := tx.Query(ctx, `
		INSERT INTO flash_sale_order (id, sale_id, item_id, user_id, status, price_minor, currency,
		                              reserved_at, created_at, expires_at)
		SELECT p.id, p.sale_id, p.item_id, p.user_id, 'PENDING', i.price_minor, i.currency,
		       p.reserved_at, clock.now, clock.now + s.payment_window
		FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::timestamptz[])
		     WITH ORDINALITY AS p (id, sale_id, item_id, user_id, reserved_at, place)
		JOIN flash_sale_item i ON i.id = p.item_id AND i.sale_id = p.sale_id
		JOIN flash_sale s ON s.id = p.sale_id AND s.archived_at IS NULL
		CROSS JOIN (SELECT date_trunc('milliseconds', COALESCE($6::timestamptz, now())) AS now) clock
		ORDER BY p.sale_id, p.user_id COLLATE "C", p.place
		ON CONFLICT DO NOTHING
		RETURNING id, expires_at`, append(columns(b.placed), now)...)
	if err != nil {
		return err
	}
	var id sale.OrderID
	var payBy time.Time
	_, err = pgx.ForEachRow(rows, []any{&id, &payBy}, func() error {
		b.written[id] = Written{Result: ResultNew, State: Pending, PayBy: payBy.UTC()}
		return nil
	})
	return err
}

// resolve finds out why the others were refused. An order that has no row by
// now lost to its shopper's active order, or its item is unknown.
func (b *batch) resolve(ctx context.Context, tx pgx.Tx, now *time.Time) error {
	refused := b.with(0)
	if len(refused) == 0 {
		return nil
	}
	// Two statements: the second sees what other writers committed while the first waited.
	var both pgx.Batch
	both.Queue(insertRejected, append(columns(refused), ReasonSecondOrder, now)...).Query(func(rows pgx.Rows) error {
		rejected, err := pgx.CollectRows(rows, pgx.RowTo[sale.OrderID])
		for _, id := range rejected {
			b.written[id] = rejectedNow(ReasonSecondOrder)
		}
		return err
	})
	both.Queue(`SELECT `+orderColumns+` FROM flash_sale_order WHERE id = ANY($1::uuid[])`, idsOf(refused)).Query(func(rows pgx.Rows) error {
		known, err := pgx.CollectRows(rows, scanOrder)
		for _, o := range known {
			if b.written[o.ID].Result == 0 {
				b.written[o.ID] = Written{ResultKnown, o.State, o.PayBy, o.Reason}
				b.rows[o.ID] = o
			}
		}
		return err
	})
	if err := tx.SendBatch(ctx, &both).Close(); err != nil {
		return err
	}
	for _, p := range b.with(0) {
		b.written[p.OrderID] = Written{Result: ResultUnknownItem}
	}
	return nil
}

// guarded is the guard: it counts $2 units as sold or, if they do not fit, none.
const guarded = `UPDATE flash_sale_item SET sold = sold + $2::bigint
	WHERE id = $1::bigint AND sold + $2::bigint <= quantity`

// tell writes the events of orders that this transaction wrote.
const tell = `
	INSERT INTO order_event (order_id, sale_id, kind, at, payload)
	SELECT id, sale_id, CASE status WHEN 'PENDING' THEN 'placed' ELSE 'rejected' END, created_at, order_event_payload(o)
	FROM flash_sale_order o WHERE id = ANY($1::uuid[]) ORDER BY id`

// count adds the new orders to their items' sold counts and writes the events,
// all in one round trip. If an item is full, that is undone and done again order by order.
func (b *batch) count(ctx context.Context, tx pgx.Tx, s *Store) error {
	fresh := b.with(ResultNew)
	byItem := perItem(fresh)
	told := idsOf(slices.Concat(fresh, b.with(ResultRejected)))
	if len(told) == 0 {
		return nil
	}
	var guards pgx.Batch
	guards.Queue(`SAVEPOINT guard`)
	full := false
	for _, item := range slices.Sorted(maps.Keys(byItem)) {
		guards.Queue(guarded, int64(item), byItem[item]).Exec(func(tag pgconn.CommandTag) error {
			full = full || tag.RowsAffected() == 0
			return nil
		})
	}
	guards.Queue(tell, told)
	if err := tx.SendBatch(ctx, &guards).Close(); err != nil || !full {
		return err
	}
	if _, err := tx.Exec(ctx, `ROLLBACK TO SAVEPOINT guard`); err != nil {
		return err
	}
	return b.countEach(ctx, tx, s, told)
}

// with returns the distinct orders that have this result so far, by arrival.
func (b *batch) with(result Result) []sale.Placed {
	var some []sale.Placed
	for _, p := range b.placed {
		if b.written[p.OrderID].Result == result {
			some = append(some, p)
		}
	}
	return some
}

// answer repeats each order's outcome for each of its records: where the first
// wrote the row, the others find it there, be it theirs or not.
func (b *batch) answer(placed []sale.Placed) []Written {
	out := make([]Written, len(placed))
	for i, p := range placed {
		w, row := b.written[p.OrderID], b.rows[p.OrderID]
		switch {
		case row.Is(p) || w.Result == ResultUnknownItem:
			out[i] = w
		case row.SaleID == p.SaleID && row.UserID == p.UserID:
			out[i] = Written{ResultForeign, w.State, w.PayBy, w.Reason}
		default:
			out[i] = Written{Result: ResultForeign}
		}
		if w.Result == ResultNew || w.Result == ResultRejected {
			w.Result = ResultKnown
			b.written[p.OrderID] = w
		}
	}
	return out
}

// Is tells whether the row is the one that such a record makes. The order id
// alone does not say so: a record that somebody made by hand may have any.
func (o Order) Is(p sale.Placed) bool {
	return o.ID == p.OrderID && o.SaleID == p.SaleID && o.ItemID == p.ItemID && o.UserID == p.UserID
}

func rejectedNow(reason string) Written {
	return Written{Result: ResultRejected, State: Rejected, Reason: reason}
}
