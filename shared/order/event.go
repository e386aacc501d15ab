package order

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// relayLock is the advisory lock of the one who publishes events.
const relayLock = 7_205_759_405

// RelayEvents hands the oldest events that are not published, at most limit, to
// publish and notes that they are; n tells how many. They come in their orders'
// sequence. An event is handed out again until publish has succeeded and that is
// noted, so the shop may see it twice. While another relay is at work it is 0.
func (s *Store) RelayEvents(ctx context.Context, limit int, publish func(context.Context, []Event) error) (n int, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		n = 0
		// Two relays at once could publish an order's second event before its first.
		var mine bool
		err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1::bigint)`, int64(relayLock)).Scan(&mine)
		if err != nil || !mine {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT id, order_id, kind, at, payload FROM order_event
			WHERE published_at IS NULL ORDER BY id LIMIT $1::bigint`, int64(limit))
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
