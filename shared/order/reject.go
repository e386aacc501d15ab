package order

import (
	"context"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

// insertRejected writes final rows for $1 to $5 with the reason $6 at $7, where
// the item exists and the order has no row.
const insertRejected = `
	INSERT INTO flash_sale_order (id, sale_id, item_id, user_id, status, reason, price_minor, currency,
	                              reserved_at, created_at, settled_at)
	SELECT p.id, p.sale_id, p.item_id, p.user_id, 'REJECTED', $6::text, i.price_minor, i.currency,
	       p.reserved_at, clock.now, clock.now
	FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::timestamptz[])
	     AS p (id, sale_id, item_id, user_id, reserved_at)
	JOIN flash_sale_item i ON i.id = p.item_id AND i.sale_id = p.sale_id
	CROSS JOIN (SELECT date_trunc('milliseconds', COALESCE($7::timestamptz, now())) AS now) clock
	ORDER BY p.id
	ON CONFLICT DO NOTHING
	RETURNING id`

// Reject writes final rows for orders that cannot become PENDING any more. An
// order that has a row keeps it; one whose sale or item does not exist gets none.
func (s *Store) Reject(ctx context.Context, placed []sale.Placed, reason string) error {
	if len(placed) == 0 {
		return nil
	}
	err := s.change(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, insertRejected, append(columns(placed), reason, s.now())...)
		if err != nil {
			return err
		}
		rejected, err := pgx.CollectRows(rows, pgx.RowTo[sale.OrderID])
		if err != nil || len(rejected) == 0 {
			return err
		}
		_, err = tx.Exec(ctx, tell, uuids(rejected))
		return err
	})
	return wrap("reject", err)
}
