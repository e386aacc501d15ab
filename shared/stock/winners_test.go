package stock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// Whoever has won when an environment looks is in its filter: however the hold
// was made, and whether before, while or after the filter was filled.
func TestNoWinnerIsMissed(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{1, 3} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, f *fixture) {
				const callers, each, environments = 4, 60, 3
				f.sh.N = shards
				soldOut := f.scarce(t, callers*each)
				var mu sync.Mutex
				var winners []string
				var selling, looking sync.WaitGroup
				done := make(chan struct{})
				for caller := range callers {
					selling.Go(func() {
						for i := range each {
							a := f.attempt(fmt.Sprintf("w%d-%d", caller, i))
							if err := f.wins(t.Context(), a, i%3); err != nil {
								t.Error(err)
								return
							}
							mu.Lock()
							winners = append(winners, a.UserID)
							mu.Unlock()
						}
					})
				}
				var asked atomic.Int64
				for range environments {
					e := f.environment(f.Store, callers*each*shards)
					e.sl.Items = append(e.sl.Items, sale.Item{ID: soldOut})
					looking.Go(func() {
						for over := false; !over; {
							select {
							case <-done:
								over = true
							default:
							}
							mu.Lock()
							known := slices.Clone(winners)
							mu.Unlock()
							e.passes(stock.LatchTime)
							// A look that is late, as on a busy machine, tells nothing.
							if _, err := e.SoldOut(t.Context(), &e.sl, soldOut); err != nil && !late(err) {
								t.Errorf("sold out: %v", err)
							}
							for _, user := range known {
								if e.refuses(t, soldOut, user) {
									t.Errorf("%s has a hold and is refused", user)
								}
							}
							if e.refuses(t, soldOut, "stranger") {
								asked.Add(1)
							}
						}
					})
				}
				selling.Wait()
				close(done)
				looking.Wait()
				if asked.Load() == 0 {
					t.Error("no environment ever refused a stranger: nothing was tried")
				}
			})
		})
	}
}

func late(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}

// wins makes a hold in one of the ways in which holds are made.
func (f *fixture) wins(ctx context.Context, a stock.Attempt, way int) error {
	record := []sale.Placed{placed(a, time.Now())}
	switch way {
	case 0:
		got, err := f.Reserve(ctx, f.sh, a)
		if err != nil || got.Outcome != stock.Reserved {
			return fmt.Errorf("reserve: %v, %w", got.Outcome, err)
		}
	case 1: // the hold was lost
		got, err := f.Claim(ctx, f.sh, record)
		if err != nil || got[0] != stock.Claimed {
			return fmt.Errorf("claim: %v, %w", got, err)
		}
	default:
		got, err := f.Adopt(ctx, f.sh, record)
		if err != nil || got[0] != stock.Claimed {
			return fmt.Errorf("adopt: %v, %w", got, err)
		}
	}
	return nil
}

// An environment that dies while it fills the filter is followed by another one
// when its lease is over; if it is only slow, its bits come too late and change nothing.
func TestFillerDies(t *testing.T) {
	t.Parallel()
	f := newMini(t)
	f.load(t, 1)
	f.reserve(t, f.attempt("winner"), stock.Reserved)
	var held atomic.Pointer[func() error]
	dying := f.environment(f.apart(t, func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if args := cmd.Args(); len(args) > 1 && args[1] == stock.FillHash {
			send := func() error { return next(context.WithoutCancel(ctx), cmd) }
			held.Store(&send)
			return errors.New("died")
		}
		return next(ctx, cmd)
	}), 1)
	next := f.environment(f.Store, 1)
	dying.meets(t, f.item)
	next.meets(t, f.item)
	for name, e := range map[string]*environment{"dying": dying, "next": next} {
		if e.refuses(t, f.item, "stranger") {
			t.Errorf("%s refuses before the filter is complete", name)
		}
	}
	f.mini.SetTime(time.Now().Add(stock.FillLease + time.Second))
	next.passes(stock.LatchTime)
	next.meets(t, f.item)
	if !next.refuses(t, f.item, "stranger") || next.refuses(t, f.item, "winner") {
		t.Error("after the lease: want a complete filter with the winner")
	}
	before := f.rdb.Get(t.Context(), f.KeysOf(f.sh, 0).Winners).Val()
	if err := (*held.Load())(); err != nil {
		t.Fatalf("late fill: %v", err)
	}
	if after := f.rdb.Get(t.Context(), f.KeysOf(f.sh, 0).Winners).Val(); after != before {
		t.Error("a fill that came late changed the filter")
	}
}

