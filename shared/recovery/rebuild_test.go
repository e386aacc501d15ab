package recovery_test

import (
	"errors"
	"testing"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

func TestRebuild(t *testing.T) {
	t.Parallel()
	t.Run("rows become holds, the rest is for sale", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 10)
		placed := b.sell(t, sl, 4)
		b.Passes(sl.PaymentWindow + sl.Grace)
		if n, err := b.Orders.Expire(t.Context(), 1); err != nil || n != 1 {
			t.Fatalf("expire: %d, %v", n, err)
		}
		b.wantLost(t, sl, false)
		b.wipe(t, sl)
		b.wantLost(t, sl, true)
		if got := b.Outcome(t, sl, 0, "u"); got != stock.NotLoaded {
			t.Errorf("lost: got %s, want not loaded", got)
		}
		if first, err := b.keeper.Load(t.Context(), sl.ID); first || !errors.Is(err, recovery.ErrLost) {
			t.Errorf("load of a lost sale: got %v, %v, want ErrLost", first, err)
		}
		got, err := b.keeper.Rebuild(t.Context(), &sl)
		if err != nil || got.Adopted != 3 {
			t.Fatalf("rebuild: got %+v, %v, want 3 adopted", got, err)
		}
		b.wantLost(t, sl, false)
		b.WantUnits(t, sl, 0, [4]int64{7, 0, 0, 3})
		for _, p := range placed {
			want := stock.Reserved
			if b.Row(t, p.OrderID).State == order.Pending {
				want = stock.Already
			}
			if got := b.Outcome(t, sl, 0, p.UserID); got != want {
				t.Errorf("%s asks again: got %s, want %s", p.UserID, got, want)
			}
		}
	})
	t.Run("nothing is sold until the order log is drained", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 10)
		late := b.Reserve(t, sl, 0, "late")
		b.wipe(t, sl)
		b.backlog = 1
		if _, err := b.keeper.Rebuild(t.Context(), &sl); !errors.Is(err, recovery.ErrDraining) {
			t.Fatalf("rebuild with a backlog: got %v, want ErrDraining", err)
		}
		if got := b.Outcome(t, sl, 0, "u"); got != stock.NotLoaded {
			t.Errorf("draining: got %s, want not loaded", got)
		}
		// The writer goes on meanwhile; the database alone decides.
		if got, err := b.Stock.Claim(t.Context(), stock.Of(&sl), []sale.Placed{late}); err != nil || got[0] != stock.Unguarded {
			t.Fatalf("claim: got %v, %v, want unguarded", got, err)
		}
		b.Write(t, late)
		b.backlog = 0
		if got, err := b.keeper.Rebuild(t.Context(), &sl); err != nil || got.Adopted != 1 {
			t.Fatalf("rebuild: got %+v, %v, want 1 adopted", got, err)
		}
		b.WantUnits(t, sl, 0, [4]int64{9, 0, 0, 1})
	})
	t.Run("one that died half-way is finished by the next, and an operator's pause outlives it", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 10)
		b.sell(t, sl, 4)
		b.wipe(t, sl)
		if err := b.Orders.Pause(t.Context(), sl.ID, sale.PausedByOperator, "test"); err != nil {
			t.Fatal(err)
		}
		if err := b.Orders.Pause(t.Context(), sl.ID, sale.PausedByRebuild, "test"); err != nil {
			t.Fatal(err)
		}
		b.Stack(t, sl) // markers are there, holds are not
		b.wantLost(t, sl, true)
		if got, err := b.keeper.Rebuild(t.Context(), &sl); err != nil || got.Adopted != 4 {
			t.Fatalf("rebuild: got %+v, %v, want 4 adopted", got, err)
		}
		if got := b.Outcome(t, sl, 0, "u"); got != stock.Paused {
			t.Errorf("rebuilt: got %s, want paused by the operator", got)
		}
	})
	t.Run("a meta key of a wrong type is a loss", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 10)
		b.sell(t, sl, 2)
		if err := b.Redis.Set(t.Context(), shoptest.Key(sl, "meta"), "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
		b.wantLost(t, sl, true)
		if _, err := b.keeper.Rebuild(t.Context(), &sl); err != nil {
			t.Fatal(err)
		}
		b.WantUnits(t, sl, 0, [4]int64{8, 0, 0, 2})
	})
	t.Run("a purchase that was under way is waited for", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 1)
		late := b.Reserve(t, sl, 0, "late")
		b.wipe(t, sl)
		// It publishes while the rebuild is under way, as late as it may.
		var log tape
		keeper := &recovery.Keeper{Orders: b.Orders, Stock: b.Stock, UnderWay: 500 * time.Millisecond, Mark: log.mark}
		time.AfterFunc(100*time.Millisecond, func() { log.end.Store(1) })
		if _, err := keeper.Rebuild(t.Context(), &sl); !errors.Is(err, recovery.ErrDraining) {
			t.Errorf("rebuild: got %v, want ErrDraining", err)
		}
		if got := b.Outcome(t, sl, 0, "u"); got == stock.Reserved {
			t.Error("the unit of a purchase that was under way is sold again")
		}
		b.Write(t, late)
		log.written.Store(1)
		if got, err := keeper.Rebuild(t.Context(), &sl); err != nil || got.Adopted != 1 {
			t.Errorf("rebuild: got %+v, %v, want 1 adopted", got, err)
		}
	})
	t.Run("two at once", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 10)
		b.sell(t, sl, 4)
		b.wipe(t, sl)
		done := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := b.keeper.Rebuild(t.Context(), &sl)
				done <- err
			}()
		}
		for range 2 {
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("a rebuild hangs")
			}
		}
		b.WantUnits(t, sl, 0, [4]int64{6, 0, 0, 4})
	})
}

// wantLost wants that Redis has lost the sale, or that it has not.
func (b *bench) wantLost(t *testing.T, sl sale.Sale, want bool) {
	t.Helper()
	if got, err := b.keeper.Lost(t.Context(), &sl); err != nil || got != want {
		t.Fatalf("lost: got %v, %v, want %v", got, err, want)
	}
}

// wipe makes Redis lose the sale.
func (b *bench) wipe(t *testing.T, sl sale.Sale) {
	t.Helper()
	if err := b.Stock.Drop(t.Context(), stock.Of(&sl)); err != nil {
		t.Fatal(err)
	}
}
