package order_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
		if n := s.count(t, `SELECT count(*) FROM order_event WHERE published_at = $1`, start); n != 1 {
			t.Errorf("noted as published: got %d, want 1: the payment", n)
		}
		if n := s.count(t, `SELECT count(*) FROM order_placed`); n != 0 {
			t.Errorf("batches to tell of: got %d, want 0", n)
		}
	})
}

// A batch is told of as a whole, one event for each order, and what follows comes after it.
func TestRelayBatches(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := s.create(t, saleOf(7, 100, 100))
		first, second := s.many(sl, 0, 0, 5), s.many(sl, 1, 10, 3)
		s.write(t, first...)
		s.pay(t, payment(first[4], nil), order.OutcomePaid)
		s.write(t, second...)
		if _, _, err := s.Cancel(t.Context(), second[0].OrderID, "u10"); err != nil {
			t.Fatal(err)
		}
		// Not all of these are new, so each has an event of its own.
		refused, fresh := s.place(sl, 1, "u0"), s.place(sl, 0, "u20")
		s.write(t, first[0], refused, fresh)
		// Nobody is told of an order that was erased.
		if _, err := s.pool.Exec(t.Context(), `DELETE FROM flash_sale_order WHERE id = $1`, second[1].OrderID.String()); err != nil {
			t.Fatal(err)
		}

		var seen []order.Event
		relay := func(limit int, fails error) int {
			seen = nil
			n, err := s.RelayEvents(t.Context(), limit, func(_ context.Context, events []order.Event) error {
				seen = events
				return fails
			})
			if !errors.Is(err, fails) {
				t.Fatalf("relay: %v", err)
			}
			return n
		}
		relay(4, errors.New("kafka is away"))
		tried := seen
		if n := relay(4, nil); n != 5 || !reflect.DeepEqual(seen, tried) {
			t.Errorf("after a failure: got %d, %v, want the first batch and the same events: %v", n, seen, tried)
		}
		for i, e := range seen {
			if e.OrderID != first[i].OrderID || e.ID != 0 || e.Kind != "placed" || !e.At.Equal(start) {
				t.Errorf("event %d: got %+v, want %s placed", i, e, first[i].OrderID)
			}
		}
		want := fmt.Sprintf(`{"itemId":%d,"userId":"u0","priceMinor":1999,"currency":"EUR"}`, sl.Items[0].ID)
		if got := strings.ReplaceAll(string(seen[0].Payload), " ", ""); got != want {
			t.Errorf("payload: got %s, want %s", got, want)
		}

		var got []string
		names := map[sale.OrderID]string{
			first[4].OrderID: "u4", second[0].OrderID: "u10", second[2].OrderID: "u12", refused.OrderID: "u0", fresh.OrderID: "u20",
		}
		for relay(4, nil) > 0 {
			for _, e := range seen {
				got = append(got, names[e.OrderID]+" "+e.Kind)
				if (e.ID == 0) != (e.Kind == "placed" && e.OrderID != fresh.OrderID) {
					t.Errorf("number of %+v", e)
				}
			}
		}
		slices.Sort(got[3:]) // the last batch's own, in the sequence of their ids
		if want := []string{"u10 placed", "u12 placed", "u4 paid", "u0 rejected", "u10 cancelled", "u20 placed"}; !slices.Equal(got, want) {
			t.Errorf("then: got %q, want %q", got, want)
		}
	})
}

// An archived sale's orders are told of all the same.
func TestRelayAfterArchive(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.create(t, saleOf(7, 10))
	p := s.place(sl, 0, "ann")
	s.write(t, p)
	s.pay(t, payment(p, nil), order.OutcomePaid)
	s.Now = func() time.Time { return sl.ClosesAt.Add(time.Hour) }
	if first, err := s.Archive(t.Context(), sl.ID, "op", order.Remains{}); !first || err != nil {
		t.Fatalf("archive: got %t, %v, want true", first, err)
	}
	var kinds []string
	_, err := s.RelayEvents(t.Context(), 10, func(_ context.Context, events []order.Event) error {
		for _, e := range events {
			kinds = append(kinds, e.Kind)
		}
		return nil
	})
	if want := []string{"placed", "paid"}; err != nil || !slices.Equal(kinds, want) {
		t.Errorf("told: got %q, %v, want %q", kinds, err, want)
	}
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
