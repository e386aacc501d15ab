package stock_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

func TestSetQuotaOutcomes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		quota := func(units int) map[sale.ItemID]int { return map[sale.ItemID]int{f.item: units} }
		f.quota(t, 0, 5, quota(10), false, stock.QuotaNotLoaded)
		if n := f.rdb.Exists(t.Context(), f.KeysOf(f.sh, 0).All()...).Val(); n != 0 {
			t.Errorf("without permission %d keys were written", n)
		}
		f.quota(t, 0, 5, quota(10), true, stock.QuotaApplied)
		f.quota(t, 0, 5, quota(99), true, stock.QuotaStale)
		f.quota(t, 0, 4, quota(99), false, stock.QuotaStale)
		f.steer(t, 0, f.settings(1), stock.SteerApplied)
		for i := range 4 {
			f.reserve(t, f.attempt(fmt.Sprint("u", i)), stock.Reserved)
		}
		f.quota(t, 0, 6, quota(12), false, stock.QuotaApplied)
		f.wantItem(t, stock.ItemReport{Quota: 12, Stock: 8, Reserved: 4})
		// Less than is held: below zero, not sold again.
		f.quota(t, 0, 8, quota(3), false, stock.QuotaApplied)
		r := f.wantItem(t, stock.ItemReport{Quota: 3, Stock: -1, Reserved: 4})
		if r.Version != 8 {
			t.Errorf("ledger version %d, want 8", r.Version)
		}
		f.reserve(t, f.attempt("late"), stock.SoldOut)
	})
}

// A version that is a million ahead, or no number, is damage: what the ledger and the rows say replaces it.
func TestDamagedVersions(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 10)
		meta := f.KeysOf(f.sh, 0).Meta
		quota := map[sale.ItemID]int{f.item: 10}
		for i, damaged := range []string{"xyz", "-3", "1000100", "9223372036854775800", "99999999999999999999", "inf", "nan"} {
			version := int64(10 + i)
			f.rdb.HSet(t.Context(), meta, "version", damaged, "settings", damaged)
			f.quota(t, 0, version, quota, false, stock.QuotaApplied)
			f.steer(t, 0, f.settings(version), stock.SteerPutRight)
			if r := f.wantItem(t, stock.ItemReport{Quota: 10, Stock: 10}); r.Version != version || r.Settings != version {
				t.Errorf("after %q: versions %d and %d, want %d", damaged, r.Version, r.Settings, version)
			}
		}
		f.rdb.HSet(t.Context(), meta, "version", "1000016", "settings", "1000016")
		f.quota(t, 0, 16, quota, false, stock.QuotaStale)
		f.steer(t, 0, f.settings(16), stock.SteerStale)
	})
}

// By a damaged quota nobody can tell the difference: a repair must come first.
func TestDamagedQuota(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 10)
		for _, damaged := range []string{"abc", "1e3", ""} {
			f.rdb.HSet(t.Context(), f.KeysOf(f.sh, 0).Meta, fmt.Sprint("quota:", f.item), damaged)
			before := f.dump(t)
			if got, err := f.SetQuota(t.Context(), f.sh, 0, 9, map[sale.ItemID]int{f.item: 12}, false); err == nil {
				t.Errorf("quota %q: got %v, want an error", damaged, got)
			}
			if after := f.dump(t); after != before {
				t.Errorf("quota %q: wrote\n%s\nbefore\n%s", damaged, after, before)
			}
			if r, err := f.Check(t.Context(), f.sh, 0); err != nil || r.Conserved() || r.Damaged != 1 {
				t.Errorf("quota %q: check got %+v, %v, want one damaged field", damaged, r, err)
			}
			if _, err := f.Left(t.Context(), f.selling(10)); err == nil {
				t.Errorf("quota %q: units were counted", damaged)
			}
		}
		if _, err := f.Repair(t.Context(), f.sh, 0); err != nil {
			t.Fatal(err)
		}
		f.quota(t, 0, 9, map[sale.ItemID]int{f.item: 12}, false, stock.QuotaApplied)
		f.wantItem(t, stock.ItemReport{Quota: 12, Stock: 12})
	})
}

// Loading again, from two hosts at once, mid-sale, changes nothing.
func TestLoadTwice(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		const units = 100
		load := func() int64 {
			var applied atomic.Int64
			crowd(t, 8, func(string) (bool, error) {
				got, err := f.SetQuota(t.Context(), f.sh, 0, 1, map[sale.ItemID]int{f.item: units}, true)
				if got == stock.QuotaApplied {
					applied.Add(1)
				}
				return false, err
			})
			return applied.Load()
		}
		if got := load(); got != 1 {
			t.Errorf("%d of 8 loads at once applied, want 1", got)
		}
		f.steer(t, 0, f.settings(1), stock.SteerApplied)
		const sold = 60
		crowd(t, sold, func(user string) (bool, error) {
			if user == "u30" && load() != 0 {
				t.Errorf("a second load applied in the middle of the sale")
			}
			_, err := f.Reserve(t.Context(), f.sh, f.attempt(user))
			return false, err
		})
		if got := load(); got != 0 {
			t.Errorf("%d loads applied after the sale had begun, want 0", got)
		}
		f.wantItem(t, stock.ItemReport{Quota: units, Stock: units - sold, Reserved: sold})
	})
}

func TestSteer(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.steer(t, 0, f.settings(1), stock.SteerNotLoaded)
		if n := f.rdb.Exists(t.Context(), f.KeysOf(f.sh, 0).All()...).Val(); n != 0 {
			t.Errorf("without the marker %d keys were written", n)
		}
		other := f.item + 1
		f.quota(t, 0, 1, map[sale.ItemID]int{f.item: 1, other: 1}, true, stock.QuotaApplied)
		set := f.settings(3)
		set.OpensAt, set.ClosesAt = set.OpensAt.UTC().Truncate(time.Millisecond), set.ClosesAt.UTC().Truncate(time.Millisecond)
		set.Paused = []sale.PauseReason{sale.PausedByOperator, sale.PausedByRebuild}
		set.Doubts = []sale.ItemID{f.item}
		f.steer(t, 0, set, stock.SteerApplied)
		want := func(set sale.Settings) {
			t.Helper()
			r := f.report(t, 0)
			if r.Settings != set.Version || !r.OpensAt.Equal(set.OpensAt) || !r.ClosesAt.Equal(set.ClosesAt) ||
				!slices.Equal(r.Paused, set.Paused) || !slices.Equal(r.Doubts, set.Doubts) {
				t.Errorf("shard has %+v, want %+v", r, set)
			}
		}
		want(set)
		f.steer(t, 0, f.settings(2), stock.SteerStale)
		want(set)

		// The set is replaced as a whole, by the same version too.
		set.Paused, set.Doubts = nil, []sale.ItemID{other}
		f.steer(t, 0, set, stock.SteerPutRight)
		want(set)
		f.steer(t, 0, set, stock.SteerApplied)
		want(set)
		a := f.attempt("u1")
		a.ItemID = other
		f.reserve(t, a, stock.Paused)
		f.reserve(t, f.attempt("u1"), stock.Reserved)
		set.Version, set.Doubts = 4, nil
		f.steer(t, 0, set, stock.SteerApplied)
		want(set)
		f.wantItem(t, stock.ItemReport{Quota: 1, Reserved: 1})
	})
}
