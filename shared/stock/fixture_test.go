package stock_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// A fixture is a sale of its own in some Redis.
type fixture struct {
	*stock.Store
	rdb  *redis.Client
	mini *miniredis.Miniredis // nil on a real server
	sh   stock.Shards
	item sale.ItemID
	mint *sale.Mint
}

// onEach runs a test on real Redis and on miniredis, which the development server embeds.
func onEach(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		options, err := redis.ParseURL(servers.RedisURL(t))
		if err != nil {
			t.Fatal(err)
		}
		f := newFixture(t, options)
		t.Cleanup(func() {
			for k := range f.sh.N {
				f.rdb.Del(context.WithoutCancel(t.Context()), f.KeysOf(f.sh, k).All()...)
			}
		})
		test(t, f)
	})
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, newMini(t))
	})
}

func newMini(t testing.TB) *fixture {
	mini := miniredis.RunT(t)
	f := newFixture(t, &redis.Options{Addr: mini.Addr()})
	f.mini = mini
	return f
}

func newFixture(t testing.TB, options *redis.Options) *fixture {
	// The machine may be busy; no test here is about timeouts.
	options.ReadTimeout, options.PoolTimeout = 30*time.Second, 30*time.Second
	options.MaxRetries, options.DialerRetries = -1, 1 // so that a server that is away is so at once
	options.ContextTimeoutEnabled = true
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	// Each id has a millisecond of its own: within one, a shopper's ids may be the same by chance.
	start, ids := time.Now(), new(atomic.Int64)
	mint, err := sale.NewMint([]byte("a secret of the tests"), func() time.Time {
		return start.Add(time.Duration(ids.Add(1)) * time.Millisecond)
	})
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{
		Store: stock.New(rdb),
		rdb:   rdb,
		sh:    stock.Shards{Sale: sale.ID(servers.SaleID()), N: 1},
		item:  sale.ItemID(servers.ItemID()),
		mint:  mint,
	}
}

// load makes units of the fixture's item ready in each shard, on sale from an hour ago for two hours.
func (f *fixture) load(t testing.TB, units int) {
	t.Helper()
	for k := range f.sh.N {
		f.quota(t, k, 1, map[sale.ItemID]int{f.item: units}, true, stock.QuotaApplied)
		f.steer(t, k, f.settings(1), stock.SteerApplied)
	}
}

// selling is the fixture's sale with units of its item.
func (f *fixture) selling(units int) *sale.Sale {
	return &sale.Sale{ID: f.sh.Sale, Shards: f.sh.N, Items: []sale.Item{{ID: f.item, Quantity: units}}}
}

func (f *fixture) settings(version int64) sale.Settings {
	return sale.Settings{Version: version, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(time.Hour)}
}

func (f *fixture) quota(t testing.TB, shard int, version int64, quota map[sale.ItemID]int, load bool, want stock.QuotaOutcome) {
	t.Helper()
	got, err := f.SetQuota(t.Context(), f.sh, shard, version, quota, load)
	if err != nil || got != want {
		t.Fatalf("SetQuota(version %d, load %v) = %v, %v; want %v", version, load, got, err, want)
	}
}

func (f *fixture) steer(t testing.TB, shard int, set sale.Settings, want stock.SteerOutcome) {
	t.Helper()
	got, err := f.Steer(t.Context(), f.sh, shard, set)
	if err != nil || got != want {
		t.Fatalf("Steer(version %d) = %v, %v; want %v", set.Version, got, err, want)
	}
}

func (f *fixture) attempt(user string) stock.Attempt {
	return stock.Attempt{OrderID: f.mint.New(f.sh.Sale, user), UserID: user, ItemID: f.item}
}

func (f *fixture) reserve(t testing.TB, a stock.Attempt, want stock.Outcome) stock.Answer {
	t.Helper()
	got, err := f.Reserve(t.Context(), f.sh, a)
	if err != nil || got.Outcome != want {
		t.Fatalf("Reserve(%q) = %v, %v; want %v", a.UserID, got.Outcome, err, want)
	}
	return got
}

func placed(a stock.Attempt, at time.Time) sale.Placed {
	return sale.Placed{OrderID: a.OrderID, SaleID: a.OrderID.SaleID(), ItemID: a.ItemID, UserID: a.UserID, ReservedAt: at}
}

func (f *fixture) claim(t testing.TB, a stock.Attempt, want stock.ClaimOutcome) {
	t.Helper()
	got, err := f.Claim(t.Context(), f.sh, []sale.Placed{placed(a, time.Now())})
	if err != nil || len(got) != 1 || got[0] != want {
		t.Fatalf("Claim(%q) = %v, %v; want %v", a.UserID, got, err, want)
	}
}

func (f *fixture) confirm(t testing.TB, a stock.Attempt, payBy time.Time) {
	t.Helper()
	if err := f.Confirm(t.Context(), f.sh, []stock.Confirmation{{OrderID: a.OrderID, UserID: a.UserID, PayBy: payBy}}); err != nil {
		t.Fatalf("Confirm(%q): %v", a.UserID, err)
	}
}

func (f *fixture) release(t testing.TB, mode stock.ReleaseMode, a stock.Attempt, want stock.ReleaseOutcome) {
	t.Helper()
	got, err := f.Release(t.Context(), f.sh, mode, []stock.Held{{OrderID: a.OrderID, UserID: a.UserID}})
	if err != nil || len(got) != 1 || got[0] != want {
		t.Fatalf("Release(%s, %q) = %v, %v; want %v", mode, a.UserID, got, err, want)
	}
}

// report checks a shard and that it is conserved.
func (f *fixture) report(t testing.TB, shard int) stock.ShardReport {
	t.Helper()
	r, err := f.Check(t.Context(), f.sh, shard)
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	if !r.Conserved() {
		t.Errorf("shard %d is not conserved: %+v", shard, r)
	}
	return r
}

func (f *fixture) wantItem(t testing.TB, want stock.ItemReport) stock.ShardReport {
	t.Helper()
	r := f.report(t, 0)
	if got := r.Items[f.item]; got != want {
		t.Errorf("item is %+v, want %+v", got, want)
	}
	return r
}

// dump is all that the shards' keys hold, to prove that nothing was written.
func (f *fixture) dump(t testing.TB) string {
	t.Helper()
	var text string
	for k := range f.sh.N {
		for _, key := range f.KeysOf(f.sh, k).All() {
			switch kind := f.rdb.Type(t.Context(), key).Val(); kind {
			case "hash":
				text += fmt.Sprintln(key, f.rdb.HGetAll(t.Context(), key).Val())
			case "zset":
				text += fmt.Sprintln(key, f.rdb.ZRangeWithScores(t.Context(), key, 0, -1).Val())
			default:
				text += fmt.Sprintln(key, kind, f.rdb.Get(t.Context(), key).Val())
			}
		}
	}
	return text
}

// clock is the server's time in milliseconds, as the scripts see it.
func (f *fixture) clock(t testing.TB) time.Time {
	t.Helper()
	now, err := f.rdb.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return now.Truncate(time.Millisecond)
}
