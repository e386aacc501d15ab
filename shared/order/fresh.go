package order

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"flashsale/shared/sale"
)

// insertNew writes rows and what the shop has to be told, and answers each sale's
// payBy. A row that is there, a shopper with another order, an unknown item (its
// price is NULL): each breaks a rule of the table. Sorted by shopper, so that two
// writers with the same shoppers wait for each other one way only.
const insertNew = `
	WITH terms AS MATERIALIZED (
		SELECT i.id, i.sale_id, i.price_minor, i.currency, clock.now, clock.now + s.payment_window AS pay_by
		FROM flash_sale_item i JOIN flash_sale s ON s.id = i.sale_id AND s.archived_at IS NULL
		CROSS JOIN (SELECT date_trunc('milliseconds', COALESCE($6::timestamptz, now())) AS now) clock
		WHERE i.id = ANY($3::bigint[])
	), written AS (
		INSERT INTO flash_sale_order (id, sale_id, item_id, user_id, status, price_minor, currency,
		                              reserved_at, created_at, expires_at)
		SELECT p.id, p.sale_id, p.item_id, p.user_id, 'PENDING', t.price_minor, t.currency,
		       p.reserved_at, t.now, t.pay_by
		FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::timestamptz[])
		     AS p (id, sale_id, item_id, user_id, reserved_at)
		LEFT JOIN terms t ON t.id = p.item_id AND t.sale_id = p.sale_id
		ORDER BY p.sale_id, p.user_id COLLATE "C"
	), told AS (
		INSERT INTO order_placed (order_ids) VALUES ($1::uuid[])
	)
	SELECT DISTINCT sale_id, pay_by FROM terms`

// writeNew is the way of nearly every batch: its orders are all new, and all fit. It takes one round trip, so the item's row is not locked while
// anything travels. Otherwise it is false and nothing is written: some rule was broken,
// and which one is for the careful way to find out.
func (s *Store) writeNew(ctx context.Context, b *batch) (bool, error) {
	var all pgx.Batch // one transaction, since none of its statements begins one
	payBy := make(map[sale.ID]time.Time)
	all.Queue(insertNew, append(columns(b.placed), s.now())...).Query(func(rows pgx.Rows) error {
		var id sale.ID
		var at time.Time
		_, err := pgx.ForEachRow(rows, []any{&id, &at}, func() error {
			payBy[id] = at.UTC()
			return nil
		})
		return err
	})
	byItem := perItem(b.placed)
	for _, item := range slices.Sorted(maps.Keys(byItem)) {
		// chk_not_oversold is the guard.
		all.Queue(`UPDATE flash_sale_item SET sold = sold + $2::bigint WHERE id = $1::bigint`, int64(item), byItem[item])
	}
	err := s.pool.SendBatch(ctx, &all).Close()
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, p := range b.placed {
		b.written[p.OrderID] = Written{Result: ResultNew, State: Pending, PayBy: payBy[p.SaleID]}
	}
	return true, nil
}

func perItem(placed []sale.Placed) map[sale.ItemID]int64 {
	counts := make(map[sale.ItemID]int64)
	for _, p := range placed {
		counts[p.ItemID]++
	}
	return counts
}
