package order_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

func TestWriteBatch(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := s.create(t, saleOf(7, 10, 5))

		t.Run("a new order", func(t *testing.T) {
			p := s.place(sl, 0, "ann")
			got := s.write(t, p)[0]
			want := order.Written{Result: order.ResultNew, State: order.Pending, PayBy: start.Add(10 * time.Minute)}
			if got != want {
				t.Errorf("written: got %+v, want %+v", got, want)
			}
			row, err := s.Order(t.Context(), p.OrderID, "ann")
			wantRow := order.Order{
				ID: p.OrderID, SaleID: 7, ItemID: 701, UserID: "ann", State: order.Pending, PriceMinor: 1999, Currency: "EUR",
				ReservedAt: start, CreatedAt: start, PayBy: start.Add(10 * time.Minute),
			}
			if err != nil || row != wantRow {
				t.Errorf("row: got %+v, %v, want %+v", row, err, wantRow)
			}
		})
		t.Run("the same record again, within and over batches", func(t *testing.T) {
			p := s.place(sl, 0, "bob")
			twice := s.write(t, p, p)
			if twice[0].Result != order.ResultNew || twice[1].Result != order.ResultKnown {
				t.Errorf("within: got %+v, want new and known", twice)
			}
			if got := s.write(t, p)[0]; got.Result != order.ResultKnown || got.State != order.Pending || got.PayBy != twice[0].PayBy {
				t.Errorf("over: got %+v, want known, PENDING, payBy %v", got, twice[0].PayBy)
			}
		})
		t.Run("two items of one sale by one shopper", func(t *testing.T) {
			first, second := s.place(sl, 0, "cid"), s.place(sl, 1, "cid")
			got := s.write(t, first, second)
			want := order.Written{Result: order.ResultRejected, State: order.Rejected, Reason: order.ReasonSecondOrder}
			if got[0].Result != order.ResultNew || got[1] != want {
				t.Errorf("at once: got %+v, want new and %+v", got, want)
			}
			third := s.place(sl, 1, "cid")
			if got := s.write(t, third)[0]; got != want {
				t.Errorf("later: got %+v, want %+v", got, want)
			}
			want.Result = order.ResultKnown
			if got := s.write(t, third)[0]; got != want {
				t.Errorf("later, again: got %+v, want %+v", got, want)
			}
		})
		t.Run("an unknown item, or one of another sale", func(t *testing.T) {
			other := s.create(t, saleOf(8, 1))
			stranger := s.place(sl, 0, "dan")
			stranger.ItemID = 99_999
			foreign := s.place(sl, 0, "eve")
			foreign.ItemID = other.Items[0].ID
			good := s.place(sl, 0, "fay")
			got := tally(s.write(t, stranger, foreign, good))
			if got[order.ResultUnknownItem] != 2 || got[order.ResultNew] != 1 {
				t.Errorf("results: got %v, want 2 unknown items and 1 new", got)
			}
		})
		t.Run("an order id that has another's row", func(t *testing.T) {
			p := s.place(sl, 0, "gus")
			thief, switched := p, p
			thief.UserID, switched.ItemID = "hal", sl.Items[1].ID
			strange := order.Written{Result: order.ResultForeign}
			own := order.Written{Result: order.ResultForeign, State: order.Pending, PayBy: start.Add(10 * time.Minute)}
			later := p
			later.ReservedAt = start.Add(time.Second)
			for round, first := range []order.Result{order.ResultNew, order.ResultKnown} {
				got := s.write(t, p, thief, switched, later)
				if got[0].Result != first || got[3].Result != order.ResultKnown {
					t.Errorf("round %d: its own record: got %+v and %+v, want %v and known", round, got[0], got[3], first)
				}
				if got[1] != strange || got[2] != own {
					t.Errorf("round %d: another shopper: got %+v, want %+v; another item: got %+v, want %+v", round, got[1], strange, got[2], own)
				}
			}
			if got := s.write(t, thief, switched); got[0] != strange || got[1] != own {
				t.Errorf("alone: got %+v, want %+v and %+v", got, strange, own)
			}
			if row, err := s.Order(t.Context(), p.OrderID, "gus"); err != nil || !row.Is(p) || !row.Is(later) || row.Is(thief) || row.Is(switched) {
				t.Errorf("row: got %+v, %v, want it to be its own record's alone", row, err)
			}
		})
		t.Run("nothing", func(t *testing.T) {
			if got := s.write(t); len(got) != 0 {
				t.Errorf("answers: got %v, want none", got)
			}
		})
		s.consistent(t)
	})
}

