package order_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

// words is a definition with these times and nothing else: the store reads no more of it.
func words(opensAt, closesAt string) []byte {
	return fmt.Appendf(nil, `{"opensAt":%q,"closesAt":%q}`, opensAt, closesAt)
}

// describe creates a sale by these words.
func (s *shop) describe(t *testing.T, sl sale.Sale, definition []byte) {
	t.Helper()
	if created, err := s.CreateSale(t.Context(), sl, definition, "op"); err != nil || !created {
		t.Fatalf("create: got %v, %v", created, err)
	}
}

func (s *shop) load(t *testing.T, id sale.ID) {
	t.Helper()
	if first, err := s.FirstLoad(t.Context(), id, "op", func(context.Context, sale.Ledger) error { return nil }); err != nil || !first {
		t.Fatalf("load: got %v, %v", first, err)
	}
}

func (s *shop) wantListing(t *testing.T, want sale.Sale) {
	t.Helper()
	got, err := s.Listing(t.Context(), want.ID)
	if err != nil || !reflect.DeepEqual(got.Sale, want) {
		t.Errorf("listing:\n got %+v, %v\nwant %+v", got.Sale, err, want)
	}
}

func (s *shop) at(now time.Time) { s.Now = func() time.Time { return now } }

// TestUpdateBeforeOpening has a sale that becomes another one, before its load and after it.
func TestUpdateBeforeOpening(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		s.at(start.Add(-time.Hour))
		for id, loaded := range map[sale.ID]bool{7: false, 8: true} {
			sl := saleOf(id, 10, 5)
			s.describe(t, sl, []byte(`{"n":1}`))
			if loaded {
				s.load(t, id)
			}
			next := sl
			next.Name, next.OpensAt, next.ClosesAt = "new name", sl.OpensAt.Add(time.Minute), sl.ClosesAt.Add(-time.Minute)
			next.PaymentWindow, next.Grace, next.Spread = sl.PaymentWindow+time.Minute, sl.Grace+time.Minute, time.Minute
			// The first item goes, the second one changes, a third one comes.
			changed := sl.Items[1]
			changed.ProductID, changed.Name, changed.Quantity, changed.PriceMinor, changed.Currency = 56, "other", 3, 1200, "JPY"
			added := changed
			added.ID, added.Quantity = changed.ID+1, 20
			next.Items = []sale.Item{changed, added}
			definition := words("o", "c")

			got, err := s.UpdateSale(t.Context(), next, definition, "anna", time.Time{})
			if err != nil || len(got) != 12 || got[10] != fmt.Sprintf("item %d price: 19.99 EUR to 1200 JPY", changed.ID) ||
				got[11] != fmt.Sprintf("item %d: added, 20 units", added.ID) {
				t.Fatalf("update: got %d changes %q, %v", len(got), got, err)
			}
			s.wantListing(t, next)
			ledger, err := s.Ledger(t.Context(), id)
			want := []map[sale.ItemID]int{{changed.ID: 3, added.ID: 20}}
			if err != nil || ledger.Version <= 1 || !reflect.DeepEqual(ledger.Shards, want) {
				t.Errorf("ledger: got %+v, %v, want %v in a new version", ledger, err, want)
			}
			if settings, err := s.Settings(t.Context(), id); err != nil || settings.Version <= 1 || !settings.OpensAt.Equal(next.OpensAt) {
				t.Errorf("settings: got %+v, %v, want the new window in a new version", settings, err)
			}
			// From now on this is the sale.
			if created, err := s.CreateSale(t.Context(), next, definition, "op"); err != nil || created {
				t.Errorf("create by the new words: got %v, %v, want no news", created, err)
			}
			if _, err := s.CreateSale(t.Context(), sl, []byte(`{"n":1}`), "op"); !errors.Is(err, order.ErrSaleExists) {
				t.Errorf("create by the old words: got %v, want ErrSaleExists", err)
			}
			if got, err := s.UpdateSale(t.Context(), next, definition, "anna", time.Time{}); err != nil || got != nil {
				t.Errorf("the same update again: got %q, %v, want nothing", got, err)
			}
			// The removed item may be sold elsewhere.
			other := saleOf(80+id, 1)
			other.Items[0].ID = sl.Items[0].ID
			s.describe(t, other, []byte(`{}`))
		}
		if n := s.count(t, `SELECT count(*) FROM operator_action WHERE actor = 'anna' AND action = 'update' AND detail LIKE '%grace: 1m0s to 2m0s%'`); n != 2 {
			t.Errorf("audit: got %d lines that name the grace, want 2", n)
		}
	})
}

