package order_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"flashsale/shared/order"
)

// Until the expirer has been there, money is welcome; then it is due back.
func TestPayAtTheEdges(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.create(t, saleOf(7, 100))
	payBy := start.Add(10 * time.Minute)
	for edge, at := range map[string]time.Time{"payBy": payBy, "payBy and grace": payBy.Add(time.Minute)} {
		for _, off := range []time.Duration{-time.Millisecond, 0, time.Millisecond} {
			now := at.Add(off)
			over := !now.Before(payBy.Add(time.Minute))
			for _, expireFirst := range []bool{false, true} {
				name := fmt.Sprintf("%s %v, expirer first: %v", edge, off, expireFirst)
				p := s.place(sl, 0, name)
				s.Now = func() time.Time { return start }
				s.write(t, p)
				s.Now = func() time.Time { return now }
				wantExpired, want := 0, order.OutcomePaid
				if expireFirst {
					if over {
						wantExpired, want = 1, order.OutcomeRefundDue
					}
					if n, err := s.Expire(t.Context(), 10); n != wantExpired || err != nil {
						t.Errorf("%s: got %d expired, %v, want %d", name, n, err, wantExpired)
					}
				}
				s.pay(t, payment(p, func(p *order.Payment) { p.At = now }), want)
				if n, err := s.Expire(t.Context(), 10); n != 0 || err != nil {
					t.Errorf("%s: after the payment: got %d expired, %v, want 0", name, n, err)
				}
			}
		}
	}
	s.consistent(t)
}

// Fifty deliveries at once: one pays, whether they are one event or one payment
// in many events or many payments.
func TestPayAtOnce(t *testing.T) {
	t.Parallel()
	const n = 50
	for name, test := range map[string]struct {
		change func(*order.Payment)
		want   map[order.Outcome]int
		stored int
	}{
		"one event":       {func(p *order.Payment) { p.WebhookID, p.PaymentID = "w", "p" }, map[order.Outcome]int{order.OutcomePaid: 1, order.OutcomeDuplicate: n - 1}, 1},
		"one payment":     {func(p *order.Payment) { p.PaymentID = "p" }, map[order.Outcome]int{order.OutcomePaid: 1, order.OutcomeDuplicate: n - 1}, n},
		"many payments":   {nil, map[order.Outcome]int{order.OutcomePaid: 1, order.OutcomeRefundDue: n - 1}, n},
		"one wrong one":   {func(p *order.Payment) { p.PaymentID, p.AmountMinor = "p", 1 }, map[order.Outcome]int{order.OutcomeRefundDue: 1, order.OutcomeDuplicate: n - 1}, n},
		"all are failing": {func(p *order.Payment) { p.Type = order.PaymentFailed }, map[order.Outcome]int{order.OutcomeFailed: n}, n},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			p := s.place(s.create(t, saleOf(7, 10)), 0, "ann")
			s.write(t, p)
			var mutex sync.Mutex
			got := map[order.Outcome]int{}
			var group sync.WaitGroup
			for range n {
				group.Go(func() {
					outcome, err := s.Pay(t.Context(), payment(p, test.change))
					if err != nil {
						t.Errorf("pay: %v", err)
					}
					mutex.Lock()
					got[outcome]++
					mutex.Unlock()
				})
			}
			group.Wait()
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("outcomes: got %v, want %v", got, test.want)
			}
			if stored := s.count(t, `SELECT count(*) FROM payment WHERE outcome <> 'waiting'`); stored != test.stored {
				t.Errorf("stored: got %d, want %d", stored, test.stored)
			}
			s.consistent(t)
		})
	}
}