// What is no filter is made anew, and so is one that has had too many shoppers:
// it cannot forget those whose units came back.
func TestFilterIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, f *fixture, key string){
		"rubbish": func(t *testing.T, f *fixture, key string) {
			f.rdb.Set(t.Context(), key, strings.Repeat("rubbish", 9000), 0)
		},
		"cut off": func(t *testing.T, f *fixture, key string) {
			f.rdb.Set(t.Context(), key, f.rdb.GetRange(t.Context(), key, 0, 20).Val(), 0)
		},
		"cut off in its bits": func(t *testing.T, f *fixture, key string) {
			// Another header, so that nobody goes on with an older copy.
			cut := f.rdb.GetRange(t.Context(), key, 0, 999).Val()
			f.rdb.Set(t.Context(), key, cut[:48]+strings.Repeat("0", 16)+cut[64:], 0)
			f.rdb.SetRange(t.Context(), key, 47, "1")
		},
		// As if the clock of the master before had been ahead.
		"being filled for years": func(t *testing.T, f *fixture, key string) {
			f.rdb.SetRange(t.Context(), key, 0, "F"+strings.Repeat("x", 15)+fmt.Sprintf("%016d", time.Now().AddDate(9, 0, 0).UnixMilli()))
		},
		"gone": func(t *testing.T, f *fixture, key string) { f.rdb.Del(t.Context(), key) },
		"worn": func(t *testing.T, f *fixture, _ string) {
			for i := range 1100 {
				a := f.attempt(fmt.Sprint("past ", i))
				f.reserve(t, a, stock.Reserved)
				f.release(t, stock.Settled, a, stock.Released)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, f *fixture) {
				soldOut := f.scarce(t, 2)
				f.reserve(t, f.attempt("winner"), stock.Reserved)
				e := f.environment(f.Store, 2)
				e.sl.Items = append(e.sl.Items, sale.Item{ID: soldOut})
				e.meets(t, soldOut)
				key := f.KeysOf(f.sh, 0).Winners
				made := f.rdb.GetRange(t.Context(), key, 0, 15).Val()
				spoil(t, f, key)
				e.passes(stock.LatchTime)
				e.meets(t, soldOut)
				if again := f.rdb.GetRange(t.Context(), key, 0, 15).Val(); again == made || again == "" || again[0] != 'C' {
					t.Errorf("filter: got %q, before %q, want a new one", again, made)
				}
				if e.refuses(t, soldOut, "winner") || !e.refuses(t, soldOut, "stranger") || name == "worn" && !e.refuses(t, soldOut, "past 7") {
					t.Error("the new filter has not just those who have a hold")
				}
			})
		})
	}
}

// Nothing of the filter is left where a shard is lost or its sale is archived,
// and nothing makes one there.
func TestFilterEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(f *fixture, ctx context.Context) error{
		"archived": func(f *fixture, ctx context.Context) error { return f.Drop(ctx, f.sh) },
		"rebuilt": func(f *fixture, ctx context.Context) error {
			f.rdb.HDel(ctx, f.KeysOf(f.sh, 0).Meta, "loaded")
			_, err := f.Repair(ctx, f.sh, 0)
			return err
		},
		"holds lost": func(f *fixture, ctx context.Context) error {
			f.rdb.Set(ctx, f.KeysOf(f.sh, 0).Holds, "7", 0)
			_, err := f.Repair(ctx, f.sh, 0)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, f *fixture) {
				f.load(t, 1)
				f.reserve(t, f.attempt("winner"), stock.Reserved)
				e := f.environment(f.Store, 1)
				e.meets(t, f.item)
				key := f.KeysOf(f.sh, 0).Winners
				if f.rdb.Exists(t.Context(), key).Val() != 1 {
					t.Fatal("there is no filter")
				}
				if err := end(f, t.Context()); err != nil && !errors.Is(err, stock.ErrNotLoaded) {
					t.Fatal(err)
				}
				if f.rdb.Exists(t.Context(), key).Val() != 0 {
					t.Error("the filter is still there")
				}
				e.passes(stock.LatchTime)
				e.meets(t, f.item)
				if name != "holds lost" && (f.rdb.Exists(t.Context(), key).Val() != 0 || e.refuses(t, f.item, "stranger")) {
					t.Error("a shard without its marker got a filter, or refuses by one")
				}
			})
		})
	}
}

// The size follows the units; few strangers are taken for winners.
func TestFilterSize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ units, shards, size, taken int }{ // of 10,000 strangers, at most
		{1, 1, 12 << 10, 0},
		{6_000, 1, 12 << 10, 20},
		{10_000, 1, 20 << 10, 20},
		{50_000, 1, 98 << 10, 20},
		{100_000, 1, 128 << 10, 120},
		{100_000, 10, 20 << 10, 20},
		{5_000_000, 1, 128 << 10, 10_000},
	} {
		sl := &sale.Sale{Shards: c.shards, Items: []sale.Item{{ID: 1, Quantity: c.units}}}
		f := stock.NewFilter(sl)
		if f.Size() != c.size {
			t.Errorf("%d units in %d shards: %d bytes, want %d", c.units, c.shards, f.Size(), c.size)
		}
		if c.units > 1_000_000 {
			continue // more than any filter is made for: it lets more through
		}
		for i := range c.units / c.shards {
			f.Add(fmt.Sprint("winner ", i))
		}
		strangers, taken := 20_000, 0
		for i := range strangers {
			if f.MayHave(fmt.Sprint("stranger ", i)) {
				taken++
			}
		}
		if taken > strangers*c.taken/10_000 {
			t.Errorf("%d units in %d shards: %d of %d strangers taken for winners, want at most %d in 10,000", c.units, c.shards, taken, strangers, c.taken)
		}
	}
}