// TestUpdateAfterOpening changes one thing at a time.
func TestUpdateAfterOpening(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := saleOf(7, 10, 5)
	s.describe(t, sl, words("o", "c"))
	s.load(t, 7)
	item := sl.Items[0].ID
	change := func(f func(*sale.Sale)) sale.Sale {
		next := sl
		next.Items = slices.Clone(sl.Items)
		f(&next)
		return next
	}
	for now, what := range map[time.Time]string{
		start:                               "open",
		start.Add(-1999 * time.Millisecond): "about to open",
		start.Add(2 * time.Hour):            "over",
	} {
		s.at(now)
		for want, f := range map[string]func(*sale.Sale){
			"name may not change once the sale has opened":                  func(n *sale.Sale) { n.Name = "x" },
			"opensAt may not change once the sale has opened":               func(n *sale.Sale) { n.OpensAt = start.Add(time.Second) },
			"closesAt may only become later once the sale has opened":       func(n *sale.Sale) { n.ClosesAt = n.ClosesAt.Add(-time.Millisecond) },
			"paymentWindow may not change once the sale has opened":         func(n *sale.Sale) { n.PaymentWindow++ },
			"grace may not change once the sale has opened":                 func(n *sale.Sale) { n.Grace = 0 },
			"spread may not change once the sale has opened":                func(n *sale.Sale) { n.Spread = time.Second },
			"item 701 quantity may only become larger once the sale has op": func(n *sale.Sale) { n.Items[0].Quantity-- },
			"item 701 price may not change once the sale has opened":        func(n *sale.Sale) { n.Items[0].PriceMinor++ },
			"item 701 name may not change once the sale has opened":         func(n *sale.Sale) { n.Items[0].Name = "x" },
			"item 701 productId may not change once the sale has opened":    func(n *sale.Sale) { n.Items[0].ProductID++ },
			"item 702 may not change once the sale has opened":              func(n *sale.Sale) { n.Items = n.Items[:1] },
			"item 703 may not change once the sale has opened":              func(n *sale.Sale) { n.Items = append(n.Items, saleOf(7, 1, 1, 1).Items[2]) },
		} {
			_, err := s.UpdateSale(t.Context(), change(f), words("o2", "c2"), "op", time.Time{})
			refused, ok := errors.AsType[order.RefusedError](err)
			if !ok || !strings.HasPrefix(refused.Error(), want) || strings.Contains(refused.Error(), ";") {
				t.Errorf("%s: got %v, want the refusal %q alone", what, err, want)
			}
		}
		_, err := s.UpdateSale(t.Context(), change(func(n *sale.Sale) { n.Name, n.Items[0].PriceMinor = "x", 1 }), words("o2", "c2"), "op", time.Time{})
		if refused, ok := errors.AsType[order.RefusedError](err); !ok || strings.Count(refused.Error(), ";") != 1 {
			t.Errorf("%s, two things: got %v, want both named", what, err)
		}
	}
	s.wantListing(t, sl)
	if n := s.count(t, `SELECT count(*) FROM operator_action WHERE action = 'update'`); n != 0 {
		t.Errorf("audit of refusals: got %d lines, want 0", n)
	}

	s.at(start)
	s.write(t, s.many(sl, 0, 0, 10)...)
	grown := change(func(n *sale.Sale) { n.ClosesAt, n.Items[0].Quantity = n.ClosesAt.Add(time.Hour), 12 })
	if _, err := s.UpdateSale(t.Context(), grown, words("o", "later"), "op", time.Time{}); err != nil {
		t.Fatalf("more units and a later end: %v", err)
	}
	s.wantListing(t, grown)
	if got := tally(s.write(t, s.many(sl, 0, 10, 3)...)); got[order.ResultNew] != 2 || got[order.ResultRejected] != 1 {
		t.Errorf("three more orders: got %v, want two written and one rejected", got)
	}
	if n := s.count(t, `SELECT sold FROM flash_sale_item WHERE id = $1`, int64(item)); n != 12 {
		t.Errorf("sold: got %d, want 12", n)
	}
	s.consistent(t)
}

