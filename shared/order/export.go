package order

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

// An Export is an order with all that a shop books it by.
type Export struct {
	Order
	ProductID int64
	PaymentID string // of the payment that made it PAID
}

// Export returns a sale's orders with an id over after, by id, at most limit.
func (s *Store) Export(ctx context.Context, id sale.ID, after sale.OrderID, limit int) ([]Export, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT o.id, o.sale_id, o.item_id, o.user_id, o.status, COALESCE(o.reason, ''), o.price_minor, o.currency,
		       o.reserved_at, o.created_at, o.expires_at, o.settled_at, i.product_id, COALESCE(p.payment_id, '')
		FROM flash_sale_order o JOIN flash_sale_item i ON i.id = o.item_id
		LEFT JOIN payment p ON p.order_id = o.id AND p.outcome = 'paid'
		WHERE o.sale_id = $1::bigint AND o.id > $2::uuid
		ORDER BY o.id LIMIT $3::bigint`, int64(id), uuid(after), int64(limit))
	if err != nil {
		return nil, wrap("export", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Export, error) {
		var e Export
		var payBy, settledAt *time.Time
		err := row.Scan(&e.ID, &e.SaleID, &e.ItemID, &e.UserID, &e.State, &e.Reason, &e.PriceMinor, &e.Currency,
			&e.ReservedAt, &e.CreatedAt, &payBy, &settledAt, &e.ProductID, &e.PaymentID)
		e.ReservedAt, e.CreatedAt = e.ReservedAt.UTC(), e.CreatedAt.UTC()
		e.PayBy, e.SettledAt = utcOrZero(payBy), utcOrZero(settledAt)
		return e, err
	})
	return found, wrap("export", err)
}

// A Refund is money that is due back.
type Refund struct {
	WebhookID   string // the event that brought it
	PaymentID   string
	OrderID     sale.OrderID
	ItemID      sale.ItemID // 0, like what follows, for an order that has no row
	UserID      string
	State       State
	AmountMinor int64 // in the currency's smallest unit
	Currency    string
	ReceivedAt  time.Time
}

// Refunds returns a sale's refunds due with a webhook id over after, by webhook
// id, at most limit.
func (s *Store) Refunds(ctx context.Context, id sale.ID, after string, limit int) ([]Refund, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT p.webhook_id, p.payment_id, p.order_id, COALESCE(o.item_id, 0), COALESCE(o.user_id, ''), COALESCE(o.status, ''),
		       p.amount_minor, p.currency, p.received_at
		FROM payment p LEFT JOIN flash_sale_order o ON o.id = p.order_id
		WHERE p.sale_id = $1::bigint AND p.refund_due AND p.webhook_id > $2::text
		ORDER BY p.webhook_id LIMIT $3::bigint`, int64(id), after, int64(limit))
	if err != nil {
		return nil, wrap("refunds", err)
	}
	due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Refund, error) {
		r, err := pgx.RowToStructByPos[Refund](row)
		r.ReceivedAt = r.ReceivedAt.UTC()
		return r, err
	})
	return due, wrap("refunds", err)
}
