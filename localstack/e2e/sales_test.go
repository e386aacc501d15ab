package e2e_test

import (
	"net/http"
	"sync"
	"testing"

	"flashsale/localstack/servers"
)

// TestSales has one server with many sales at once.
func TestSales(t *testing.T) {
	t.Parallel()
	b, first := openBackends(t), newSale(20)
	s := open(t, b.env(), first)
	rdb := openRedis(t, b.redisURL)
	t.Run("all", func(t *testing.T) { // so that the server outlives them
		t.Run("two at once", func(t *testing.T) { t.Parallel(); twoSales(t, s, first) })
		t.Run("two items of one sale", func(t *testing.T) { t.Parallel(); twoItems(t, s) })
		t.Run("unpaid", func(t *testing.T) { t.Parallel(); unpaid(t, s) })
		t.Run("never loaded", func(t *testing.T) { t.Parallel(); neverLoaded(t, s) })
		t.Run("opening", func(t *testing.T) { t.Parallel(); opening(t, s, rdb) })
		t.Run("end", func(t *testing.T) { t.Parallel(); end(t, s, rdb) })
		t.Run("close", func(t *testing.T) { t.Parallel(); closed(t, s) })
		t.Run("pause", func(t *testing.T) { t.Parallel(); paused(t, s) })
	})
	if r := s.settled(t, first.ID); r.DeadLetters != 0 {
		t.Errorf("got %d dead letters, want none", r.DeadLetters)
	}
}

// The same shoppers compete in two sales; the rule of one product is each sale's own.
func twoSales(t *testing.T, s *shop, first saleFile) {
	second := newSale(30)
	s.offer(t, second)
	crowd := s.crowd(t, "both", 60)
	var one, two *rush
	var both sync.WaitGroup
	both.Go(func() { one = compete(t, crowd, first.Items[0].ID) })
	both.Go(func() { two = compete(t, crowd, second.Items[0].ID) })
	both.Wait()
	if len(one.orders) != 20 || len(two.orders) != 30 {
		t.Errorf("got %d and %d winners, want 20 and 30", len(one.orders), len(two.orders))
	}
	wantItem(t, s.settled(t, first.ID), 0, 20, 0, map[string]int{"PENDING": 20})
	wantItem(t, s.settled(t, second.ID), 0, 30, 0, map[string]int{"PENDING": 30})
}

