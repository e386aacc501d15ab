package stock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/lua"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

func TestReserveOutcomes(t *testing.T) {
	t.Parallel()
	paused := func(s *sale.Settings) { s.Paused = []sale.PauseReason{sale.PausedByOperator, sale.PausedByRebuild} }
	early := func(s *sale.Settings) { s.OpensAt = s.OpensAt.Add(90 * time.Minute) }
	late := func(s *sale.Settings) { s.ClosesAt = s.ClosesAt.Add(-90 * time.Minute) }
	never := func(s *sale.Settings) {
		s.ClosesAt = s.OpensAt.Add(-time.Minute)
		s.OpensAt = s.OpensAt.Add(2 * time.Hour)
	}
	cases := []struct {
		name   string
		units  int
		barred bool
		set    []func(*sale.Settings)
		doubt  bool
		want   stock.Outcome
	}{
		{"reserved", 1, false, nil, false, stock.Reserved},
		{"sold out", 0, false, nil, false, stock.SoldOut},
		{"paused", 1, false, []func(*sale.Settings){paused}, false, stock.Paused},
		{"doubt", 1, false, nil, true, stock.Paused},
		{"doubt of a sold out item", 0, false, nil, true, stock.Paused},
		{"paused and sold out", 0, false, []func(*sale.Settings){paused}, false, stock.Paused},
		{"paused and closed", 1, false, []func(*sale.Settings){paused, late}, false, stock.Paused},
		{"paused and barred", 1, true, []func(*sale.Settings){paused}, false, stock.Paused},
		{"not open", 1, false, []func(*sale.Settings){early}, false, stock.NotOpen},
		{"not open and sold out", 0, false, []func(*sale.Settings){early}, false, stock.NotOpen},
		{"not open and barred", 1, true, []func(*sale.Settings){early}, false, stock.NotOpen},
		{"closed", 1, false, []func(*sale.Settings){late}, false, stock.Closed},
		{"closed before it opened", 1, false, []func(*sale.Settings){never}, false, stock.Closed},
		{"closed and barred", 1, true, []func(*sale.Settings){late}, false, stock.Closed},
		{"barred", 1, true, nil, false, stock.Barred},
		{"barred and sold out", 0, true, nil, false, stock.Barred},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, f *fixture) {
				f.quota(t, 0, 1, map[sale.ItemID]int{f.item: c.units}, true, stock.QuotaApplied)
				set := f.settings(1)
				for _, change := range c.set {
					change(&set)
				}
				if c.doubt {
					set.Doubts = []sale.ItemID{f.item}
				}
				f.steer(t, 0, set, stock.SteerApplied)
				before := f.dump(t)
				a := f.attempt("u1")
				a.Barred = c.barred
				earliest := f.clock(t)
				got := f.reserve(t, a, c.want)
				latest := f.clock(t)
				if c.want == stock.NotOpen && (got.Now.Before(earliest) || got.Now.After(latest)) {
					t.Errorf("Now = %v, want it between %v and %v", got.Now, earliest, latest)
				}
				if want := set.OpensAt.Truncate(time.Millisecond); c.want == stock.NotOpen && !got.OpensAt.Equal(want) {
					t.Errorf("OpensAt = %v, want %v", got.OpensAt, want)
				}
				if c.want != stock.Reserved && f.dump(t) != before {
					t.Errorf("a refusal wrote something:\n%s\nbefore:\n%s", f.dump(t), before)
				}
				f.report(t, 0)
			})
		})
	}
}

func TestReserveAnswers(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		const units = 3
		f.load(t, units)
		before := f.clock(t)
		a := f.attempt("u1")
		a.IdempotencyKey = "key 1"
		first := f.reserve(t, a, stock.Reserved)
		after := f.clock(t)
		if first.ReservedAt.Before(before) || first.ReservedAt.After(after) {
			t.Errorf("ReservedAt = %v, want it between %v and %v", first.ReservedAt, before, after)
		}
		if first.OrderID != a.OrderID || first.Left != units-1 {
			t.Errorf("answer %+v, want order %v, %d left", first, a.OrderID, units-1)
		}
		if f.mini != nil {
			f.mini.SetTime(time.Now().Add(time.Minute))
		}
		if again := f.reserve(t, a, stock.Reserved); again != first {
			t.Errorf("the same order again: %+v, want %+v", again, first)
		}

		other := f.attempt("u1")
		other.IdempotencyKey = "key 1"
		want := stock.Answer{Outcome: stock.Already, OrderID: a.OrderID, ReservedAt: first.ReservedAt, SameKey: true}
		if got := f.reserve(t, other, stock.Already); got != want {
			t.Errorf("same key: %+v, want %+v", got, want)
		}
		want.SameKey = false
		for _, key := range []string{"", "key 2"} {
			other.IdempotencyKey = key
			if got := f.reserve(t, other, stock.Already); got != want {
				t.Errorf("key %q: %+v, want %+v", key, got, want)
			}
		}
		other.IdempotencyKey, other.ItemID = "key 1", f.item+1
		if got := f.reserve(t, other, stock.Already); got != want {
			t.Errorf("same key, other item: %+v, want %+v", got, want)
		}
		f.claim(t, a, stock.Claimed)
		want.Claimed = true
		if got := f.reserve(t, other, stock.Already); got != want {
			t.Errorf("claimed: %+v, want %+v", got, want)
		}

		// No key is no repetition, even where the hold has none either.
		keyless := f.attempt("u2")
		f.reserve(t, keyless, stock.Reserved)
		if got := f.reserve(t, f.attempt("u2"), stock.Already); got.SameKey {
			t.Errorf("two purchases without a key: SameKey, want not")
		}
		// Two shoppers may use the same key.
		third := f.attempt("u3")
		third.IdempotencyKey = "key 1"
		f.reserve(t, third, stock.Reserved)
		f.wantItem(t, stock.ItemReport{Quota: units, Reserved: units - 1, Claimed: 1})
	})
}

