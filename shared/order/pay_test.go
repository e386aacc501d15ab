package order_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

// payment is a successful one of the right amount; change may be nil.
func payment(p sale.Placed, change func(*order.Payment)) order.Payment {
	pay := order.Payment{
		WebhookID: "msg_" + rand.Text(), PaymentID: "pay_" + rand.Text(), OrderID: p.OrderID,
		Type: order.PaymentSucceeded, AmountMinor: 1999, Currency: "EUR", At: start,
	}
	if change != nil {
		change(&pay)
	}
	return pay
}

func (s *shop) pay(t testing.TB, p order.Payment, want order.Outcome) {
	t.Helper()
	if got, err := s.Pay(t.Context(), p); got != want || err != nil {
		t.Errorf("pay: got %q, %v, want %q", got, err, want)
	}
}

func (s *shop) state(t testing.TB, id sale.OrderID) order.State {
	t.Helper()
	rows, err := s.Orders(t.Context(), []sale.OrderID{id})
	if err != nil {
		t.Fatalf("orders: %v", err)
	}
	return rows[id].State
}

// events are an order's kinds in their sequence.
func (s *shop) events(t testing.TB, id sale.OrderID) string {
	t.Helper()
	var kinds string
	err := s.pool.QueryRow(t.Context(), `
		SELECT COALESCE(string_agg(kind, ' ' ORDER BY id), '') FROM (
			SELECT 0 AS id, 'placed' AS kind FROM order_placed WHERE $1::uuid = ANY(order_ids)
			UNION ALL SELECT id, kind FROM order_event WHERE order_id = $1::uuid) story`, id.String()).Scan(&kinds)
	if err != nil {
		t.Fatalf("events: %v", err)
	}
	return kinds
}

func TestPay(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := s.create(t, saleOf(7, 10))
		p := s.place(sl, 0, "ann")
		s.write(t, p)
		failed := payment(p, func(p *order.Payment) { p.Type = order.PaymentFailed })
		s.pay(t, failed, order.OutcomeFailed)
		s.pay(t, failed, order.OutcomeDuplicate)
		right := payment(p, func(p *order.Payment) { p.PaymentID = failed.PaymentID }) // the second try
		s.pay(t, right, order.OutcomePaid)
		s.pay(t, right, order.OutcomeDuplicate)
		again := payment(p, func(p *order.Payment) { p.PaymentID = right.PaymentID })
		s.pay(t, again, order.OutcomeDuplicate)
		s.pay(t, payment(p, func(p *order.Payment) { p.Type = order.PaymentFailed }), order.OutcomeFailed)
		second := payment(p, nil)
		s.pay(t, second, order.OutcomeRefundDue)
		s.pay(t, payment(p, func(p *order.Payment) { p.PaymentID = second.PaymentID }), order.OutcomeDuplicate)

		o, err := s.Order(t.Context(), p.OrderID, "ann")
		if err != nil || o.State != order.Paid || !o.SettledAt.Equal(start) || o.Payable(start) {
			t.Errorf("order: got %+v, %v, want PAID at %s", o, err, start)
		}
		if got := s.events(t, p.OrderID); got != "placed paid refund_due" {
			t.Errorf("events: got %q, want placed, paid, refund_due", got)
		}
		if n := s.count(t, `SELECT count(*) FROM payment`); n != 6 {
			t.Errorf("stored events: got %d, want 6", n)
		}
		if n := s.count(t, `SELECT sold FROM flash_sale_item`); n != 1 {
			t.Errorf("sold: got %d, want 1", n)
		}
		s.consistent(t)
	})
}

// Money that does not fit leaves the order as it is and is due back.
func TestWrongAmount(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.create(t, saleOf(7, 10))
	p := s.place(sl, 0, "ann")
	s.write(t, p)
	for name, change := range map[string]func(*order.Payment){
		"a cent less":    func(p *order.Payment) { p.AmountMinor = 1998 },
		"a cent more":    func(p *order.Payment) { p.AmountMinor = 2000 },
		"other currency": func(p *order.Payment) { p.Currency = "USD" },
	} {
		wrong := payment(p, change)
		s.pay(t, wrong, order.OutcomeRefundDue)
		var reason, paymentID string
		var minor int64
		err := s.pool.QueryRow(t.Context(), `
			SELECT payload->>'reason', payload->>'paymentId', (payload->>'priceMinor')::bigint
			FROM order_event ORDER BY id DESC LIMIT 1`).Scan(&reason, &paymentID, &minor)
		if err != nil || reason != "wrong amount" || paymentID != wrong.PaymentID || minor != wrong.AmountMinor {
			t.Errorf("%s: event says %q %q %d, %v, want the money's own", name, reason, paymentID, minor, err)
		}
	}
	if got := s.state(t, p.OrderID); got != order.Pending {
		t.Errorf("state: got %s, want PENDING", got)
	}
	s.pay(t, payment(p, nil), order.OutcomePaid)
	report, err := s.Report(t.Context(), sl.ID)
	if err != nil || report.Items[0].RefundsDue != 3 || report.RefundsDueUnknown != 0 {
		t.Errorf("report: got %+v, %v, want 3 refunds due", report, err)
	}
}

