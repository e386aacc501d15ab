package stock_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		if r := f.report(t, 0); r.Loaded || len(r.Items) != 0 {
			t.Errorf("before the load: %+v, want nothing", r)
		}
		before := f.clock(t)
		f.load(t, 10)
		after := f.clock(t)
		for i := range 6 {
			a := f.attempt(fmt.Sprint("u", i))
			f.reserve(t, a, stock.Reserved)
			if i >= 3 {
				f.claim(t, a, stock.Claimed)
			}
			if i == 5 {
				f.confirm(t, a, time.Now())
			}
		}
		f.release(t, stock.Unclaimed, f.attempt("nobody"), stock.NotHeld)
		r := f.wantItem(t, stock.ItemReport{Quota: 10, Stock: 4, Reserved: 3, Claimed: 2, Confirmed: 1})
		if !r.Loaded || r.LoadedAt.Before(before) || r.LoadedAt.After(after) {
			t.Errorf("loaded %v at %v, want it between %v and %v", r.Loaded, r.LoadedAt, before, after)
		}
		if r.Version != 1 || r.Settings != 1 || r.Outbox != 5 || r.Tombstones != 1 || r.Unreadable != 0 {
			t.Errorf("report %+v, want versions 1, 5 in the outbox, 1 tombstone", r)
		}
		f.rdb.HIncrBy(t.Context(), f.KeysOf(f.sh, 0).Stock, fmt.Sprint(f.item), 2)
		drifted, err := f.Check(t.Context(), f.sh, 0)
		if err != nil || drifted.Conserved() || drifted.Items[f.item].Drift() != 2 {
			t.Errorf("two units too many: %+v, %v; want a drift of 2", drifted.Items[f.item], err)
		}
		// What is left over without a marker is still told.
		f.rdb.HDel(t.Context(), f.KeysOf(f.sh, 0).Meta, "loaded")
		lost, err := f.Check(t.Context(), f.sh, 0)
		if err != nil || lost.Loaded || lost.Items[f.item].Holds() != 6 {
			t.Errorf("without the marker: %+v, %v; want not loaded, 6 holds", lost, err)
		}
	})
}

func TestLeft(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.sh.N = 3
		other := f.item + 1
		for k, units := range []int{5, 7} {
			f.quota(t, k, 1, map[sale.ItemID]int{f.item: units, other: 0}, true, stock.QuotaApplied)
		}
		if got, err := f.Left(t.Context(), f.selling(12)); !errors.Is(err, stock.ErrNotLoaded) {
			t.Errorf("with a shard not loaded: %v, %v; want ErrNotLoaded", got, err)
		}
		f.quota(t, 2, 1, map[sale.ItemID]int{f.item: -3, other: 1}, true, stock.QuotaApplied)
		sl := f.selling(9)
		sl.Items = append(sl.Items, sale.Item{ID: other, Quantity: 1})
		left := func(item, rest int64) {
			t.Helper()
			got, err := f.Left(t.Context(), sl)
			if want := map[sale.ItemID]int64{f.item: item, other: rest}; err != nil || !maps.Equal(got, want) {
				t.Errorf("Left = %v, %v; want %v", got, err, want)
			}
		}
		left(12, 1) // below zero is nothing
		// A unit between two shards is left, though no shard has it.
		f.quota(t, 2, 2, map[sale.ItemID]int{f.item: -3, other: 0}, false, stock.QuotaApplied)
		left(12, 1)
		sl.Items[1].Quantity = 0
		left(12, 0)
	})
}

func TestCheckEviction(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		err := f.CheckEviction(t.Context())
		if states := f.mini == nil; (err == nil) != states {
			t.Errorf("CheckEviction = %v; want accepted: %v", err, states)
		}
		if err := stock.New(f.rdb, stock.Embedded()).CheckEviction(t.Context()); err != nil {
			t.Errorf("embedded: %v", err)
		}
	})
	t.Run("away", func(t *testing.T) {
		t.Parallel()
		f := newMini(t)
		f.mini.Close()
		if err := stock.New(f.rdb, stock.Embedded()).CheckEviction(t.Context()); err == nil {
			t.Error("a server that is away is accepted")
		}
	})
}
