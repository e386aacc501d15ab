package order

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Expire ends unpaid orders whose payment window and grace are over, at most
// limit of them, the longest overdue first. Their units wait in the releases.
// Two at once share the work.
func (s *Store) Expire(ctx context.Context, limit int) (expired int, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		// The first condition is for the index, the second one decides.
		rows, err := tx.Query(ctx, `
			WITH clock AS (
				SELECT date_trunc('milliseconds', COALESCE($1::timestamptz, now())) AS now
			), due AS (
				SELECT o.id FROM flash_sale_order o JOIN flash_sale s ON s.id = o.sale_id
				WHERE o.status = 'PENDING' AND o.expires_at <= (SELECT now FROM clock)
				  AND o.expires_at + s.grace <= (SELECT now FROM clock)
				ORDER BY o.expires_at LIMIT $2::bigint
				FOR NO KEY UPDATE OF o SKIP LOCKED
			), ended AS (
				UPDATE flash_sale_order o SET status = 'EXPIRED', settled_at = clock.now
				FROM clock, due WHERE o.id = due.id
				RETURNING o.id, o.sale_id, o.item_id, o.user_id, o.settled_at, order_event_payload(o) AS payload
			), given_back AS (
				INSERT INTO stock_release (order_id, sale_id, user_id, created_at)
				SELECT id, sale_id, user_id, settled_at FROM ended
			), told AS (
				INSERT INTO order_event (order_id, sale_id, kind, at, payload)
				SELECT id, sale_id, 'expired', settled_at, payload FROM ended
			)
			SELECT item_id, count(*) FROM ended GROUP BY item_id ORDER BY item_id`, s.now(), int64(limit))
		if err != nil {
			return err
		}
		expired = 0
		var item, n int64
		var lower pgx.Batch
		_, err = pgx.ForEachRow(rows, []any{&item, &n}, func() error {
			expired += int(n)
			lower.Queue(`UPDATE flash_sale_item SET sold = sold - $2::bigint WHERE id = $1::bigint`, item, n)
			return nil
		})
		if err != nil {
			return fmt.Errorf("end orders: %w", err)
		}
		// chk_not_oversold refuses a count below zero.
		return tx.SendBatch(ctx, &lower).Close()
	})
	if err != nil {
		return 0, wrap("expire", err)
	}
	return expired, nil
}
