package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"flashsale/shared/sale"
)

// ErrNotWritten says that a payment came before its order's row. Nothing was
// stored, so the provider's next attempt counts as the first.
var ErrNotWritten = errors.New("order: not written yet")

// unknownAfter is how long a payment waits for its order's row. Older ones are
// of orders that will never be written, and their money is due back.
const unknownAfter = 15 * time.Minute

// The types of payment events.
const (
	PaymentSucceeded = "payment.succeeded"
	PaymentFailed    = "payment.failed"
)

// A Payment is one verified event of the payment provider. Several may tell of
// the same payment.
type Payment struct {
	WebhookID   string // names the event
	PaymentID   string // names the money
	OrderID     sale.OrderID
	Type        string // PaymentSucceeded or PaymentFailed
	AmountMinor int64  // in the currency's smallest unit
	Currency    string // ISO 4217
	At          time.Time
}

// An Outcome says what became of a payment event.
type Outcome string

// The outcomes of [Store.Pay]; chk_payment_outcome lists the same.
const (
	OutcomePaid      Outcome = "paid"       // the order is PAID by it
	OutcomeDuplicate Outcome = "duplicate"  // the event or its money was here before
	OutcomeFailed    Outcome = "failed"     // no money came
	OutcomeRefundDue Outcome = "refund_due" // money that pays nothing
)

// used finds a payment whose money has had its use.
const used = `EXISTS (SELECT FROM payment p WHERE p.payment_id = $1::text AND p.outcome IN ('paid', 'refund_due'))`

// Pay takes a payment event, in any sequence and however often it comes. A
// PENDING order becomes PAID if amount and currency are its own, whatever the
// time: until it is EXPIRED the money is welcome. Money that comes for anything
// else is due back. For an order that has no row, and may still get one, it is
// [ErrNotWritten].
func (s *Store) Pay(ctx context.Context, p Payment) (Outcome, error) {
	if p.Type != PaymentSucceeded && p.Type != PaymentFailed {
		return "", fmt.Errorf("order: pay: unknown type %q", p.Type)
	}
	var outcome Outcome
	err := s.change(ctx, func(tx pgx.Tx) (err error) {
		outcome, err = s.pay(ctx, tx, p)
		return err
	})
	if errors.Is(err, ErrNotWritten) {
		return "", ErrNotWritten
	}
	if err != nil {
		return "", wrap("pay", err)
	}
	return outcome, nil
}

func (s *Store) pay(ctx context.Context, tx pgx.Tx, p Payment) (Outcome, error) {
	stored, err := s.storePayment(ctx, tx, p)
	switch {
	case err != nil:
		return "", err
	case !stored:
		return OutcomeDuplicate, nil
	case p.Type == PaymentFailed:
		return OutcomeFailed, nil
	}
	paid, err := s.payPending(ctx, tx, p)
	if err != nil {
		return "", err
	}
	if paid {
		return OutcomePaid, nil
	}
	reason, err := s.whyNot(ctx, tx, p)
	if err != nil {
		return "", err
	}
	if reason == "" {
		_, err := tx.Exec(ctx, `UPDATE payment SET outcome = 'duplicate' WHERE webhook_id = $1::text`, p.WebhookID)
		return OutcomeDuplicate, err
	}
	return OutcomeRefundDue, refund(ctx, tx, p, reason)
}

// storePayment is false for an event that was stored before. The events of one
// payment come one after the other: of two at once, one alone can use the money.
func (s *Store) storePayment(ctx context.Context, tx pgx.Tx, p Payment) (stored bool, err error) {
	var both pgx.Batch
	both.Queue(`SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))`, p.PaymentID)
	both.Queue(`
		INSERT INTO payment (webhook_id, payment_id, order_id, sale_id, type, amount_minor, currency, received_at, outcome)
		VALUES ($1::text, $2::text, $3::uuid, $4::bigint, $5::text, $6::bigint, $7::text,
		        date_trunc('milliseconds', COALESCE($8::timestamptz, now())),
		        CASE $5::text WHEN 'payment.failed' THEN 'failed' ELSE 'waiting' END)
		ON CONFLICT (webhook_id) DO NOTHING`,
		p.WebhookID, p.PaymentID, uuid(p.OrderID), int64(p.OrderID.SaleID()), p.Type,
		p.AmountMinor, p.Currency, s.now()).Exec(func(tag pgconn.CommandTag) error {
		stored = tag.RowsAffected() == 1
		return nil
	})
	err = tx.SendBatch(ctx, &both).Close()
	return stored, err
}

