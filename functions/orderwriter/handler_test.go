package orderwriter_test

import (
	"testing"

	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// TestWritesOnce has every record twice in its batch, and every batch twice.
func TestWritesOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl, other := d.Open(t, 5), d.Open(t, 3)
	placed := []sale.Placed{
		d.Reserve(t, sl, 0, "u1"), d.Reserve(t, other, 0, "u1"), d.Reserve(t, sl, 0, "u2"), d.Reserve(t, sl, 0, "ü 3"),
	}
	records := append(d.records(placed...), d.records(placed...)...)
	for range 2 {
		d.writes(t, records...)
		for _, p := range placed {
			d.WantRow(t, p.OrderID, order.Pending, "")
			sh := stock.Shards{Sale: p.SaleID, N: 1}
			hold, held, err := d.Stock.Hold(t.Context(), sh, p.UserID)
			row := d.Row(t, p.OrderID)
			if err != nil || !held || hold.Unconfirmed || !hold.PayBy.Equal(row.PayBy) || row.UserID != p.UserID {
				t.Errorf("hold %+v (%v, %v), want it confirmed until %s", hold, held, err, row.PayBy)
			}
		}
		if got := d.rows(t); got != len(placed) {
			t.Errorf("rows: got %d, want %d", got, len(placed))
		}
		d.WantUnits(t, sl, 0, [4]int64{2, 0, 0, 3})
		d.WantUnits(t, other, 0, [4]int64{2, 0, 0, 1})
		d.WantSold(t, sl, 0, 3)
	}
	if letters := d.deadLetters(t); len(letters) != 0 {
		t.Errorf("dead letters: got %v, want none", letters)
	}
}

func TestTombstoned(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 2)
	p := d.Reserve(t, sl, 0, "u1")
	d.release(t, sl, stock.Unclaimed, p, stock.Released)
	for range 2 {
		d.writes(t, d.records(p)...)
		d.WantRow(t, p.OrderID, order.Rejected, "dropped")
		d.WantUnits(t, sl, 0, [4]int64{2, 0, 0, 0})
		d.WantSold(t, sl, 0, 0)
	}
	again := d.Reserve(t, sl, 0, "u1")
	d.writes(t, append(d.records(again), d.records(p)...)...)
	d.WantRow(t, again.OrderID, order.Pending, "")
	d.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 1})
}

// TestTwoOrdersOfOneShopper has two items of one sale at once.
func TestTwoOrdersOfOneShopper(t *testing.T) {
	t.Parallel()
	d := open(t)
	t.Run("redis decides", func(t *testing.T) {
		t.Parallel()
		sl := d.Open(t, 2, 2)
		second := d.Place(sl, 1, "u1")
		first := d.Reserve(t, sl, 0, "u1")
		d.writes(t, place2(second, 1), place2(first, 2))
		d.WantRow(t, first.OrderID, order.Pending, "")
		d.WantRow(t, second.OrderID, order.Rejected, "superseded")
		d.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 1})
		d.WantUnits(t, sl, 1, [4]int64{2, 0, 0, 0})
	})
	t.Run("the database decides alone", func(t *testing.T) {
		t.Parallel()
		sl := d.Sale(2, 2)
		d.Create(t, sl) // never loaded
		first, second := d.Place(sl, 0, "u1"), d.Place(sl, 1, "u1")
		d.writes(t, place2(first, 1), place2(second, 2))
		d.WantRow(t, first.OrderID, order.Pending, "")
		d.WantRow(t, second.OrderID, order.Rejected, order.ReasonSecondOrder)
		d.WantSold(t, sl, 0, 1)
		d.WantSold(t, sl, 1, 0)
		if got := d.Check(t, sl); got.Loaded || len(got.Items) != 0 {
			t.Errorf("redis: got %+v, want nothing written where nothing is loaded", got)
		}
	})
}

