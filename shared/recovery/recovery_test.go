package recovery_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"flashsale/shared/order"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	w := open(t)
	t.Run("at once and again", func(t *testing.T) {
		t.Parallel()
		sl := w.Sale(5, 7)
		w.Create(t, sl)
		var firsts atomic.Int64
		var wait sync.WaitGroup
		for range 3 {
			wait.Go(func() {
				first, err := w.keeper.Load(t.Context(), sl.ID)
				if err != nil {
					t.Errorf("load: %v", err)
				}
				if first {
					firsts.Add(1)
				}
			})
		}
		wait.Wait()
		if firsts.Load() != 1 {
			t.Errorf("first loads: got %d, want 1", firsts.Load())
		}
		w.Reserve(t, sl, 0, "u1")
		if first, err := w.keeper.Load(t.Context(), sl.ID); first || err != nil {
			t.Errorf("load mid-sale: got %v, %v, want false", first, err)
		}
		w.WantUnits(t, sl, 0, [4]int64{4, 1, 0, 0})
		w.WantUnits(t, sl, 1, [4]int64{7, 0, 0, 0})
	})
	t.Run("died before its commit", func(t *testing.T) {
		t.Parallel()
		sl := w.Sale(5)
		w.Create(t, sl)
		w.Stack(t, sl) // the shard has its quota, the row no loaded_at
		if got := w.Outcome(t, sl, 0, "u1"); got != stock.NotLoaded {
			t.Errorf("half-way: got %v, want not loaded", got)
		}
		if first, err := w.keeper.Load(t.Context(), sl.ID); !first || err != nil {
			t.Errorf("load: got %v, %v, want true", first, err)
		}
		w.WantUnits(t, sl, 0, [4]int64{5, 0, 0, 0})
		if got := w.Outcome(t, sl, 0, "u1"); got != stock.Reserved {
			t.Errorf("loaded: got %v, want reserved", got)
		}
	})
	t.Run("lost", func(t *testing.T) {
		t.Parallel()
		sl := w.Open(t, 5)
		w.Redis.Del(t.Context(), shoptest.Key(sl, "meta"), shoptest.Key(sl, "stock"))
		if first, err := w.keeper.Load(t.Context(), sl.ID); first || !errors.Is(err, recovery.ErrLost) {
			t.Errorf("load: got %v, %v, want ErrLost", first, err)
		}
		if got := w.Outcome(t, sl, 0, "u1"); got != stock.NotLoaded {
			t.Errorf("purchase: got %v, want not loaded", got)
		}
	})
	t.Run("paused before it was loaded", func(t *testing.T) {
		t.Parallel()
		sl := w.Sale(5)
		w.Create(t, sl)
		if err := w.Orders.Pause(t.Context(), sl.ID, sale.PausedByOperator, "test"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.keeper.Load(t.Context(), sl.ID); err != nil {
			t.Fatal(err)
		}
		if got := w.Outcome(t, sl, 0, "u1"); got != stock.Paused {
			t.Errorf("purchase: got %v, want paused", got)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		if first, err := w.keeper.Load(t.Context(), w.Sale(1).ID); first || !errors.Is(err, order.ErrUnknownSale) {
			t.Errorf("load: got %v, %v, want ErrUnknownSale", first, err)
		}
	})
	t.Run("redis away", func(t *testing.T) {
		t.Parallel()
		sl := w.Sale(5)
		w.Create(t, sl)
		away := &recovery.Keeper{Orders: w.Orders, Stock: shoptest.OpenShelf(t, "redis://127.0.0.1:1").Stock}
		if first, err := away.Load(t.Context(), sl.ID); first || err == nil {
			t.Errorf("load: got %v, %v, want an error", first, err)
		}
		if first, err := w.keeper.Load(t.Context(), sl.ID); !first || err != nil {
			t.Errorf("load again: got %v, %v, want true", first, err)
		}
	})
}

// TestGovern has a reason for each stop; every one must be lifted by itself.
func TestGovern(t *testing.T) {
	t.Parallel()
	w := open(t)
	sl := w.Open(t, 5, 5)
	orders := w.Orders
	steps := []struct {
		name   string
		change func() error
		first  stock.Outcome // of item 0
		second stock.Outcome
	}{
		{"doubt", func() error { return orders.Doubt(t.Context(), sl.ID, sl.Items[0].ID) }, stock.Paused, stock.Reserved},
		{"pause", func() error { return orders.Pause(t.Context(), sl.ID, sale.PausedByOperator, "t") }, stock.Paused, stock.Paused},
		{"rebuild", func() error { return orders.Pause(t.Context(), sl.ID, sale.PausedByRebuild, "t") }, stock.Paused, stock.Paused},
		{"resume", func() error { return orders.Resume(t.Context(), sl.ID, sale.PausedByOperator, "t") }, stock.Paused, stock.Paused},
		{"rebuilt", func() error { return orders.Resume(t.Context(), sl.ID, sale.PausedByRebuild, "t") }, stock.Paused, stock.Reserved},
		{"close", func() error { return orders.Close(t.Context(), sl.ID, "t") }, stock.Paused, stock.Closed},
	}
	for _, step := range steps {
		if err := step.change(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		for range 2 {
			if err := w.keeper.Govern(t.Context(), sl.ID); err != nil {
				t.Fatalf("govern after %s: %v", step.name, err)
			}
		}
		if first, second := w.Outcome(t, sl, 0, "u1"), w.Outcome(t, sl, 1, "u1"); first != step.first || second != step.second {
			t.Errorf("after %s: got %v and %v, want %v and %v", step.name, first, second, step.first, step.second)
		}
	}
	t.Run("not loaded yet", func(t *testing.T) {
		created := w.Sale(1)
		w.Create(t, created)
		if err := w.keeper.Govern(t.Context(), created.ID); err != nil {
			t.Errorf("govern: got %v, want nothing to do", err)
		}
	})
	t.Run("lost", func(t *testing.T) {
		lost := w.Open(t, 1)
		w.Redis.Del(t.Context(), shoptest.Key(lost, "meta"))
		if err := w.keeper.Govern(t.Context(), lost.ID); !errors.Is(err, recovery.ErrLost) {
			t.Errorf("govern: got %v, want ErrLost", err)
		}
	})
}