// TestUpdateTimes: a time in the same words stays the time it was.
func TestUpdateTimes(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := saleOf(7, 10)
	s.describe(t, sl, words("+15s", "+1h"))
	s.load(t, 7)
	later := sl // as the words would mean a minute later
	later.OpensAt, later.ClosesAt = sl.OpensAt.Add(time.Minute), sl.ClosesAt.Add(time.Minute)
	later.Items = slices.Clone(sl.Items)
	later.Items[0].Quantity = 11
	s.at(start.Add(time.Minute))
	got, err := s.UpdateSale(t.Context(), later, []byte(`{"opensAt":"+15s","closesAt":"+1h","n":2}`), "op", time.Time{})
	if err != nil || !slices.Equal(got, []string{"item 701 quantity: 10 to 11"}) {
		t.Errorf("the same words: got %q, %v, want the quantity alone", got, err)
	}
	got, err = s.UpdateSale(t.Context(), later, words("+15s", "+60m"), "op", time.Time{})
	want := "closesAt: 2031-05-01T13:00:00Z to 2031-05-01T13:01:00Z"
	if err != nil || !slices.Equal(got, []string{want}) {
		t.Errorf("other words: got %q, %v, want %q", got, err, want)
	}

	// Who closed the sale is not overruled by the same words, but by a later end.
	if err := s.Close(t.Context(), 7, "op"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.UpdateSale(t.Context(), later, []byte(`{"opensAt":"+15s","closesAt":"+60m","n":3}`), "op", time.Time{}); err != nil || !slices.Equal(got, []string{"the text only"}) {
		t.Errorf("closed, the same words: got %q, %v, want the text only", got, err)
	}
	if l, _ := s.Listing(t.Context(), 7); !l.ClosesAt.Equal(start.Add(time.Minute)) {
		t.Errorf("closesAt: got %s, want it closed at %s", l.ClosesAt, start.Add(time.Minute))
	}
	if _, err := s.UpdateSale(t.Context(), later, words("+15s", "+61m"), "op", time.Time{}); err != nil {
		t.Errorf("closed, a later end: %v", err)
	}
	if l, _ := s.Listing(t.Context(), 7); l.StateAt(s.Now(), l.Standing) != sale.Open {
		t.Errorf("state: got %s, want OPEN again", l.StateAt(s.Now(), l.Standing))
	}
}

func TestUpdateRefusals(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := saleOf(7, 10)
	s.describe(t, sl, words("o", "c"))
	update := func(next sale.Sale) error {
		_, err := s.UpdateSale(t.Context(), next, words("o", "c2"), "op", time.Time{})
		return err
	}
	if err := update(saleOf(8, 1)); !errors.Is(err, order.ErrUnknownSale) {
		t.Errorf("unknown sale: got %v", err)
	}
	// A sale that was never loaded has sold nothing, although its window has begun.
	smaller := sl
	smaller.Items = slices.Clone(sl.Items)
	smaller.Items[0].Quantity = 9
	if err := update(smaller); err != nil {
		t.Errorf("never loaded: got %v, want it changed", err)
	}
	// opensAt keeps its time by its words, and then lies behind the new end.
	empty := sl
	empty.OpensAt, empty.ClosesAt = start.Add(-time.Hour), start
	if _, err := s.UpdateSale(t.Context(), empty, words("o", "c3"), "op", time.Time{}); err == nil || !strings.Contains(err.Error(), "closesAt must lie after opensAt") {
		t.Errorf("empty window: got %v, want a refusal", err)
	}
	wide := sl
	wide.Spread = sl.ClosesAt.Sub(sl.OpensAt)
	if _, err := s.UpdateSale(t.Context(), wide, words("o", "c6"), "op", time.Time{}); err == nil || !strings.Contains(err.Error(), "closesAt must lie after opensAt + spread") {
		t.Errorf("a spread as long as the window: got %v, want a refusal", err)
	}
	s.create(t, saleOf(9, 1))
	thief := sl
	thief.Items = saleOf(9, 1).Items
	if _, err := s.UpdateSale(t.Context(), thief, words("o", "c5"), "op", time.Time{}); !errors.Is(err, order.ErrItemExists) {
		t.Errorf("an item of another sale: got %v, want ErrItemExists", err)
	}
	s.wantListing(t, smaller)
	if err := s.Pause(t.Context(), 7, sale.PausedByRebuild, "keeper"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.UpdateSale(t.Context(), sl, words("o", "c4"), "op", time.Time{}); !isBusy(err, "rebuild") {
		t.Errorf("while it is rebuilt: got %v, want busy", err)
	}
}

func isBusy(err error, why string) bool {
	busy, ok := errors.AsType[order.BusyError](err)
	return ok && strings.Contains(busy.Error(), why)
}