// A shopper who wants two items of a sale at the same moment gets one of them.
func twoItems(t *testing.T, s *shop) {
	const shoppers = 20
	sale := newSale(shoppers, shoppers)
	s.offer(t, sale)
	var all sync.WaitGroup
	for _, p := range s.crowd(t, "greedy", shoppers) {
		all.Go(func() {
			var answers [2]answer
			var sure [2]bool
			var both sync.WaitGroup
			for i, item := range sale.Items {
				both.Go(func() {
					var err error
					if answers[i], sure[i], err = p.buy(t.Context(), item.ID, "one key for both"); err != nil {
						t.Errorf("%s: %v", p.name, err)
					}
				})
			}
			both.Wait()
			won, lost := answers[0], answers[1]
			if won.Code != http.StatusAccepted {
				won, lost = lost, won
			}
			// A lost 503 may have been a win, whose order both presses then name.
			fair := won.Code == http.StatusAccepted || !sure[0] || !sure[1]
			if !fair || !lost.is(http.StatusConflict, "ALREADY_PURCHASED") || lost.OrderID != won.OrderID {
				t.Errorf("%s: got %s and %s, want one 202 and one 409 with its order", p.name, answers[0], answers[1])
				return
			}
			if _, err := p.follow(t.Context(), won.OrderID, payable); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	r := s.settled(t, sale.ID)
	if sold := r.Items[0].Sold + r.Items[1].Sold; sold != shoppers {
		t.Errorf("got %d units sold, want one for each of %d shoppers", sold, shoppers)
	}
	for i := range r.Items {
		sold := r.Items[i].Sold
		wantItem(t, r, i, sold, shoppers-sold, map[string]int{"PENDING": sold})
	}
}

// Who does not pay in a second, and another one of grace, loses the unit and may buy
// it again.
func unpaid(t *testing.T, s *shop) {
	sale := newSale(1)
	sale.PaymentWindow, sale.Grace = "1s", "1s"
	s.offer(t, sale)
	slow, item := s.login(t, "slow"), sale.Items[0].ID
	var orders []string
	for range 2 {
		bought, _, err := slow.buy(t.Context(), item, "")
		if err != nil || bought.Code != http.StatusAccepted {
			t.Fatalf("purchase %d: got %s, %v, want 202", len(orders)+1, bought, err)
		}
		overdue := false
		_, err = slow.follow(t.Context(), bought.OrderID, func(a answer) bool {
			if a.Status == "PENDING" && !a.PayBy.IsZero() && !a.Payable {
				overdue = true // in the grace
			}
			return a.Status == "EXPIRED"
		})
		if err != nil || !overdue {
			t.Errorf("order %s: %v, seen overdue: %t, want overdue and then expired", bought.OrderID, err, overdue)
		}
		orders = append(orders, bought.OrderID)
		eventually(t, "the unit is back", func() bool { return s.report(t, sale.ID).Items[0].Stock == 1 })
	}
	if orders[0] == orders[1] {
		t.Errorf("order %s was sold twice", orders[0])
	}
	wantItem(t, s.settled(t, sale.ID), 0, 0, 1, map[string]int{"EXPIRED": 2})
	mine, err := slow.mine(t.Context(), sale.ID)
	if err != nil || mine.OrderID != orders[1] || mine.Status != "EXPIRED" {
		t.Errorf("my order: got %s, %v, want the newest, %s, expired", mine, err, orders[1])
	}
}

// A sale that is described but has no stock is not sold out. That it is too early
// needs no stock to be known.
func neverLoaded(t *testing.T, s *shop) {
	sale := newSale(5)
	sale.OpensAt = "+1h" // far from the stockkeeper's own load
	s.create(t, sale)
	p := s.login(t, "early")
	for range 2 {
		a, err := p.press(t.Context(), sale.Items[0].ID, "")
		if err != nil || !a.is(http.StatusForbidden, "SALE_NOT_OPEN") || a.Header.Get("Retry-After") == "" {
			t.Errorf("purchase: got %s, %v, want 403 SALE_NOT_OPEN with Retry-After", a, err)
		}
		s.invoke(t, "stockkeeper", map[string]int{"passes": 1}, new(any))
	}
	if v := s.sees(t, sale.ID); v.State != "CREATED" || v.Items[0].SoldOut || v.Items[0].PurchaseURL != "" {
		t.Errorf("the sale's view: got %+v, want CREATED, not sold out, no purchaseUrl", v)
	}
	if a, err := p.press(t.Context(), servers.ItemID(), ""); err != nil || !a.is(http.StatusNotFound, "UNKNOWN_ITEM") {
		t.Errorf("unknown item: got %s, %v, want 404 UNKNOWN_ITEM", a, err)
	}
	unknown := servers.SaleID()
	if a, err := s.call(t.Context(), http.MethodGet, salePath(unknown), nil, ""); err != nil || !a.is(http.StatusNotFound, "UNKNOWN_SALE") {
		t.Errorf("unknown sale: got %s, %v, want 404 UNKNOWN_SALE", a, err)
	}
	if a, err := p.mine(t.Context(), unknown); err != nil || !a.is(http.StatusNotFound, "NO_ORDER") {
		t.Errorf("my order in an unknown sale: got %s, %v, want 404 NO_ORDER", a, err)
	}
}

// closed ends a sale by hand: no new purchase, but the orders live on.
func closed(t *testing.T, s *shop) {
	sale := newSale(5)
	s.offer(t, sale)
	winner, late, item := s.login(t, "in time"), s.login(t, "late"), sale.Items[0].ID
	bought, _, err := winner.buy(t.Context(), item, "")
	if err != nil || bought.Code != http.StatusAccepted {
		t.Fatalf("purchase: got %s, %v, want 202", bought, err)
	}
	if state := s.administer(t, "close", sale.ID); state != "CLOSED" {
		t.Errorf("close: got %s, want CLOSED", state)
	}
	if a, _, err := late.buy(t.Context(), item, ""); err != nil || !a.is(http.StatusGone, "SALE_CLOSED") {
		t.Errorf("late: got %s, %v, want 410 SALE_CLOSED", a, err)
	}
	if a, _, err := winner.buy(t.Context(), item, ""); err != nil || !a.is(http.StatusConflict, "ALREADY_PURCHASED") || a.OrderID != bought.OrderID {
		t.Errorf("winner again: got %s, %v, want 409 with %s", a, err, bought.OrderID)
	}
	if _, err := winner.follow(t.Context(), bought.OrderID, payable); err != nil {
		t.Error(err)
	}
	eventually(t, "the view is closed", func() bool { return s.sees(t, sale.ID).State == "CLOSED" })
	wantItem(t, s.settled(t, sale.ID), 0, 1, 4, map[string]int{"PENDING": 1})
}

// paused stops a sale by hand and sells on; the stockkeeper does not lift it.
func paused(t *testing.T, s *shop) {
	sale := newSale(5)
	s.offer(t, sale)
	winner, item := s.login(t, "before the pause"), sale.Items[0].ID
	bought, _, err := winner.buy(t.Context(), item, "")
	if err != nil || bought.Code != http.StatusAccepted {
		t.Fatalf("purchase: got %s, %v, want 202", bought, err)
	}
	if state := s.administer(t, "pause", sale.ID); state != "PAUSED" {
		t.Errorf("pause: got %s, want PAUSED", state)
	}
	waiting := s.login(t, "waiting")
	for range 3 {
		a, err := waiting.press(t.Context(), item, "")
		if err != nil || !a.is(http.StatusServiceUnavailable, "TRY_AGAIN") || a.Header.Get("Retry-After") == "" {
			t.Errorf("while paused: got %s, %v, want 503 TRY_AGAIN with Retry-After", a, err)
		}
		s.invoke(t, "stockkeeper", map[string]int{"passes": 1}, new(any))
	}
	if a, err := winner.press(t.Context(), item, ""); err != nil || !a.is(http.StatusConflict, "ALREADY_PURCHASED") || a.OrderID != bought.OrderID {
		t.Errorf("winner while paused: got %s, %v, want 409 with %s", a, err, bought.OrderID)
	}
	eventually(t, "the view is paused", func() bool { v := s.sees(t, sale.ID); return v.State == "PAUSED" && v.Items[0].PurchaseURL == "" })
	if r := s.report(t, sale.ID); r.State != "PAUSED" || r.Items[0].Stock != 4 {
		t.Errorf("report: got %s with %d left, want PAUSED with 4", r.State, r.Items[0].Stock)
	}
	if state := s.administer(t, "resume", sale.ID); state != "OPEN" {
		t.Errorf("resume: got %s, want OPEN", state)
	}
	if a, _, err := waiting.buy(t.Context(), item, ""); err != nil || a.Code != http.StatusAccepted {
		t.Errorf("after resume: got %s, %v, want 202", a, err)
	}
	wantItem(t, s.settled(t, sale.ID), 0, 2, 3, map[string]int{"PENDING": 2})
}
