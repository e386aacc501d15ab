package recovery_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// shardKey is a key of one of several shards. Its tag may have a suffix.
func (b *bench) shardKey(t *testing.T, sl sale.Sale, shard int, part string) string {
	t.Helper()
	keys, err := b.Redis.Keys(t.Context(), fmt.Sprintf("{sale:%d:%d*}:meta", sl.ID, shard)).Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys of shard %d: %v, %v, want one", shard, keys, err)
	}
	return strings.TrimSuffix(keys[0], "meta") + part
}

// pass is what the stockkeeper does with a loaded sale.
func (b *bench) pass(t *testing.T, sl sale.Sale) recovery.Reconciled {
	t.Helper()
	sum, err := b.keeper.Reconcile(t.Context(), &sl)
	if err != nil {
		t.Fatalf("reconcile: %v", err)
	}
	return sum
}

func (b *bench) versions(t *testing.T, sl sale.Sale) (ledger, settings int64) {
	t.Helper()
	l, err := b.Orders.Ledger(t.Context(), sl.ID)
	if err != nil {
		t.Fatal(err)
	}
	set, err := b.Orders.Settings(t.Context(), sl.ID)
	if err != nil {
		t.Fatal(err)
	}
	return l.Version, set.Version
}

// TestDamagedFields writes what no script writes. One pass mends it, no number of
// it gets into the database, and nobody hears sold out meanwhile.
func TestDamagedFields(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, damage := range []string{
		"meta settings xyz", "meta settings inf", "meta settings nan", "meta settings 9223372036854775800",
		"meta version abc", "meta version 99999999999999999999", "meta version 9223372036854775800",
		"meta version 999999999999999", "meta version -5", "meta version 007",
		"meta quota:ITEM abc", "meta quota:ITEM 1e3", "meta quota:ITEM 9223372036854775807", "meta quota:ITEM -3",
		"meta quota:abc 3", "meta quota:99999999999999999999 3", "meta doubt:x 1", "meta rubbish 7", "meta loaded yes",
		"meta opensAt soon", "meta opensAt 1", "meta closesAt 1e9", "meta paused rubbish", "meta paused operator", "meta doubt:ITEM 1",
		"stock xx 3", "stock ITEM abc", "stock ITEM 1e3", "stock ITEM 9223372036854775807",
	} {
		t.Run(damage, func(t *testing.T) {
			t.Parallel()
			sl := b.Open(t, 10)
			b.sell(t, sl, 3)
			f := strings.Fields(strings.ReplaceAll(damage, "ITEM", fmt.Sprint(sl.Items[0].ID)))
			if err := b.Redis.HSet(t.Context(), shoptest.Key(sl, f[0]), f[1], f[2]).Err(); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Stock.Check(t.Context(), stock.Of(&sl), 0); err != nil {
				t.Errorf("check: got %v, want a report", err)
			}
			if got := b.pass(t, sl); got.Repaired == 0 || got.Adopted+got.Released > 0 {
				t.Errorf("pass: got %+v, want a repair and nothing else", got)
			}
			b.WantUnits(t, sl, 0, [4]int64{7, 0, 0, 3})
			if got := b.Outcome(t, sl, 0, "u"); got != stock.Reserved {
				t.Errorf("purchase: got %v, want reserved", got)
			}
			if ledger, settings := b.versions(t, sl); ledger > 9 || settings > 9 {
				t.Errorf("versions in the database: got %d and %d, want small ones", ledger, settings)
			}
			report := b.Check(t, sl)
			if ledger, settings := b.versions(t, sl); report.Version != ledger || report.Settings != settings {
				t.Errorf("versions of the shard: got %d and %d, want %d and %d", report.Version, report.Settings, ledger, settings)
			}
			b.reconcile(t, sl, recovery.Reconciled{})
		})
	}
}

// TestNoQuotaIsNotSoldOut presses between the repair that drops a quota and the
// assertion that brings it back.
func TestNoQuotaIsNotSoldOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sl := b.Open(t, 10)
	b.sell(t, sl, 3)
	b.Redis.HSet(t.Context(), shoptest.Key(sl, "meta"), "quota:"+fmt.Sprint(sl.Items[0].ID), "abc")
	if _, err := b.Stock.Left(t.Context(), &sl); err == nil {
		t.Error("left: got an answer, want an error while a quota is damaged")
	}
	pressed := 0
	b.Redis.AddHook(afterRepair(func() {
		pressed++
		p := b.Place(sl, 0, "stranger")
		got, err := b.Stock.Reserve(t.Context(), stock.Of(&sl), stock.Attempt{OrderID: p.OrderID, UserID: p.UserID, ItemID: p.ItemID})
		if !errors.Is(err, stock.ErrUnknownItem) {
			t.Errorf("a press: got %v, %v, want ErrUnknownItem", got.Outcome, err)
		}
		if left, err := b.Stock.Left(t.Context(), &sl); err == nil && left[sl.Items[0].ID] == 0 {
			t.Error("left: got 0, want that nobody takes it for sold out")
		}
	}))
	b.pass(t, sl)
	if pressed == 0 {
		t.Error("nothing was repaired")
	}
	b.WantUnits(t, sl, 0, [4]int64{7, 0, 0, 3})
}

// TestMissingStock is a field deleted where it was 0: it adds up, and says 503.
func TestMissingStock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sl := b.Open(t, 2)
	b.sell(t, sl, 2)
	b.Redis.HDel(t.Context(), shoptest.Key(sl, "stock"), fmt.Sprint(sl.Items[0].ID))
	b.pass(t, sl)
	if got := b.Outcome(t, sl, 0, "u"); got != stock.SoldOut {
		t.Errorf("purchase: got %v, want sold out", got)
	}
}

// TestLostAndWrongType must not keep the rebuild from its work.
func TestLostAndWrongType(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, part := range []string{"stock", "holds", "unconfirmed", "released"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			sl := b.Open(t, 10)
			b.sell(t, sl, 3)
			b.Redis.Del(t.Context(), shoptest.Key(sl, "meta"), shoptest.Key(sl, part))
			b.Redis.Set(t.Context(), shoptest.Key(sl, part), "x", 0)
			b.Redis.HSet(t.Context(), shoptest.Key(sl, "meta"), "quota:"+fmt.Sprint(sl.Items[0].ID), "abc")
			if _, err := b.keeper.Rebuild(t.Context(), &sl); err != nil {
				t.Fatal(err)
			}
			b.WantUnits(t, sl, 0, [4]int64{7, 0, 0, 3})
		})
	}
}