// A payment that pays one order cannot pay another, nor be given back as well.
func TestOnePaymentOneUse(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.create(t, saleOf(7, 10))
	a, b := s.place(sl, 0, "ann"), s.place(sl, 0, "bob")
	s.write(t, a, b)
	of := func(p sale.Placed, id string, minor int64) order.Payment {
		return payment(p, func(pay *order.Payment) { pay.PaymentID, pay.AmountMinor = id, minor })
	}
	s.pay(t, of(a, "p1", 1999), order.OutcomePaid)
	s.pay(t, of(b, "p1", 1999), order.OutcomeDuplicate)
	s.pay(t, of(b, "p2", 1), order.OutcomeRefundDue)
	s.pay(t, of(b, "p2", 1999), order.OutcomeDuplicate)
	if got := s.state(t, b.OrderID); got != order.Pending {
		t.Errorf("bob's order: got %s, want PENDING", got)
	}
}

func TestFinalStatesStay(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.create(t, saleOf(7, 10))
	expired, cancelled, rejected := s.place(sl, 0, "ann"), s.place(sl, 0, "bob"), s.place(sl, 0, "cid")
	s.write(t, expired)
	s.expire(t, start.Add(11*time.Minute), 10)
	s.write(t, cancelled)
	if _, _, err := s.Cancel(t.Context(), cancelled.OrderID, "bob"); err != nil {
		t.Fatalf("cancel: %v", err)
	}
	if err := s.Reject(t.Context(), []sale.Placed{rejected}, "test"); err != nil {
		t.Fatalf("reject: %v", err)
	}
	for state, p := range map[order.State]sale.Placed{order.Expired: expired, order.Cancelled: cancelled, order.Rejected: rejected} {
		s.pay(t, payment(p, nil), order.OutcomeRefundDue)
		if got := s.state(t, p.OrderID); got != state {
			t.Errorf("state: got %s, want %s", got, state)
		}
		var reason string
		err := s.pool.QueryRow(t.Context(), `SELECT payload->>'reason' FROM order_event ORDER BY id DESC LIMIT 1`).Scan(&reason)
		if want := "order is " + string(state); err != nil || reason != want {
			t.Errorf("reason: got %q, %v, want %q", reason, err, want)
		}
	}
	if n := s.count(t, `SELECT sold FROM flash_sale_item`); n != 0 {
		t.Errorf("sold: got %d, want 0", n)
	}
	s.consistent(t)
}

// For a quarter of an hour an order may still be written; after that its money
// is due back. Neither the id's time nor the event's can be later than the truth.
func TestUnwrittenOrder(t *testing.T) {
	t.Parallel()
	s := open(t)
	made := time.Now().UTC().Truncate(time.Millisecond) // by the mint
	sl := s.create(t, saleOf(7, 10))
	const limit = 15 * time.Minute
	for _, test := range []struct {
		name    string
		event   time.Time // its own time
		now     time.Time
		refused bool // not written yet
	}{
		{"at once", made, made.Add(time.Second), true},
		{"a second before the limit", made.Add(time.Minute), made.Add(limit - time.Second), true},
		{"a second after it, by the order's id", made.Add(time.Minute), made.Add(limit + time.Second), false},
		{"a second before the limit, by the event", made.Add(-time.Minute), made.Add(limit - time.Minute - time.Second), true},
		{"a second after it, by the event", made.Add(-time.Minute), made.Add(limit - time.Minute + time.Second), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := s.place(sl, 0, "ann")
			pay := payment(p, func(p *order.Payment) { p.At = test.event })
			s.Now = func() time.Time { return test.now }
			stored := s.count(t, `SELECT count(*) FROM payment`)
			got, err := s.Pay(t.Context(), pay)
			if test.refused {
				if !errors.Is(err, order.ErrNotWritten) || s.count(t, `SELECT count(*) FROM payment`) != stored {
					t.Fatalf("pay: got %q, %v, want not written and nothing stored", got, err)
				}
				s.write(t, p) // and then the provider's next attempt
				s.pay(t, pay, order.OutcomePaid)
				if _, err := s.pool.Exec(t.Context(), `DELETE FROM flash_sale_order`); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != order.OutcomeRefundDue || err != nil {
				t.Fatalf("pay: got %q, %v, want refund due", got, err)
			}
			if got := s.events(t, p.OrderID); got != "refund_due" {
				t.Errorf("events: got %q, want refund_due", got)
			}
		})
	}
	// Money for a sale that does not exist is in every report, or nobody would see it.
	nowhere := sl
	nowhere.ID = 4_000_000_000
	s.pay(t, payment(s.place(nowhere, 0, "bob"), func(p *order.Payment) { p.At = made.Add(-time.Hour) }), order.OutcomeRefundDue)
	report, err := s.Report(t.Context(), sl.ID)
	if err != nil || report.RefundsDueUnknown != 3 {
		t.Errorf("report: got %+v, %v, want 3 unknown refunds", report, err)
	}
	if got, err := s.Pay(t.Context(), order.Payment{Type: "payment.created"}); err == nil {
		t.Errorf("unknown type: got %q, want an error", got)
	}
}