func TestOwnHoldComesFirst(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 1)
		winner := f.attempt("winner")
		f.reserve(t, winner, stock.Reserved)
		again := f.attempt("winner")
		again.Barred = true
		sets := map[string]func(*sale.Settings){
			"sold out": func(*sale.Settings) {},
			"paused":   func(s *sale.Settings) { s.Paused = []sale.PauseReason{sale.PausedByOperator} },
			"doubt":    func(s *sale.Settings) { s.Doubts = []sale.ItemID{f.item} },
			"not open": func(s *sale.Settings) { s.OpensAt = s.ClosesAt },
			"closed":   func(s *sale.Settings) { s.ClosesAt = s.OpensAt },
		}
		version := int64(1)
		for name, change := range sets {
			version++
			set := f.settings(version)
			change(&set)
			f.steer(t, 0, set, stock.SteerApplied)
			if got := f.reserve(t, again, stock.Already); got.OrderID != winner.OrderID {
				t.Errorf("%s: already has %v, want %v", name, got.OrderID, winner.OrderID)
			}
			f.reserve(t, winner, stock.Reserved)
		}
	})
}

func TestReserveNotLoaded(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.reserve(t, f.attempt("u1"), stock.NotLoaded)
		f.quota(t, 0, 1, map[sale.ItemID]int{f.item: 1}, true, stock.QuotaApplied)
		// A load that died before its window was set is no load.
		f.reserve(t, f.attempt("u1"), stock.NotLoaded)
		f.steer(t, 0, f.settings(1), stock.SteerApplied)
		a := f.attempt("u1")
		f.reserve(t, a, stock.Reserved)
		// Somebody deletes the stock: unknown, not sold out.
		f.rdb.Del(t.Context(), f.KeysOf(f.sh, 0).Stock)
		f.reserve(t, f.attempt("u2"), stock.NotLoaded)
		// The marker is lost: even an own hold is not known for sure.
		f.rdb.HDel(t.Context(), f.KeysOf(f.sh, 0).Meta, "loaded")
		f.reserve(t, a, stock.NotLoaded)
	})
}

func TestReserveUnknownItemAndTombstone(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 1)
		a := f.attempt("u1")
		a.ItemID++
		if got, err := f.Reserve(t.Context(), f.sh, a); !errors.Is(err, stock.ErrUnknownItem) {
			t.Errorf("an item without quota: %v, %v; want ErrUnknownItem", got.Outcome, err)
		}
		given := f.attempt("u2")
		f.release(t, stock.Unclaimed, given, stock.NotHeld)
		f.reserve(t, given, stock.Tombstoned)
		f.reserve(t, f.attempt("u2"), stock.Reserved)
		f.wantItem(t, stock.ItemReport{Quota: 1, Reserved: 1})
	})
}

// Stock below zero is what a failover may leave: sold out, and never sold.
func TestReserveBelowZero(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 1)
		f.reserve(t, f.attempt("u1"), stock.Reserved)
		f.claim(t, f.attempt("u2"), stock.Claimed)
		f.wantItem(t, stock.ItemReport{Quota: 1, Stock: -1, Reserved: 1, Claimed: 1})
		f.reserve(t, f.attempt("u3"), stock.SoldOut)
		if left, err := f.Left(t.Context(), f.selling(1)); err != nil || left[f.item] != 0 {
			t.Errorf("Left = %v, %v; want 0", left[f.item], err)
		}
	})
}

func TestReserveOddUsers(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		users := []string{"a b", " ", "{", "{}", "{x}", "}", "-", "ünï ☃", "%s", "1", "u\"1", strings.Repeat("ü", 127)}
		f.load(t, len(users))
		for _, user := range users {
			a := f.attempt(user)
			f.reserve(t, a, stock.Reserved)
			f.claim(t, a, stock.Claimed)
			h, ok, err := f.Hold(t.Context(), f.sh, user)
			if err != nil || !ok || h.OrderID != a.OrderID || h.UserID != user {
				t.Errorf("Hold(%q) = %+v, %v, %v; want order %v", user, h, ok, err, a.OrderID)
			}
		}
		f.wantItem(t, stock.ItemReport{Quota: int64(len(users)), Claimed: int64(len(users))})
	})
}

// The scripts name their outcomes; the numbers must mean the same in Go.
func TestOutcomeNames(t *testing.T) {
	t.Parallel()
	names := func(stringers ...fmt.Stringer) (names []string) {
		for _, s := range stringers {
			names = append(names, s.String())
		}
		return names
	}
	scripts := map[string]struct {
		text  string
		names []string
	}{
		"reserve": {lua.Reserve, names(stock.Reserved, stock.Already, stock.SoldOut, stock.NotOpen, stock.Closed,
			stock.Paused, stock.NotLoaded, stock.Barred, stock.Tombstoned)},
		"claim":   {lua.Claim, names(stock.Claimed, stock.Dropped, stock.Superseded, stock.Unguarded, stock.Confirmed)},
		"release": {lua.Release, names(stock.Released, stock.NotHeld)},
	}
	for script, s := range scripts {
		for i, name := range s.names {
			if line := fmt.Sprintf("\n-- %2d %s", i+1, name); !strings.Contains(s.text, line) {
				t.Errorf("%s.lua: its table of outcomes has no line %q", script, line)
			}
		}
	}
	if got := stock.Outcome(99).String(); got != "outcome 99" {
		t.Errorf("an unknown outcome is %q", got)
	}
}
