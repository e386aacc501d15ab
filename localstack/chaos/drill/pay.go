package drill

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/webhook"
)

// money is a payment's event. Its provider sends the same one until somebody takes it.
type money struct{ id, orderID, body string }

// pays names the winners who pay: every fifth.
func pays(name string) bool { return strings.HasSuffix(name, "2") || strings.HasSuffix(name, "7") }

// pay sends a new payment of an order, in the background.
func (s *stage) pay(ctx context.Context, orderID string) {
	s.remit(ctx, money{"msg_" + rand.Text(), orderID, fmt.Sprintf(
		`{"type":"payment.succeeded","timestamp":%q,"data":{"paymentId":%q,"orderId":%q,"amount":"19.99","currency":"EUR"}}`,
		time.Now().UTC().Format(time.RFC3339), "pay_"+rand.Text(), orderID)})
}

// remit sends a payment's event until the answer is 204.
func (s *stage) remit(ctx context.Context, m money) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	s.paying.Go(func() {
		defer cancel()
		for {
			switch code := s.present(ctx, m); {
			case code == http.StatusNoContent:
				s.sales.took(m)
				return
			case code == http.StatusServiceUnavailable: // the row is not written yet
			case code == http.StatusUnauthorized && slices.Contains(s.hosts, "payment"):
				s.sales.note(func(l *ledger) { l.doubted++ })
			case code == 0 && (s.mayBeGone() || ctx.Err() != nil):
			default:
				s.sales.surprise(fmt.Sprintf("%d to a payment", code))
			}
			if sleep(ctx, 200*time.Millisecond) != nil {
				s.sales.surprise("no 204 to a payment")
				return
			}
		}
	})
}

// remitAgain is what the provider is asked for after a restore: all that it has sent, once more.
func (s *stage) remitAgain(ctx context.Context) {
	var all map[string]money
	s.sales.note(func(l *ledger) { all, l.paid = l.paid, nil })
	for _, m := range all {
		s.remit(ctx, m)
	}
}

func (s *stage) present(ctx context.Context, m money) int {
	scheme, err := webhook.New(webhooks)
	if err != nil {
		panic(err) // the drill's own secret
	}
	code, _ := s.send(ctx, "payment", map[string]any{
		"httpMethod": http.MethodPost, "path": "/api/flash-sales/payments",
		"headers": scheme.Sign(m.id, time.Now(), []byte(m.body)), "body": m.body,
	})
	return code
}

func (l *ledger) took(m money) {
	l.note(func(l *ledger) {
		if l.paid == nil {
			l.paid = map[string]money{}
		}
		l.paid[m.orderID] = m
	})
}

// unpaid counts the payments that were taken, and neither pay their order nor are due back.
func (s *stage) unpaid(ctx context.Context, paid map[string]money, orders map[string]orderRow) (n int, err error) {
	rows, err := s.shop.Pool.Query(ctx, `SELECT order_id::text FROM payment WHERE refund_due`)
	if err != nil {
		return 0, err
	}
	refunds, err := pgx.CollectRows(rows, pgx.RowTo[string])
	due := map[string]bool{}
	for _, id := range refunds {
		due[id] = true
	}
	for id := range paid {
		if orders[id].Status != "PAID" && !due[id] {
			n++
		}
	}
	return n, err
}
