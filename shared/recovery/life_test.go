package recovery_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"flashsale/shared/giveback"
	"flashsale/shared/order"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// update gives the sale other quantities, by words that no other update has.
func (b *bench) update(t *testing.T, sl sale.Sale, words string, change func(*sale.Sale)) error {
	t.Helper()
	sl.Items = slices.Clone(sl.Items)
	change(&sl)
	_, err := b.keeper.Update(t.Context(), sl, fmt.Appendf(nil, `{"opensAt":%q,"closesAt":%q}`, words, words), "anna")
	return err
}

func more(units int) func(*sale.Sale) {
	return func(sl *sale.Sale) { sl.Items[0].Quantity += units }
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	t.Run("more units are on sale at once", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 3)
		b.sell(t, sl, 3)
		if got := b.Outcome(t, sl, 0, "u"); got != stock.SoldOut {
			t.Fatalf("before: got %s, want sold out", got)
		}
		if err := b.update(t, sl, "a", more(2)); err != nil {
			t.Fatal(err)
		}
		b.WantUnits(t, sl, 0, [4]int64{2, 0, 0, 3})
		b.reconcile(t, sl, recovery.Reconciled{})
	})
	t.Run("an update that died before Redis heard of it is told by the next pass", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 3)
		b.sell(t, sl, 2)
		grown := sl
		grown.Items = slices.Clone(sl.Items)
		more(4)(&grown)
		if _, err := b.Orders.UpdateSale(t.Context(), grown, []byte(`{"closesAt":"a"}`), "anna", time.Time{}); err != nil {
			t.Fatal(err)
		}
		b.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 2})
		b.reconcile(t, sl, recovery.Reconciled{Repaired: 1})
		b.WantUnits(t, sl, 0, [4]int64{5, 0, 0, 2})
	})
	t.Run("a database whose clock is behind lets nothing shrink that Redis sells", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.Passes(-24 * time.Hour)
		sl := b.Open(t, 3)
		b.Reserve(t, sl, 0, "u1") // on its way: no row tells of it
		var refused order.RefusedError
		if err := b.update(t, sl, "a", more(-3+1)); !errors.As(err, &refused) {
			t.Errorf("got %v, want a refusal", err)
		}
		b.WantUnits(t, sl, 0, [4]int64{2, 1, 0, 0})
		if err := b.update(t, sl, "b", more(1)); err != nil {
			t.Error(err)
		}
	})
	t.Run("the same again asserts it on Redis", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 3)
		if err := b.update(t, sl, "a", more(4)); err != nil {
			t.Fatal(err)
		}
		b.Redis.HSet(t.Context(), shoptest.Key(sl, "meta"), "quota:"+fmt.Sprint(sl.Items[0].ID), 1)
		if err := b.update(t, sl, "a", more(4)); err != nil {
			t.Fatal(err)
		}
		b.WantUnits(t, sl, 0, [4]int64{7, 0, 0, 0})
	})
	t.Run("items come, go and shrink after the load", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Sale(10, 10, 10)
		sl.OpensAt = time.Now().Add(time.Minute).UTC().Truncate(time.Millisecond)
		b.Create(t, sl)
		b.Load(t, sl)
		spare := b.Sale(10).Items[0]
		err := b.update(t, sl, "a", func(n *sale.Sale) {
			n.Items = append(n.Items[1:], spare)
			n.Items[0].Quantity = 4
			n.OpensAt = time.Now().Add(-time.Minute).UTC().Truncate(time.Millisecond)
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[sale.ItemID]int64{sl.Items[0].ID: 0, sl.Items[1].ID: 4, sl.Items[2].ID: 10, spare.ID: 10}
		for id, units := range want {
			if got := b.Check(t, sl).Items[id]; got.Stock != units || got.Quota != units {
				t.Errorf("item %d: got %+v, want %d units", id, got, units)
			}
		}
		if got := b.Outcome(t, sl, 0, "u"); got != stock.SoldOut {
			t.Errorf("the removed item: got %s, want sold out", got)
		}
		b.reconcile(t, sl, recovery.Reconciled{})
		sl.Items = []sale.Item{spare}
		if got := b.Outcome(t, sl, 0, "u"); got != stock.Reserved {
			t.Errorf("the new item: got %s, want reserved", got)
		}
	})
	t.Run("a later end opens a closed sale again", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 3)
		if err := b.Orders.Close(t.Context(), sl.ID, "op"); err != nil {
			t.Fatal(err)
		}
		if err := b.keeper.Govern(t.Context(), sl.ID); err != nil {
			t.Fatal(err)
		}
		if got := b.Outcome(t, sl, 0, "u"); got != stock.Closed {
			t.Fatalf("before: got %s, want closed", got)
		}
		if err := b.update(t, sl, "a", func(n *sale.Sale) { n.ClosesAt = n.ClosesAt.Add(time.Hour) }); err != nil {
			t.Fatal(err)
		}
		if got := b.Outcome(t, sl, 0, "u"); got != stock.Reserved {
			t.Errorf("after: got %s, want reserved", got)
		}
	})
	t.Run("a lost sale is not changed", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 3)
		b.Redis.Del(t.Context(), shoptest.Key(sl, "meta"))
		if err := b.update(t, sl, "a", more(1)); !errors.Is(err, recovery.ErrLost) {
			t.Errorf("update: got %v, want ErrLost", err)
		}
		if l, err := b.Orders.Listing(t.Context(), sl.ID); err != nil || l.Items[0].Quantity != 3 {
			t.Errorf("quantity: got %+v, %v, want 3", l.Items, err)
		}
	})
}