// payPending is the transition: it takes the row as it is once others are
// through with it, and is false if it is not PENDING then or not to be paid so.
func (s *Store) payPending(ctx context.Context, tx pgx.Tx, p Payment) (paid bool, err error) {
	tag, err := tx.Exec(ctx, `
		WITH clock AS (
			SELECT date_trunc('milliseconds', COALESCE($6::timestamptz, now())) AS now
		), paid AS (
			UPDATE flash_sale_order o SET status = 'PAID', settled_at = clock.now FROM clock
			WHERE o.id = $2::uuid AND o.status = 'PENDING' AND o.price_minor = $3::bigint AND o.currency = $4::text
			  AND NOT `+used+`
			RETURNING o.id, o.sale_id, o.settled_at, order_event_payload(o) AS payload
		), told AS (
			INSERT INTO order_event (order_id, sale_id, kind, at, payload)
			SELECT id, sale_id, 'paid', settled_at, (payload::jsonb || jsonb_build_object('paymentId', $1::text))::json
			FROM paid
		)
		UPDATE payment SET outcome = 'paid' FROM paid WHERE webhook_id = $5::text`,
		p.PaymentID, uuid(p.OrderID), p.AmountMinor, p.Currency, p.WebhookID, s.now())
	return tag.RowsAffected() == 1, err
}

// whyNot tells why the money is due back; "" if it has had its use.
func (s *Store) whyNot(ctx context.Context, tx pgx.Tx, p Payment) (reason string, err error) {
	// Neither an id nor an event from the future makes an order young.
	since := p.OrderID.Time()
	if p.At.Before(since) {
		since = p.At
	}
	var spent, young bool
	var state *State
	var fits *bool
	err = tx.QueryRow(ctx, `
		SELECT `+used+`, $5::timestamptz > COALESCE($6::timestamptz, now()) - $7::interval,
		       o.status, o.price_minor = $3::bigint AND o.currency = $4::text
		FROM (SELECT 1) AS always LEFT JOIN flash_sale_order o ON o.id = $2::uuid`,
		p.PaymentID, uuid(p.OrderID), p.AmountMinor, p.Currency, since, s.now(), unknownAfter).
		Scan(&spent, &young, &state, &fits)
	switch {
	case err != nil:
		return "", err
	case spent:
		return "", nil
	case state == nil && young, state != nil && *state == Pending && *fits: // written this very moment
		return "", ErrNotWritten
	case state == nil:
		return "unknown order", nil
	case *state == Pending:
		return "wrong amount", nil
	default:
		return "order is " + string(*state), nil
	}
}

// refund notes that the money is due back and tells the shop, also of an order
// that has no row: then without item and shopper.
func refund(ctx context.Context, tx pgx.Tx, p Payment, reason string) error {
	_, err := tx.Exec(ctx, `
		WITH due AS (
			UPDATE payment SET outcome = 'refund_due', refund_due = true WHERE webhook_id = $1::text
			RETURNING order_id, sale_id, payment_id, amount_minor, currency, received_at
		)
		INSERT INTO order_event (order_id, sale_id, kind, at, payload)
		SELECT d.order_id, d.sale_id, 'refund_due', d.received_at, json_strip_nulls(json_build_object(
		       'itemId', o.item_id, 'userId', o.user_id, 'priceMinor', d.amount_minor, 'currency', d.currency,
		       'reason', $2::text, 'paymentId', d.payment_id))
		FROM due d LEFT JOIN flash_sale_order o ON o.id = d.order_id`, p.WebhookID, reason)
	return err
}
