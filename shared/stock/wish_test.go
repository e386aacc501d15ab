package stock_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"flashsale/localstack/servers"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// A move takes units away only if they are there; what the ledger adds may come along.
func TestShrink(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		other := f.item + 1
		shrink := func(version int64, units, others int, want stock.QuotaOutcome) {
			t.Helper()
			before := f.dump(t)
			got, err := f.Shrink(t.Context(), f.sh, 0, version, map[sale.ItemID]int{f.item: units, other: others})
			if err != nil || got != want {
				t.Errorf("shrink to %d and %d under version %d: got %v, %v, want %v", units, others, version, got, err, want)
			}
			if after := f.dump(t); (after == before) != (want != stock.QuotaApplied) {
				t.Errorf("outcome %v: the shard went from\n%s to\n%s", got, before, after)
			}
		}
		shrink(2, 9, 0, stock.QuotaNotLoaded)
		f.load(t, 10)
		for i := range 6 {
			f.reserve(t, f.attempt(fmt.Sprint("u", i)), stock.Reserved)
		}
		shrink(1, 9, 0, stock.QuotaStale)
		shrink(2, 5, 1, stock.QuotaNotEnough)
		f.wantItem(t, stock.ItemReport{Quota: 10, Stock: 4, Reserved: 6})
		shrink(2, 6, 2, stock.QuotaApplied)
		r := f.wantItem(t, stock.ItemReport{Quota: 6, Reserved: 6})
		if r.Version != 2 || r.Items[other].Stock != 2 {
			t.Errorf("version %d and %d others, want 2 and 2", r.Version, r.Items[other].Stock)
		}
		shrink(3, 5, 2, stock.QuotaNotEnough)
		// Below zero after a failover: nothing is taken, and nothing keeps another item from moving.
		f.claim(t, f.attempt("lost"), stock.Claimed)
		shrink(3, 6, 1, stock.QuotaApplied)
		f.wantItem(t, stock.ItemReport{Quota: 6, Stock: -1, Reserved: 6, Claimed: 1})
	})
}

// A shard that is sold out wishes for the others' units, once, until it has some.
func TestWish(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 1)
		f.reserve(t, f.attempt("u1"), stock.Reserved)
		before := f.dump(t)
		f.reserve(t, f.attempt("alone"), stock.SoldOut)
		if after := f.dump(t); after != before {
			t.Errorf("one shard alone: a refusal wrote\n%s\nbefore\n%s", after, before)
		}

		f.sh = stock.Shards{Sale: sale.ID(servers.SaleID()), N: 3}
		f.load(t, 1)
		t.Cleanup(func() { _ = f.Drop(context.WithoutCancel(t.Context()), f.sh) })
		wants := func(shard int, want ...sale.ItemID) {
			t.Helper()
			levels, err := f.Levels(t.Context(), f.sh)
			if err != nil || !slices.Equal(levels[shard].Wants, want) {
				t.Fatalf("shard %d wants %v, %v; want %v", shard, levels[shard].Wants, err, want)
			}
			if r := f.report(t, shard); !slices.Equal(r.Wants, want) {
				t.Errorf("check: shard %d wants %v, want %v", shard, r.Wants, want)
			}
		}
		users := f.homed(1, 3)
		f.reserve(t, f.attempt(users[0]), stock.Reserved)
		wants(1)
		barred := f.attempt(users[1])
		barred.Barred = true
		f.reserve(t, barred, stock.Barred)
		wants(1)
		f.reserve(t, f.attempt(users[1]), stock.SoldOut)
		wants(1, f.item)
		before = f.dump(t)
		f.reserve(t, f.attempt(users[2]), stock.SoldOut)
		if after := f.dump(t); after != before {
			t.Errorf("a second wish wrote\n%s\nbefore\n%s", after, before)
		}
		wants(0)
		wants(2)

		f.steer(t, 1, f.settings(2), stock.SteerApplied) // the wish is none of its business
		f.quota(t, 1, 2, map[sale.ItemID]int{f.item: 1}, false, stock.QuotaApplied)
		wants(1, f.item) // still nothing in stock
		f.quota(t, 1, 3, map[sale.ItemID]int{f.item: 2}, false, stock.QuotaApplied)
		wants(1)
		f.reserve(t, f.attempt(users[1]), stock.Reserved)
		f.reserve(t, f.attempt(users[2]), stock.SoldOut)
		wants(1, f.item)
		if err := f.DropWish(t.Context(), f.sh, f.item); err != nil {
			t.Fatal(err)
		}
		wants(1)
		if _, err := f.Repair(t.Context(), f.sh, 1); err != nil {
			t.Fatal(err)
		}
		wants(1)
	})
}

// homed is n shoppers whose home is that shard.
func (f *fixture) homed(shard, n int) (users []string) {
	for i := 0; len(users) < n; i++ {
		if user := fmt.Sprint("u", i); f.sh.Home(user) == shard {
			users = append(users, user)
		}
	}
	return users
}

// A cluster of three nodes has its slots in thirds: each must get its share of eight shards.
func TestEachThirdGetsItsShare(t *testing.T) {
	t.Parallel()
	for id := range sale.ID(200) {
		var count [3]int
		f := stock.Shards{Sale: id + 1, N: 8}
		for k := range f.N {
			tag := stock.Tag(f.Sale, k, f.N)
			count[stock.Slot(tag[1:len(tag)-1])*3/16384]++
		}
		for third, n := range count {
			// Two lie in it for sure, and one across each of its borders may.
			if n < 2 || n > 4 {
				t.Errorf("sale %d: third %d of the slots has %d of 8 shards, want 2 to 4", f.Sale, third, n)
			}
		}
	}
}
