package order

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// relayLock is the advisory lock of the one who publishes events.
const relayLock = 7_205_759_405

// waiting takes what the shop has not been told: first whole batches of placed
// orders until they make $1, then other events, by id, up to $1 together. All is of
// one snapshot: so whatever happened to an order comes after its placing. A placed
// order whose row somebody has deleted since is not told of.
const waiting = `
	WITH batches AS MATERIALIZED (
		SELECT id, order_ids, sum(cardinality(order_ids)) OVER (ORDER BY id) AS through
		FROM order_placed ORDER BY id LIMIT $1::bigint
	), first AS MATERIALIZED (
		SELECT id, order_ids FROM batches WHERE through - cardinality(order_ids) < $1::bigint
	), told AS (
		DELETE FROM order_placed WHERE id IN (SELECT id FROM first)
	)
	SELECT 0 AS id, o.id AS order_id, 'placed' AS kind, o.created_at AS at, order_event_payload(o) AS payload
	FROM first CROSS JOIN unnest(first.order_ids) AS each (id) JOIN flash_sale_order o ON o.id = each.id
	UNION ALL
	(SELECT id, order_id, kind, at, payload FROM order_event WHERE published_at IS NULL
	 ORDER BY id LIMIT GREATEST(0, $1::bigint - (SELECT COALESCE(max(through), 0) FROM batches)))
	ORDER BY id, order_id`

// RelayEvents hands the oldest events that are not published, at most limit and the
// rest of a batch, to publish and notes that they are; n tells how many. They come in
// their orders' sequence. An event is handed out again until publish has succeeded
// and that is noted, so the shop may see it twice. While another relay is at work it
// is 0.
func (s *Store) RelayEvents(ctx context.Context, limit int, publish func(context.Context, []Event) error) (n int, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		n = 0
		// Two relays at once could publish an order's second event before its first.
		var mine bool
		err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1::bigint)`, int64(relayLock)).Scan(&mine)
		if err != nil || !mine {
			return err
		}
		rows, err := tx.Query(ctx, waiting, int64(limit))
		if err != nil {
			return err
		}
		events, err := pgx.CollectRows(rows, scanEvent)
		if err != nil || len(events) == 0 {
			return err
		}
		if err := publish(ctx, events); err != nil {
			return err
		}
		ids := make([]int64, len(events))
		for i, e := range events {
			ids[i] = e.ID
		}
		n = len(events)
		_, err = tx.Exec(ctx, `
			UPDATE order_event SET published_at = COALESCE($2::timestamptz, now())
			WHERE id = ANY($1::bigint[])`, ids, s.now())
		return err
	})
	if err != nil {
		return 0, wrap("relay events", err)
	}
	return n, nil
}

func scanEvent(row pgx.CollectableRow) (Event, error) {
	var e Event
	err := row.Scan(&e.ID, &e.OrderID, &e.Kind, &e.At, &e.Payload)
	e.At = e.At.UTC()
	return e, err
}
