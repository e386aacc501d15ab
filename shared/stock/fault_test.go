package stock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// calls are all that a Store does to a shard, each with the same order.
func calls(f *fixture, a stock.Attempt) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"reserve": func(ctx context.Context) error { _, err := f.Reserve(ctx, f.sh, a); return err },
		"claim": func(ctx context.Context) error {
			_, err := f.Claim(ctx, f.sh, []sale.Placed{placed(a, time.Now())})
			return err
		},
		"confirm": func(ctx context.Context) error {
			return f.Confirm(ctx, f.sh, []stock.Confirmation{{OrderID: a.OrderID, UserID: a.UserID, PayBy: time.Now()}})
		},
		"release": func(ctx context.Context) error {
			_, err := f.Release(ctx, f.sh, stock.Rejected, []stock.Held{{OrderID: a.OrderID, UserID: a.UserID}})
			return err
		},
		"due": func(ctx context.Context) error { _, err := f.Due(ctx, f.sh, 0, 10); return err },
		"unconfirm": func(ctx context.Context) error {
			_, err := f.Unconfirm(ctx, f.sh, []stock.Hold{{OrderID: a.OrderID, UserID: a.UserID}})
			return err
		},
		"quota": func(ctx context.Context) error {
			_, err := f.SetQuota(ctx, f.sh, 0, 9, map[sale.ItemID]int{f.item: 9}, false)
			return err
		},
		"shrink": func(ctx context.Context) error {
			_, err := f.Shrink(ctx, f.sh, 0, 9, map[sale.ItemID]int{f.item: 1})
			return err
		},
		"drop wish": func(ctx context.Context) error { return f.DropWish(ctx, f.sh, f.item) },
		"steer":     func(ctx context.Context) error { _, err := f.Steer(ctx, f.sh, 0, f.settings(9)); return err },
		"check":     func(ctx context.Context) error { _, err := f.Check(ctx, f.sh, 0); return err },
		"hold":      func(ctx context.Context) error { _, _, err := f.Hold(ctx, f.sh, a.UserID); return err },
		"left":      func(ctx context.Context) error { _, err := f.Left(ctx, f.selling(5)); return err },
	}
}

func TestNothingIsWrittenWithoutTheMarker(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 5)
		a := f.attempt("u1")
		f.reserve(t, a, stock.Reserved)
		f.rdb.HDel(t.Context(), f.KeysOf(f.sh, 0).Meta, "loaded")
		before := f.dump(t)
		for name, call := range calls(f, a) {
			if err := call(t.Context()); err != nil && !errors.Is(err, stock.ErrNotLoaded) {
				t.Errorf("%s: %v", name, err)
			}
			if after := f.dump(t); after != before {
				t.Errorf("%s wrote:\n%s\nbefore:\n%s", name, after, before)
			}
		}
	})
}

// A key that someone overwrote is an error, not a refusal, and no call half happens.
func TestWrongTypes(t *testing.T) {
	t.Parallel()
	users := map[string]string{
		"meta":        "reserve claim confirm release due unconfirm quota steer check left",
		"holds":       "reserve claim confirm release unconfirm check hold",
		"stock":       "reserve claim release quota check left",
		"unconfirmed": "reserve claim confirm release due unconfirm check hold",
		"released":    "reserve claim release check",
		"winners":     "reserve claim check",
	}
	for kind, users := range users {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, f *fixture) {
				f.load(t, 5)
				held := f.attempt("held")
				f.reserve(t, held, stock.Reserved)
				keys := f.KeysOf(f.sh, 0)
				key := map[string]string{
					"meta": keys.Meta, "holds": keys.Holds, "stock": keys.Stock,
					"unconfirmed": keys.Unconfirmed, "released": keys.Released, "winners": keys.Winners,
				}[kind]
				f.rdb.Del(t.Context(), key)
				if kind == "winners" {
					f.rdb.HSet(t.Context(), key, "a", "5")
				} else {
					f.rdb.Set(t.Context(), key, "5", 0)
				}
				before := f.dump(t)
				// Reserve and claim make new holds, the others work on the one that is there.
				fresh, old := calls(f, f.attempt("fresh")), calls(f, held)
				for name := range strings.FieldsSeq(users) {
					call := old[name]
					if name == "reserve" || name == "claim" {
						call = fresh[name]
					}
					if err := call(t.Context()); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
						t.Errorf("%s: %v, want WRONGTYPE", name, err)
					}
					if after := f.dump(t); after != before {
						t.Fatalf("%s wrote:\n%s\nbefore:\n%s", name, after, before)
					}
				}
			})
		})
	}
}

// A server forgets its scripts when it restarts or fails over.
func TestScriptFlush(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.sh.N = 3
		f.load(t, 100)
		for round := range 3 {
			for name, call := range calls(f, f.attempt(fmt.Sprint("u", round))) {
				if err := f.rdb.ScriptFlush(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				if err := call(t.Context()); err != nil {
					t.Errorf("%s after SCRIPT FLUSH: %v", name, err)
				}
			}
		}
		// A batch over several shards meets it in each of them.
		var batch []sale.Placed
		for i := range 30 {
			batch = append(batch, placed(f.attempt(fmt.Sprint("b", i)), time.Now()))
		}
		if err := f.rdb.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		got, err := f.Claim(t.Context(), f.sh, batch)
		if err != nil || strings.Count(fmt.Sprint(got), "claimed") != len(batch) {
			t.Errorf("Claim after SCRIPT FLUSH = %v, %v; want all claimed", got, err)
		}
		for k := range f.sh.N {
			f.report(t, k)
		}
	})
}

// A server that is away is an error everywhere, never an outcome.
func TestAway(t *testing.T) {
	t.Parallel()
	f := newMini(t)
	f.load(t, 5)
	f.mini.Close()
	for name, call := range calls(f, f.attempt("u1")) {
		if err := call(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "stock: ") {
			t.Errorf("%s: %v, want an error that says where", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range calls(f, f.attempt("u1")) {
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled: %v, want context.Canceled", name, err)
		}
	}
}
