package order

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

// ErrNotCancellable says that the order is PAID, EXPIRED or REJECTED.
var ErrNotCancellable = errors.New("order: not cancellable")

// Cancel ends a shopper's unpaid order. Again is fine: the answer is the same.
// The unit waits in the releases, and as long as it does back names it: one
// release, or none. Someone else's order is [ErrUnknownOrder].
func (s *Store) Cancel(ctx context.Context, id sale.OrderID, userID string) (o Order, back []Release, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		if err := s.endPending(ctx, tx, id, userID); err != nil {
			return err
		}
		// What is there now is what this or an earlier call has made of it.
		rows, err := tx.Query(ctx, `SELECT `+orderColumns+` FROM flash_sale_order
			WHERE id = $1::uuid AND user_id = $2::text`, uuid(id), userID)
		if err != nil {
			return err
		}
		o, err = pgx.CollectExactlyOneRow(rows, scanOrder)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return ErrUnknownOrder
		case err != nil:
			return err
		case o.State != Cancelled:
			return ErrNotCancellable
		}
		rows, err = tx.Query(ctx, `
			SELECT r.id, r.order_id, r.user_id, r.sale_id, s.shards
			FROM stock_release r JOIN flash_sale s ON s.id = r.sale_id
			WHERE r.order_id = $1::uuid`, uuid(id))
		if err != nil {
			return err
		}
		back, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Release])
		return err
	})
	switch {
	case errors.Is(err, ErrNotCancellable):
		return Order{}, nil, ErrNotCancellable
	case err != nil:
		return Order{}, nil, wrap("cancel", err)
	}
	return o, back, nil
}

// endPending is the transition; an order that is not PENDING it leaves alone.
func (s *Store) endPending(ctx context.Context, tx pgx.Tx, id sale.OrderID, userID string) error {
	_, err := tx.Exec(ctx, `
		WITH clock AS (
			SELECT date_trunc('milliseconds', COALESCE($3::timestamptz, now())) AS now
		), ended AS (
			UPDATE flash_sale_order o SET status = 'CANCELLED', settled_at = clock.now FROM clock
			WHERE o.id = $1::uuid AND o.user_id = $2::text AND o.status = 'PENDING'
			RETURNING o.id, o.sale_id, o.item_id, o.user_id, o.settled_at, order_event_payload(o) AS payload
		), given_back AS (
			INSERT INTO stock_release (order_id, sale_id, user_id, created_at)
			SELECT id, sale_id, user_id, settled_at FROM ended
		), told AS (
			INSERT INTO order_event (order_id, sale_id, kind, at, payload)
			SELECT id, sale_id, 'cancelled', settled_at, payload FROM ended
		)
		UPDATE flash_sale_item i SET sold = sold - 1 FROM ended WHERE i.id = ended.item_id`,
		uuid(id), userID, s.now())
	return err
}
