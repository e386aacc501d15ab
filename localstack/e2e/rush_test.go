package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A rush is what came of a crowd that wants the same item.
type rush struct {
	mu     sync.Mutex
	orders map[string]string // by shopper: the order of the first 202, or of an own 409
	losers []shopper
}

// compete lets all press at once. Every third presses twice at the same moment, half
// of those with an Idempotency-Key. A 202's status is asked for at once, and followed.
func compete(t *testing.T, crowd []shopper, item int64) *rush {
	t.Helper()
	r := &rush{orders: make(map[string]string)}
	var all sync.WaitGroup
	for i, p := range crowd {
		all.Go(func() {
			presses, key := 1, ""
			if i%3 == 0 {
				presses = 2
			}
			if i%6 == 0 {
				key = "key of a page" // may be the same for all shoppers
			}
			if err := r.enter(t.Context(), p, item, presses, key); err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
		})
	}
	all.Wait()
	return r
}

type pressed struct {
	answer
	first bool
	err   error
}

func (r *rush) enter(ctx context.Context, p shopper, item int64, presses int, key string) error {
	answers := make([]pressed, presses)
	var both sync.WaitGroup
	for i := range answers {
		both.Go(func() {
			a, first, err := p.buy(ctx, item, key)
			if err == nil && a.Code == http.StatusAccepted {
				err = pollable(ctx, p, a)
			}
			answers[i] = pressed{a, first, err}
		})
	}
	both.Wait()
	order, accepted := "", 0
	for _, a := range answers {
		switch {
		case a.err != nil:
			return a.err
		case a.is(http.StatusGone, "SOLD_OUT"):
			continue
		case a.Code == http.StatusAccepted && a.Status == "PENDING":
			accepted++
		case a.is(http.StatusConflict, "ALREADY_PURCHASED") && (presses > 1 || !a.first):
		default:
			return fmt.Errorf("got %s, want 202, an own 409 or 410 SOLD_OUT", a.answer)
		}
		if a.OrderID == "" || (order != "" && order != a.OrderID) {
			return fmt.Errorf("two presses: orders %q and %q", order, a.OrderID)
		}
		order = a.OrderID
	}
	// One of two presses may find the last unit gone only if the shopper has none.
	sure := true
	for _, a := range answers {
		sure = sure && a.first
	}
	switch {
	case order != "" && sure && key != "" && accepted != presses:
		return fmt.Errorf("the same key twice: %d of %d answers were 202", accepted, presses)
	case order != "" && sure && key == "" && accepted != 1:
		return fmt.Errorf("%d answers were 202, want 1", accepted)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if order == "" {
		r.losers = append(r.losers, p)
		return nil
	}
	r.orders[p.name] = order
	return nil
}

// pollable wants the order of a 202 known from the first moment until it can be paid.
func pollable(ctx context.Context, p shopper, a answer) error {
	if want := orderPath(a.OrderID); a.Header.Get("Location") != want || a.Header.Get("Retry-After") != "1" {
		return fmt.Errorf("202 with headers %v, want Location %s and Retry-After 1", a.Header, want)
	}
	_, err := p.follow(ctx, a.OrderID, payable)
	return err
}

func TestRush(t *testing.T) {
	t.Parallel()
	const shoppers, units = 1000, 100
	b, sale := openBackends(t), newSale(units)
	s := open(t, b.env(), sale)
	item := sale.Items[0].ID
	crowd := s.crowd(t, "u", shoppers)

	r := compete(t, crowd, item)
	if len(r.orders) != units || len(r.losers) != shoppers-units {
		t.Fatalf("got %d winners and %d losers, want %d and %d", len(r.orders), len(r.losers), units, shoppers-units)
	}
	wantItem(t, s.settled(t, sale.ID), 0, units, 0, map[string]int{"PENDING": units})
	if v := s.sees(t, sale.ID); !v.Items[0].SoldOut {
		t.Errorf("the sale's view: got %+v, want sold out", v)
	}
	var winners []shopper
	for _, p := range crowd {
		a, _, err := p.buy(t.Context(), item, "")
		order, won := r.orders[p.name]
		if won {
			winners = append(winners, p)
		}
		switch {
		case err != nil:
			t.Fatalf("%s asks again: %v", p.name, err)
		case won && !(a.is(http.StatusConflict, "ALREADY_PURCHASED") && a.OrderID == order):
			t.Fatalf("winner %s asks again: got %s, want 409 with %s", p.name, a, order)
		case !won && !a.is(http.StatusGone, "SOLD_OUT"):
			t.Fatalf("loser %s asks again: got %s, want 410 SOLD_OUT", p.name, a)
		}
	}

	paymentTimeIsOver(t, b.databaseURL, sale.ID)
	for _, p := range winners[:3] {
		if _, err := p.follow(t.Context(), r.orders[p.name], func(a answer) bool { return a.Status == "EXPIRED" }); err != nil {
			t.Error(err)
		}
	}
	var returned report
	eventually(t, "all units are back", func() bool {
		returned = s.report(t, sale.ID)
		return returned.quiet() && returned.Items[0].Stock == units
	})
	wantItem(t, returned, 0, 0, units, map[string]int{"EXPIRED": units})
	eventually(t, "the item is not sold out any more", func() bool { return !s.sees(t, sale.ID).Items[0].SoldOut })

	// The units can be sold again, to those who let them expire as well.
	again := append(append([]shopper{}, winners[:units/2]...), r.losers[:units/2]...)
	second := compete(t, again, item)
	if len(second.orders) != units {
		t.Errorf("after expiry: %d of %d could buy", len(second.orders), units)
	}
	for name, order := range second.orders {
		if order == r.orders[name] {
			t.Errorf("%s: the expired order %s is sold again, want a new one", name, order)
		}
	}
	wantItem(t, s.settled(t, sale.ID), 0, units, 0, map[string]int{"PENDING": units, "EXPIRED": units})
	if a, _, err := r.losers[units].buy(t.Context(), item, ""); err != nil || !a.is(http.StatusGone, "SOLD_OUT") {
		t.Errorf("one more: got %s, %v, want 410 SOLD_OUT", a, err)
	}
}

// paymentTimeIsOver makes ten minutes pass for the orders. A window short enough to
// wait for could end while the rush goes on, and 100 units would then be sold to more
// than 100 shoppers, rightly. TestExpiry waits for a real one.
func paymentTimeIsOver(t *testing.T, databaseURL string, sale uint32) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(),
		`UPDATE flash_sale_order SET expires_at = now() WHERE sale_id = $1 AND status = 'PENDING'`, sale); err != nil {
		t.Fatal(err)
	}
}
