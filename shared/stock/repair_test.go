package stock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

func TestRepair(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(ctx context.Context, f *fixture, keys map[string]string) error
		mended int64
		lost   bool
	}{
		{"nothing is wrong", func(context.Context, *fixture, map[string]string) error { return nil }, 0, false},
		{"stock typed over", func(ctx context.Context, f *fixture, keys map[string]string) error {
			return f.rdb.HSet(ctx, keys["stock"], fmt.Sprint(f.item), "many").Err()
		}, 1, false},
		{"stock of a wrong type", func(ctx context.Context, f *fixture, keys map[string]string) error {
			return f.rdb.Set(ctx, keys["stock"], "7", 0).Err()
		}, 2, false},
		{"outbox lost", func(ctx context.Context, f *fixture, keys map[string]string) error {
			return f.rdb.Del(ctx, keys["unconfirmed"]).Err()
		}, 2, false},
		{"tombstones of a wrong type", func(ctx context.Context, f *fixture, keys map[string]string) error {
			return f.rdb.Set(ctx, keys["released"], "7", 0).Err()
		}, 1, false},
		{"winners of a wrong type", func(ctx context.Context, f *fixture, keys map[string]string) error {
			return f.rdb.HSet(ctx, keys["winners"], "u1", "7").Err()
		}, 1, false},
		{"units of an item that has no quota", func(ctx context.Context, f *fixture, keys map[string]string) error {
			return f.rdb.HSet(ctx, keys["stock"], "99", "5").Err()
		}, 1, false},
		{"meta of a wrong type", func(ctx context.Context, f *fixture, keys map[string]string) error {
			return f.rdb.Set(ctx, keys["meta"], "7", 0).Err()
		}, 1, true},
		{"an item without its stock", func(ctx context.Context, f *fixture, keys map[string]string) error {
			return f.rdb.HDel(ctx, keys["stock"], fmt.Sprint(f.item)).Err()
		}, 1, false},
		{"fields that no script writes", func(ctx context.Context, f *fixture, keys map[string]string) error {
			return errors.Join(
				f.rdb.HSet(ctx, keys["meta"], "rubbish", "7", "quota:0", "3", "opensAt", "soon", "loaded", "yes").Err(),
				f.rdb.HSet(ctx, keys["stock"], "xx", "3").Err())
		}, 5, false},
		{"a hold that nobody can read", func(ctx context.Context, f *fixture, keys map[string]string) error {
			return f.rdb.HSet(ctx, keys["holds"], "ghost", fmt.Sprintf("nope %d R 1 - -", f.item)).Err()
		}, 1, false},
		{"marker gone and a key of a wrong type", func(ctx context.Context, f *fixture, keys map[string]string) error {
			return errors.Join(f.rdb.HDel(ctx, keys["meta"], "loaded").Err(), f.rdb.Set(ctx, keys["stock"], "7", 0).Err())
		}, 1, true},
		{"marker gone", func(ctx context.Context, f *fixture, keys map[string]string) error {
			return f.rdb.HDel(ctx, keys["meta"], "loaded").Err()
		}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, f *fixture) {
				ctx := t.Context()
				f.load(t, 10)
				for i := range 2 {
					f.reserve(t, f.attempt(fmt.Sprintf("buyer %d", i)), stock.Reserved)
				}
				keys := map[string]string{}
				for _, part := range []string{"stock", "holds", "unconfirmed", "released", "meta", "winners"} {
					keys[part] = fmt.Sprintf("{sale:%d:0}:%s", f.sh.Sale, part)
				}
				if err := c.damage(ctx, f, keys); err != nil {
					t.Fatal(err)
				}
				mended, err := f.Repair(ctx, f.sh, 0)
				if mended != c.mended || errors.Is(err, stock.ErrNotLoaded) != c.lost || (err != nil && !c.lost) {
					t.Fatalf("repair: got %d, %v, want %d, lost %v", mended, err, c.mended, c.lost)
				}
				if loaded, err := f.Loaded(ctx, f.sh, 0); err != nil || loaded == c.lost {
					t.Errorf("loaded: got %v, %v, want %v", loaded, err, !c.lost)
				}
				if c.lost {
					return
				}
				report, err := f.Check(ctx, f.sh, 0)
				if err != nil || !report.Conserved() || report.Outbox != 2 {
					t.Errorf("check: got %+v, %v, want it conserved with 2 in the outbox", report, err)
				}
				if item := report.Items[f.item]; item.Stock != 8 || item.Reserved != 2 {
					t.Errorf("item: got %+v, want 8 left and 2 reserved", item)
				}
				if again, err := f.Repair(ctx, f.sh, 0); err != nil || again != 0 {
					t.Errorf("repair again: got %d, %v, want nothing to do", again, err)
				}
			})
		})
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		const shoppers = 2500 // more than one step of a scan
		f.load(t, shoppers)
		want := map[sale.OrderID]string{}
		for i := range shoppers {
			user := fmt.Sprintf("buyer %d", i)
			want[f.reserve(t, f.attempt(user), stock.Reserved).OrderID] = user
		}
		holds, err := f.Holds(t.Context(), f.sh, 0)
		if err != nil || len(holds) != shoppers {
			t.Fatalf("holds: got %d, %v, want %d", len(holds), err, shoppers)
		}
		for _, h := range holds {
			if want[h.OrderID] != h.UserID || h.ItemID != f.item {
				t.Fatalf("hold: got %+v, want %q's", h, want[h.OrderID])
			}
		}
		if err := f.Drop(t.Context(), f.sh); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Left(t.Context(), f.selling(1)); !errors.Is(err, stock.ErrNotLoaded) {
			t.Errorf("after the drop: got %v, want ErrNotLoaded", err)
		}
	})
}

// A filter that a hand has emptied is dropped, a sound one is not.
func TestFilterThatMissesAHold(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		soldOut := f.scarce(t, 2)
		f.reserve(t, f.attempt("winner"), stock.Reserved)
		e := f.environment(f.Store, 2)
		e.sl.Items = append(e.sl.Items, sale.Item{ID: soldOut})
		e.meets(t, soldOut)
		drop := func(want bool) {
			t.Helper()
			holds, err := f.Holds(t.Context(), f.sh, 0)
			if err != nil || len(holds) == 0 {
				t.Fatalf("holds: got %v, %v, want some", holds, err)
			}
			if got, err := f.DropWinners(t.Context(), f.sh, 0, holds); err != nil || got != want {
				t.Errorf("dropped: got %t, %v, want %t", got, err, want)
			}
		}
		drop(false)
		key := f.KeysOf(f.sh, 0).Winners
		f.rdb.SetRange(t.Context(), key, 64, strings.Repeat("\x00", int(f.rdb.StrLen(t.Context(), key).Val())-64))
		fresh := f.environment(f.Store, 2)
		fresh.sl.Items = e.sl.Items
		fresh.meets(t, soldOut)
		if !fresh.refuses(t, soldOut, "winner") {
			t.Fatal("the emptied filter is not believed, so there is nothing to mend")
		}
		drop(true)
		drop(false)
		fresh.passes(stock.LatchTime)
		fresh.meets(t, soldOut)
		if fresh.refuses(t, soldOut, "winner") {
			t.Error("the winner is refused after the filter was dropped")
		}
	})
}