func TestWriteBatchGuard(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := s.create(t, saleOf(7, 1000, 100, 1000))
		before, _ := s.Settings(t.Context(), sl.ID)

		// 100 of 1,000 fit; the items around it are not touched by that.
		placed := slices.Concat(s.many(sl, 2, 0, 10), s.many(sl, 1, 100, 1000), s.many(sl, 0, 2000, 10))
		written := s.write(t, placed...)
		for i, w := range written {
			full := i >= 110 && i < 1010
			if want := order.ResultNew; !full && w.Result != want {
				t.Fatalf("record %d: got %+v, want new: the first to arrive win", i, w)
			}
			want := order.Written{Result: order.ResultRejected, State: order.Rejected, Reason: order.ReasonGuard}
			if full && w != want {
				t.Fatalf("record %d: got %+v, want %+v", i, w, want)
			}
		}
		if n := s.count(t, `SELECT sold FROM flash_sale_item WHERE id = 702`); n != 100 {
			t.Errorf("sold: got %d, want 100", n)
		}
		after, err := s.Settings(t.Context(), sl.ID)
		if err != nil || !slices.Equal(after.Doubts, []sale.ItemID{702}) || after.Version <= before.Version {
			t.Errorf("settings: got %+v, %v, want item 702 in doubt by a version over %d", after, err, before.Version)
		}
		// A refused shopper is free to buy something else.
		if got := s.write(t, s.place(sl, 0, placed[1009].UserID))[0]; got.Result != order.ResultNew {
			t.Errorf("refused shopper's next order: got %+v, want new", got)
		}
		// A refused record that comes again finds its row.
		if got := s.write(t, placed[1009])[0]; got.Result != order.ResultKnown || got.Reason != order.ReasonGuard {
			t.Errorf("refused record again: got %+v, want known", got)
		}
		s.consistent(t)
	})
}

// Eight writers get the same 300 shoppers' records in different sequences and cuts.
func TestWritersAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.create(t, saleOf(7, 1000, 60, 1000))
	placed := slices.Concat(s.many(sl, 0, 0, 100), s.many(sl, 1, 100, 100), s.many(sl, 2, 200, 100))
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			mine := slices.Clone(placed[w*20:])
			if w%2 == 1 {
				slices.Reverse(mine)
			}
			for part := range slices.Chunk(mine, 37+w) {
				s.retry(t, func() error {
					_, err := s.WriteBatch(t.Context(), part)
					return err
				})
			}
		})
	}
	group.Wait()
	s.consistent(t)
	for state, want := range map[string]int{"PENDING": 260, "REJECTED": 40} {
		if n := s.count(t, `SELECT count(*) FROM flash_sale_order WHERE status = $1`, state); n != want {
			t.Errorf("%s: got %d, want %d", state, n, want)
		}
	}
}

// retry is what the event source mapping does with a batch that failed.
func (s *shop) retry(t *testing.T, do func() error) {
	for range 20 {
		err := do()
		if err == nil {
			return
		}
		t.Logf("retried: %v", err)
	}
	t.Error("20 attempts failed")
}

func TestWriteBatchCancelled(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.create(t, saleOf(7, 100))
	blocker, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = blocker.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := blocker.Exec(t.Context(), `SELECT FROM flash_sale_item WHERE id = 701 FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	// The rows are inserted, then the guard waits for the blocker until the deadline. What
	// the server has got it may still do: the outcome is unknown.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	placed := s.many(sl, 0, 0, 50)
	if _, err := s.WriteBatch(ctx, placed); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("blocked batch: got %v, want a passed deadline", err)
	}
	if err := blocker.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tally(s.write(t, placed...)); got[order.ResultNew] != 50 && got[order.ResultKnown] != 50 {
		t.Errorf("same batch again: got %v, want 50 new or 50 known", got)
	}
	if n := s.count(t, `SELECT sold FROM flash_sale_item WHERE id = 701`); n != 50 {
		t.Errorf("sold: got %d, want 50", n)
	}
	s.consistent(t)
}

func TestReject(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := s.create(t, saleOf(7, 10))
		known, dropped, stranger := s.place(sl, 0, "ann"), s.place(sl, 0, "bob"), s.place(sl, 0, "cid")
		stranger.ItemID = 99_999
		s.write(t, known)
		for range 2 {
			if err := s.Reject(t.Context(), []sale.Placed{known, dropped, stranger, dropped}, "dropped"); err != nil {
				t.Fatalf("reject: %v", err)
			}
		}
		rows, err := s.Orders(t.Context(), []sale.OrderID{known.OrderID, dropped.OrderID, stranger.OrderID})
		if err != nil || len(rows) != 2 {
			t.Fatalf("rows: got %v, %v, want 2: none for an unknown item", rows, err)
		}
		if got := rows[known.OrderID]; got.State != order.Pending {
			t.Errorf("known order: got %+v, want it PENDING as before", got)
		}
		if got := rows[dropped.OrderID]; got.State != order.Rejected || got.Reason != "dropped" || !got.PayBy.IsZero() {
			t.Errorf("dropped order: got %+v, want REJECTED, dropped, without payBy", got)
		}
		s.consistent(t)
	})
}
