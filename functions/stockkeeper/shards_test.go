package stockkeeper_test

import (
	"context"
	"fmt"
	"testing"

	"flashsale/functions/stockkeeper"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// TestMovesUnits has a shard that wishes, and a mover that died after it took.
func TestMovesUnits(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	sl := d.Sale(8)
	sl.Shards = 2
	sh, id := stock.Of(&sl), sl.Items[0].ID
	t.Cleanup(func() { _ = d.Stock.Drop(context.WithoutCancel(t.Context()), sh) })
	d.Create(t, sl)
	d.Load(t, sl)
	sold := 0
	for i := 0; sold < 5; i++ {
		user := fmt.Sprint("u", i)
		if sh.Home(user) != 0 {
			continue
		}
		if sold++; sold == 5 {
			if got := d.Outcome(t, sl, 0, user); got != stock.SoldOut {
				t.Fatalf("a fifth in the shard: got %v, want sold out", got)
			}
			break
		}
		d.Reserve(t, sl, 0, user)
	}
	want := func(first, second int64) {
		t.Helper()
		levels, err := d.Stock.Levels(t.Context(), sh)
		if err != nil || levels[0].Items[id].Stock != first || levels[1].Items[id].Stock != second {
			t.Errorf("stock by shard: got %+v, %v, want %d and %d", levels, err, first, second)
		}
	}
	if got, err := d.Stock.Shrink(t.Context(), sh, 1, 2, map[sale.ItemID]int{id: 3}); err != nil || got != stock.QuotaApplied {
		t.Fatalf("shrink: %v, %v", got, err)
	}
	want(0, 3)
	d.passes(t, stockkeeper.Result{TransfersFinished: 1})
	want(2, 2)
	d.passes(t, stockkeeper.Result{})
	want(2, 2)
}

// TestFinishedMoveIsAFigure counts it beside the other repairs.
func TestFinishedMoveIsAFigure(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	sl := d.Sale(8)
	sl.Shards = 2
	t.Cleanup(func() { _ = d.Stock.Drop(context.WithoutCancel(t.Context()), stock.Of(&sl)) })
	d.Create(t, sl)
	d.Load(t, sl)
	pass := d.figures(t)
	half := map[sale.ItemID]int{sl.Items[0].ID: 3}
	if got, err := d.Stock.Shrink(t.Context(), stock.Of(&sl), 1, 2, half); err != nil || got != stock.QuotaApplied {
		t.Fatalf("shrink: %v, %v", got, err)
	}
	for _, want := range []float64{1, 0} {
		if got := pass(false); got["Repaired"] != want {
			t.Errorf("told %v, want Repaired %v", got, want)
		}
	}
}