// TestUpdateDuringTheSale has updates while units are sold, written, expired and
// given back, and a reconcile pass beside them.
func TestUpdateDuringTheSale(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sl := b.Open(t, 10)
	shards := stock.Of(&sl)
	var work sync.WaitGroup
	for worker := range 4 {
		work.Go(func() {
			for i := range 25 {
				p := b.Place(sl, 0, fmt.Sprintf("u%d-%d", worker, i))
				got, err := b.Stock.Reserve(t.Context(), shards, stock.Attempt{OrderID: p.OrderID, UserID: p.UserID, ItemID: p.ItemID})
				if err != nil {
					t.Errorf("reserve: %v", err)
				}
				if got.Outcome != stock.Reserved {
					continue
				}
				if _, err := b.Stock.Claim(t.Context(), shards, []sale.Placed{p}); err != nil {
					t.Errorf("claim: %v", err)
				}
				w, err := b.Orders.WriteBatch(t.Context(), []sale.Placed{p})
				if err != nil || w[0].Result != order.ResultNew {
					t.Errorf("write: got %+v, %v, want a new row: Redis promised a unit", w, err)
					continue
				}
				if err := b.Stock.Confirm(t.Context(), shards, []stock.Confirmation{{OrderID: p.OrderID, UserID: p.UserID, PayBy: w[0].PayBy}}); err != nil {
					t.Errorf("confirm: %v", err)
				}
			}
		})
	}
	for worker := range 2 {
		work.Go(func() {
			for i := range 8 {
				err := b.update(t, sl, fmt.Sprintf("%d-%d", worker, i), more(2*i+worker))
				if _, refused := errors.AsType[order.RefusedError](err); err != nil && !refused {
					t.Errorf("update: %v", err)
				}
			}
		})
	}
	work.Go(func() {
		for range 8 {
			b.Passes(3 * time.Minute)
			if _, err := b.Orders.Expire(t.Context(), 5); err != nil {
				t.Errorf("expire: %v", err)
			}
			if _, err := giveback.Drain(t.Context(), b.Orders, b.Stock); err != nil {
				t.Errorf("give back: %v", err)
			}
			if _, err := b.keeper.Reconcile(t.Context(), &sl); err != nil {
				t.Errorf("reconcile: %v", err)
			}
		}
	})
	work.Wait()
	if _, err := b.keeper.Reconcile(t.Context(), &sl); err != nil {
		t.Fatal(err)
	}
	rows, err := b.Orders.Report(t.Context(), sl.ID)
	if err != nil {
		t.Fatal(err)
	}
	report := b.Check(t, sl)
	units := report.Items[sl.Items[0].ID]
	if row := rows.Items[0]; row.Quantity != 25 || units.Quota != 25 || int(units.Holds()) != row.Sold || !report.Conserved() || report.Outbox != 0 {
		t.Errorf("after the race: got rows %+v, shard %+v, want 25 units, holds = sold, conserved", row, report)
	}
}
