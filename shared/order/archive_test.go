package order_test

import (
	"errors"
	"testing"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

func TestArchive(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := s.create(t, saleOf(7, 10))
		s.load(t, 7)
		archive := func(left order.Remains) (bool, error) { return s.Archive(t.Context(), 7, "anna", left) }
		busy := func(why string, left order.Remains) {
			t.Helper()
			if first, err := archive(left); first || !isBusy(err, why) {
				t.Errorf("archive: got %v, %v, want busy: %q", first, err, why)
			}
		}
		busy("not over", order.Remains{})
		unpaid, paid := s.place(sl, 0, "u1"), s.place(sl, 0, "u2")
		s.write(t, unpaid, paid)
		if got, err := s.Pay(t.Context(), order.Payment{
			WebhookID: "w1", PaymentID: "p1", OrderID: paid.OrderID, Type: order.PaymentSucceeded, AmountMinor: 1999, Currency: "EUR", At: start,
		}); err != nil || got != order.OutcomePaid {
			t.Fatalf("pay: got %s, %v", got, err)
		}
		s.at(sl.ClosesAt)
		busy("PENDING orders: 1", order.Remains{})
		if n, err := s.Expire(t.Context(), 10); n != 1 || err != nil {
			t.Fatalf("expire: got %d, %v", n, err)
		}
		busy("units on their way back: 1", order.Remains{})
		waiting, err := s.Releases(t.Context(), 0, 10)
		if err == nil {
			err = s.ReleasesDone(t.Context(), []int64{waiting[0].ID})
		}
		if err != nil {
			t.Fatal(err)
		}
		busy("not over", order.Remains{Selling: true})
		busy("holds without a PAID order: 2", order.Remains{Held: []sale.OrderID{paid.OrderID, unpaid.OrderID}, Unreadable: 1})
		busy("no writer has confirmed: 3", order.Remains{Unconfirmed: 3})
		busy("unread records: 4", order.Remains{Unread: 4})
		if err := s.Pause(t.Context(), 7, sale.PausedByRebuild, "keeper"); err != nil {
			t.Fatal(err)
		}
		busy("rebuild", order.Remains{})
		if err := s.Resume(t.Context(), 7, sale.PausedByRebuild, "keeper"); err != nil {
			t.Fatal(err)
		}
		if n := s.count(t, `SELECT count(*) FROM operator_action WHERE action = 'archive'`); n != 0 {
			t.Errorf("audit of refusals: got %d, want 0", n)
		}

		for i, want := range []bool{true, false} {
			if first, err := archive(order.Remains{Held: []sale.OrderID{paid.OrderID}}); first != want || err != nil {
				t.Fatalf("archive %d: got %v, %v, want %v", i, first, err, want)
			}
		}
		if n := s.count(t, `SELECT count(*) FROM operator_action WHERE action = 'archive' AND actor = 'anna'`); n != 1 {
			t.Errorf("audit: got %d lines, want 1", n)
		}
		if all, err := s.Listings(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("listings: got %v, %v, want none", all, err)
		}
		if homes, err := s.Homes(t.Context(), []sale.ItemID{sl.Items[0].ID}); err != nil || len(homes) != 0 {
			t.Errorf("homes: got %v, %v, want none: a late record is a dead letter", homes, err)
		}
		if got := s.write(t, s.place(sl, 0, "late")); got[0].State == order.Pending {
			t.Errorf("a late record: got %+v, want no living order", got[0])
		}
		next := sl
		next.ClosesAt = sl.ClosesAt.Add(time.Hour)
		for name, act := range map[string]func() error{
			"pause":       func() error { return s.Pause(t.Context(), 7, sale.PausedByOperator, "op") },
			"resume":      func() error { return s.Resume(t.Context(), 7, sale.PausedByOperator, "op") },
			"rebuild":     func() error { return s.Pause(t.Context(), 7, sale.PausedByRebuild, "keeper") },
			"close":       func() error { return s.Close(t.Context(), 7, "op") },
			"lift doubts": func() error { return s.LiftDoubts(t.Context(), 7, 99, "keeper") },
			"load":        func() error { _, err := s.FirstLoad(t.Context(), 7, "op", nil); return err },
			"update": func() error {
				_, err := s.UpdateSale(t.Context(), next, words("o", "c"), "op", time.Time{})
				return err
			},
			"note": func() error { return s.Note(t.Context(), 7, "op", "redrive") },
		} {
			if err := act(); !errors.Is(err, order.ErrArchived) {
				t.Errorf("%s: got %v, want ErrArchived", name, err)
			}
		}
		if created, err := s.CreateSale(t.Context(), sl, []byte(`{"id":7}`), "op"); created || err != nil {
			t.Errorf("create again: got %v, %v, want no news", created, err)
		}
		s.consistent(t)
	})
}

// TestArchiveOfAnUnloadedSale needs no end of its window.
func TestArchiveOfAnUnloadedSale(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.create(t, saleOf(7, 10))
	if first, err := s.Archive(t.Context(), 7, "op", order.Remains{}); !first || err != nil {
		t.Errorf("archive: got %v, %v", first, err)
	}
	if _, err := s.Archive(t.Context(), 8, "op", order.Remains{}); !errors.Is(err, order.ErrUnknownSale) {
		t.Errorf("unknown sale: got %v", err)
	}
	if err := s.Note(t.Context(), 8, "op", "redrive"); !errors.Is(err, order.ErrUnknownSale) {
		t.Errorf("note on an unknown sale: got %v", err)
	}
}
