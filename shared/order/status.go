package order

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

// orderColumns are scanned by scanOrder.
const orderColumns = `id, sale_id, item_id, user_id, status, COALESCE(reason, ''), price_minor, currency,
	reserved_at, created_at, expires_at, settled_at`

// An Event is one change of an order, as the shop is told of it.
type Event struct {
	ID      int64 // 0 for placed, unless it has a row of its own
	OrderID sale.OrderID
	Kind    string // placed, paid, expired, cancelled, rejected, refund_due
	At      time.Time
	Payload json.RawMessage // {"itemId"?,"userId"?,"priceMinor","currency","reason"?,"paymentId"?}
}

// Order returns a shopper's order. Someone else's is [ErrUnknownOrder] too.
func (s *Store) Order(ctx context.Context, id sale.OrderID, userID string) (Order, error) {
	o, err := s.one(ctx, `id = $1::uuid AND user_id = $2::text`, uuid(id), userID)
	return o, wrap("read order", err)
}

// MyOrder returns the shopper's order in a sale: the active one, else the
// newest, else [ErrUnknownOrder].
func (s *Store) MyOrder(ctx context.Context, id sale.ID, userID string) (Order, error) {
	o, err := s.one(ctx, `sale_id = $1::bigint AND user_id = $2::text
		ORDER BY status IN ('PENDING', 'PAID') DESC, created_at DESC, id DESC LIMIT 1`, int64(id), userID)
	return o, wrap("read my order", err)
}

// Orders returns those of the orders that have a row.
func (s *Store) Orders(ctx context.Context, ids []sale.OrderID) (map[sale.OrderID]Order, error) {
	found, err := s.many(ctx, `id = ANY($1::uuid[])`, uuids(ids))
	if err != nil {
		return nil, wrap("read orders", err)
	}
	byID := make(map[sale.OrderID]Order, len(found))
	for _, o := range found {
		byID[o.ID] = o
	}
	return byID, nil
}

// Active returns a sale's PENDING and PAID orders: what Redis must hold.
func (s *Store) Active(ctx context.Context, id sale.ID) ([]Order, error) {
	found, err := s.many(ctx, `sale_id = $1::bigint AND status IN ('PENDING', 'PAID')`, int64(id))
	return found, wrap("read active orders", err)
}

// History returns all of a shopper's orders in a sale, oldest first, and what
// happened to them, by time. That an order was placed its own row says.
func (s *Store) History(ctx context.Context, id sale.ID, userID string) ([]Order, []Event, error) {
	orders, err := s.many(ctx, `sale_id = $1::bigint AND user_id = $2::text ORDER BY created_at, id`, int64(id), userID)
	if err != nil {
		return nil, nil, wrap("history", err)
	}
	ids := make([]sale.OrderID, len(orders))
	for i, o := range orders {
		ids[i] = o.ID
	}
	rows, err := s.pool.Query(ctx, `
		SELECT 0 AS id, o.id AS order_id, 'placed' AS kind, o.created_at AS at, order_event_payload(o) AS payload
		FROM flash_sale_order o WHERE o.id = ANY($1::uuid[]) AND o.status <> 'REJECTED'
		UNION ALL
		SELECT id, order_id, kind, at, payload FROM order_event
		WHERE order_id = ANY($1::uuid[]) AND kind <> 'placed'
		ORDER BY at, id`, uuids(ids))
	if err != nil {
		return nil, nil, wrap("history", err)
	}
	events, err := pgx.CollectRows(rows, scanEvent)
	return orders, events, wrap("history", err)
}

func (s *Store) one(ctx context.Context, condition string, args ...any) (Order, error) {
	found, err := s.many(ctx, condition, args...)
	if err == nil && len(found) == 0 {
		err = ErrUnknownOrder
	}
	if err != nil {
		return Order{}, err
	}
	return found[0], nil
}

func (s *Store) many(ctx context.Context, condition string, args ...any) ([]Order, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+orderColumns+` FROM flash_sale_order WHERE `+condition, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanOrder)
}

func scanOrder(row pgx.CollectableRow) (Order, error) {
	var o Order
	var payBy, settledAt *time.Time
	err := row.Scan(&o.ID, &o.SaleID, &o.ItemID, &o.UserID, &o.State, &o.Reason, &o.PriceMinor, &o.Currency,
		&o.ReservedAt, &o.CreatedAt, &payBy, &settledAt)
	o.ReservedAt, o.CreatedAt = o.ReservedAt.UTC(), o.CreatedAt.UTC()
	o.PayBy, o.SettledAt = utcOrZero(payBy), utcOrZero(settledAt)
	return o, err
}

func utcOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