// TestGuardRefuses has a Redis that promises a unit which the rows do not have:
// the order ends, and the phantom must not be sold again.
func TestGuardRefuses(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 1, 1)
	phantom := map[sale.ItemID]int{sl.Items[0].ID: 2, sl.Items[1].ID: 1}
	if got, err := d.Stock.SetQuota(t.Context(), stock.Of(&sl), 0, 2, phantom, false); err != nil || got != stock.QuotaApplied {
		t.Fatalf("quota: got %v, %v, want applied", got, err)
	}
	first, second, third := d.Reserve(t, sl, 0, "u1"), d.Reserve(t, sl, 0, "u2"), d.Reserve(t, sl, 1, "u3")
	records := d.records(first, second, third)
	for range 2 {
		d.writes(t, records...)
		d.WantRow(t, first.OrderID, order.Pending, "")
		d.WantRow(t, second.OrderID, order.Rejected, order.ReasonGuard)
		d.WantRow(t, third.OrderID, order.Pending, "")
		d.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 1})
		d.WantUnits(t, sl, 1, [4]int64{0, 0, 0, 1})
		d.WantSold(t, sl, 0, 1)
	}
	set, err := d.Orders.Settings(t.Context(), sl.ID)
	if err != nil || len(set.Doubts) != 1 || set.Doubts[0] != sl.Items[0].ID {
		t.Errorf("doubts: got %v, %v, want item %d", set.Doubts, err, sl.Items[0].ID)
	}
	if got := d.Outcome(t, sl, 0, "u4"); got != stock.Paused {
		t.Errorf("the next shopper's purchase: got %v, want paused", got)
	}
	if got := d.Outcome(t, sl, 1, "u4"); got != stock.SoldOut {
		t.Errorf("the other item: got %v, want sold out", got)
	}
}

// TestRedelivered has records that come again after their order has ended.
func TestRedelivered(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 2)
	p := d.Reserve(t, sl, 0, "u1")
	d.writes(t, d.records(p)...)
	d.Passes(sl.PaymentWindow + sl.Grace)
	if n, err := d.Orders.Expire(t.Context(), 10); n != 1 || err != nil {
		t.Fatalf("expire: got %d, %v, want 1", n, err)
	}
	t.Run("before its release", func(t *testing.T) {
		d.writes(t, d.records(p)...)
		d.WantRow(t, p.OrderID, order.Expired, "")
		d.WantUnits(t, sl, 0, [4]int64{2, 0, 0, 0})
	})
	t.Run("after its release", func(t *testing.T) {
		d.writes(t, d.records(p)...)
		d.WantUnits(t, sl, 0, [4]int64{2, 0, 0, 0})
	})
	t.Run("after the next purchase", func(t *testing.T) {
		next := d.Reserve(t, sl, 0, "u1")
		d.writes(t, d.records(p, next, p)...)
		d.WantRow(t, p.OrderID, order.Expired, "")
		d.WantRow(t, next.OrderID, order.Pending, "")
		d.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 1})
		d.WantSold(t, sl, 0, 1)
	})
}

// TestLostHold has an acknowledged order whose hold a failover lost.
func TestLostHold(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 2)
	p := d.Place(sl, 0, "u1")
	d.writes(t, d.records(p)...)
	d.WantRow(t, p.OrderID, order.Pending, "")
	d.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 1})
}

func (d *desk) release(t *testing.T, sl sale.Sale, mode stock.ReleaseMode, p sale.Placed, want stock.ReleaseOutcome) {
	t.Helper()
	got, err := d.Stock.Release(t.Context(), stock.Of(&sl), mode, []stock.Held{{OrderID: p.OrderID, UserID: p.UserID}})
	if err != nil || got[0] != want {
		t.Fatalf("release: got %v, %v, want %v", got, err, want)
	}
}

// place2 is a record for tests that share a desk, so it takes no number of it.
func place2(p sale.Placed, offset int64) orderlog.Record {
	return orderlog.Record{Topic: "orders", Offset: offset, Value: orderlog.Encode(p)}
}
