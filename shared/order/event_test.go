package order_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

func TestRelayEvents(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := s.create(t, saleOf(7, 10))
		ann, bob := s.place(sl, 0, "ann"), s.place(sl, 0, "bob")
		s.write(t, ann)
		s.write(t, bob)
		s.pay(t, payment(ann, nil), order.OutcomePaid)

		var seen []string
		names := map[sale.OrderID]string{ann.OrderID: "ann", bob.OrderID: "bob"}
		relay := func(limit int, fails error) (int, error) {
			return s.RelayEvents(t.Context(), limit, func(_ context.Context, events []order.Event) error {
				for _, e := range events {
					seen = append(seen, names[e.OrderID]+" "+e.Kind)
				}
				return fails
			})
		}
		away := errors.New("kafka is away")
		if n, err := relay(2, away); n != 0 || !errors.Is(err, away) {
			t.Errorf("kafka away: got %d, %v, want its error", n, err)
		}
		for i, want := range []int{2, 1, 0} {
			if n, err := relay(2, nil); n != want || err != nil {
				t.Errorf("relay %d: got %d, %v, want %d", i, n, err, want)
			}
		}
		want := []string{"ann placed", "bob placed", "ann placed", "bob placed", "ann paid"}
		if !slices.Equal(seen, want) {
			t.Errorf("published: got %q, want %q", seen, want)
		}
		if n := s.count(t, `SELECT count(*) FROM order_event WHERE published_at = $1`, start); n != 3 {
			t.Errorf("noted as published: got %d, want 3", n)
		}
	})
}

// While one publishes, another one has nothing to do; it does not wait.
func TestOneRelayAtATime(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, s.place(s.create(t, saleOf(7, 10)), 0, "ann"))
	n, err := s.RelayEvents(t.Context(), 10, func(ctx context.Context, _ []order.Event) error {
		n, err := s.RelayEvents(ctx, 10, func(context.Context, []order.Event) error { return errors.New("published twice") })
		if n != 0 || err != nil {
			t.Errorf("the other relay: got %d, %v, want 0", n, err)
		}
		return nil
	})
	if n != 1 || err != nil {
		t.Errorf("relay: got %d, %v, want 1", n, err)
	}
}

// With writers, payments and relays at once each event is published exactly
// once, and an order's in their sequence.
func TestRelayBesideWriters(t *testing.T) {
	t.Parallel()
	s := open(t)
	const orders, writers = 120, 3
	sl := s.create(t, saleOf(7, orders))
	published := map[sale.OrderID][]string{}
	var relaying sync.Mutex // the relays' promise is that it is never waited for
	publish := func(_ context.Context, events []order.Event) error {
		if !relaying.TryLock() {
			return errors.New("two relays at once")
		}
		defer relaying.Unlock()
		for _, e := range events {
			published[e.OrderID] = append(published[e.OrderID], e.Kind)
		}
		return nil
	}
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() {
			for i := range orders / writers {
				p := s.place(sl, 0, fmt.Sprintf("u%d-%d", writer, i))
				s.retry(t, func() error { _, err := s.WriteBatch(t.Context(), []sale.Placed{p}); return err })
				s.pay(t, payment(p, nil), order.OutcomePaid)
				s.pay(t, payment(p, nil), order.OutcomeRefundDue)
				if _, err := s.RelayEvents(t.Context(), 10, publish); err != nil {
					t.Errorf("relay: %v", err)
				}
			}
		})
	}
	group.Wait()
	for n := 1; n > 0; {
		var err error
		if n, err = s.RelayEvents(t.Context(), 100, publish); err != nil {
			t.Fatalf("relay: %v", err)
		}
	}
	if len(published) != orders {
		t.Errorf("orders told: got %d, want %d", len(published), orders)
	}
	for id, kinds := range published {
		if !slices.Equal(kinds, []string{"placed", "paid", "refund_due"}) {
			t.Errorf("%s: got %q, want placed, paid, refund_due", id, kinds)
		}
	}
}
