package order

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// overdue are the orders to expire at $1. The first condition on expires_at is
// for the index, the second one decides.
const overdue = `
	FROM flash_sale_order o JOIN flash_sale s ON s.id = o.sale_id
	CROSS JOIN (SELECT date_trunc('milliseconds', COALESCE($1::timestamptz, now())) AS now) clock
	WHERE o.status = 'PENDING' AND o.expires_at <= clock.now AND o.expires_at + s.grace <= clock.now`

// Expire ends unpaid orders whose payment window and grace are over, at most
// limit of them, the longest overdue first. Their units wait in the releases.
// Two at once share the work.
//
// An item whose sold count somebody has spoilt may not be able to lower it. Then
// it goes on item by item, at most limit orders of each, and the error names
// those that failed; see [Store.RecountSold].
func (s *Store) Expire(ctx context.Context, limit int) (expired int, err error) {
	expired, err = s.expire(ctx, limit, nil)
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || refused.ConstraintName != "chk_not_oversold" {
		return expired, wrap("expire", err)
	}
	rows, err := s.pool.Query(ctx, `SELECT DISTINCT o.item_id `+overdue+` ORDER BY o.item_id`, s.now())
	if err != nil {
		return 0, wrap("expire", err)
	}
	items, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, wrap("expire", err)
	}
	var failed error
	for _, item := range items {
		n, err := s.expire(ctx, limit, &item)
		expired += n
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("item %d: %w", item, err))
		}
	}
	return expired, wrap("expire", failed)
}

// expire is one transaction, for one item or, with nil, for all.
func (s *Store) expire(ctx context.Context, limit int, only *int64) (expired int, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			WITH due AS (
				SELECT o.id, clock.now `+overdue+` AND ($3::bigint IS NULL OR o.item_id = $3::bigint)
				ORDER BY o.expires_at LIMIT $2::bigint
				FOR NO KEY UPDATE OF o SKIP LOCKED
			), ended AS (
				UPDATE flash_sale_order o SET status = 'EXPIRED', settled_at = due.now
				FROM due WHERE o.id = due.id
				RETURNING o.id, o.sale_id, o.item_id, o.user_id, o.settled_at, order_event_payload(o) AS payload
			), given_back AS (
				INSERT INTO stock_release (order_id, sale_id, user_id, created_at)
				SELECT id, sale_id, user_id, settled_at FROM ended
			), told AS (
				INSERT INTO order_event (order_id, sale_id, kind, at, payload)
				SELECT id, sale_id, 'expired', settled_at, payload FROM ended
			)
			SELECT item_id, count(*) FROM ended GROUP BY item_id ORDER BY item_id`, s.now(), int64(limit), only)
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
		return 0, err
	}
	return expired, nil
}
