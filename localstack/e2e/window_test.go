package e2e_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// soon is how far the edges of a window lie ahead, far enough for a sale to be loaded
// before on a busy machine.
const soon = 5 * time.Second

// clock reads the time that judges the window.
func clock(t *testing.T, rdb *redis.Client) time.Time {
	t.Helper()
	now, err := rdb.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// opening presses all the time while a sale opens. Redis' time is read before and
// after each press: no unit is sold before the opening, and nobody hears "not open"
// after it. Nothing but the clock opens the sale.
func opening(t *testing.T, s *shop, rdb *redis.Client) {
	sale := newSale(1)
	sale.OpensAt = "+" + soon.String()
	s.offer(t, sale)
	if v := s.sees(t, sale.ID); v.State != "LOADED" || v.Items[0].PurchaseURL != "" {
		t.Errorf("before the opening: got %+v, want LOADED and no purchaseUrl", v)
	}
	p, item := s.login(t, "punctual"), sale.Items[0].ID
	var opensAt time.Time
	for ; ; time.Sleep(20 * time.Millisecond) { // below the server's limit
		before := clock(t, rdb)
		a, _, err := p.buy(t.Context(), item, "")
		after := clock(t, rdb)
		if err != nil {
			t.Fatal(err)
		}
		if a.Code == http.StatusAccepted {
			if opensAt.IsZero() {
				t.Fatal("the sale was open at once: nothing was seen of its opening")
			}
			if after.Before(opensAt) {
				t.Errorf("sold at %s or before, want from %s on", after, opensAt)
			}
			break
		}
		if !a.is(http.StatusForbidden, "SALE_NOT_OPEN") || a.OpensAt.IsZero() {
			t.Fatalf("before the opening: got %s, want 403 SALE_NOT_OPEN with opensAt", a)
		}
		opensAt = a.OpensAt
		if !before.Before(opensAt) {
			t.Fatalf("asked at %s, got %s", before, a)
		}
		// Whole seconds, rounded up, from a moment between before and after.
		seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
		wait, least, most := time.Duration(seconds)*time.Second, opensAt.Sub(after), opensAt.Sub(before.Truncate(time.Millisecond))+time.Second
		if err != nil || wait < least || wait >= most {
			t.Fatalf("got Retry-After %q, want from %s to %s", a.Header.Get("Retry-After"), least, most)
		}
	}
	v := s.sees(t, sale.ID)
	if want := purchasePath(item); v.State != "OPEN" || v.Items[0].PurchaseURL != want {
		t.Errorf("after the opening: got %+v, want OPEN with purchaseUrl %s", v, want)
	}
	wantItem(t, s.settled(t, sale.ID), 0, 1, 0, map[string]int{"PENDING": 1})
}

// end presses all the time while a sale's window ends, each time as another shopper.
func end(t *testing.T, s *shop, rdb *redis.Client) {
	sale := newSale(10_000)
	sale.ClosesAt = time.Now().Add(2 * soon).UTC().Format(time.RFC3339Nano)
	closesAt, err := time.Parse(time.RFC3339Nano, sale.ClosesAt)
	if err != nil {
		t.Fatal(err)
	}
	closesAt = closesAt.Truncate(time.Millisecond)
	s.offer(t, sale)
	crowd, sold := s.crowd(t, "last", 5000), 0
	for i, p := range crowd {
		before := clock(t, rdb)
		a, _, err := p.buy(t.Context(), sale.Items[0].ID, "")
		after := clock(t, rdb)
		if err != nil {
			t.Fatal(err)
		}
		if a.is(http.StatusGone, "SALE_CLOSED") {
			if after.Before(closesAt) {
				t.Errorf("closed at %s or before, want from %s on", after, closesAt)
			}
			break
		}
		if a.Code != http.StatusAccepted {
			t.Fatalf("before the end: got %s, want 202", a)
		}
		if sold++; !before.Before(closesAt) {
			t.Fatalf("asked at %s, sold, but the sale ended at %s", before, closesAt)
		}
		if i == len(crowd)-1 {
			t.Fatalf("all %d shoppers came before the end", len(crowd))
		}
		if err := pause(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if sold == 0 {
		t.Fatal("the sale was over at once: nothing was seen of its end")
	}
	eventually(t, "the view is closed", func() bool { return s.sees(t, sale.ID).State == "CLOSED" })
	wantItem(t, s.settled(t, sale.ID), 0, sold, 10_000-sold, map[string]int{"PENDING": sold})
	if a, err := crowd[0].mine(t.Context(), sale.ID); err != nil || !a.Payable {
		t.Errorf("an order after the end: got %s, %v, want payable", a, err)
	}
}
