// Package shoptest puts sales on real servers for the tests of the functions
// and of what they share. It promises that tests which use the same servers
// never meet: each sale has random ids, and each shelf its own catalog, which
// is one key for all of a Redis otherwise. Nothing that is deployed imports it.
package shoptest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// A Shelf is the stock of a test's sales in Redis.
type Shelf struct {
	Redis redis.UniversalClient
	Stock *stock.Store
	Mint  *sale.Mint

	t testing.TB
}

// OpenShelf connects as the functions do.
func OpenShelf(t testing.TB, redisURL string) *Shelf {
	t.Helper()
	rdb, err := connect.Redis(config.Redis{URL: config.Secret(redisURL), PoolSize: 32})
	if err != nil {
		t.Fatalf("shoptest: %v", err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	OwnCatalog(t, rdb)
	mint, err := sale.NewMint([]byte("a secret of the tests"), distinct())
	if err != nil {
		t.Fatalf("shoptest: %v", err)
	}
	return &Shelf{Redis: rdb, Stock: stock.New(rdb), Mint: mint, t: t}
}

// distinct is a clock that never tells a millisecond twice: within one, two ids
// of a shopper are the same by chance (1 in 4,096).
func distinct() func() time.Time {
	var last atomic.Int64
	return func() time.Time {
		for {
			before := last.Load()
			now := max(time.Now().UnixMilli(), before+1)
			if last.CompareAndSwap(before, now) {
				return time.UnixMilli(now)
			}
		}
	}
}

// OwnCatalog gives the key "catalog", which is one for all of a Redis, a name of its own for one
// client. It goes with the test.
func OwnCatalog(t testing.TB, rdb redis.UniversalClient) {
	t.Helper()
	own := ownCatalog(fmt.Sprintf("catalog:test:%x", rand.Uint64()))
	rdb.AddHook(own)
	t.Cleanup(func() { rdb.Del(context.WithoutCancel(t.Context()), string(own)) })
}

// ownCatalog is the name of the key.
type ownCatalog string

// DialHook changes nothing.
func (o ownCatalog) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook changes nothing: the catalog is read and written alone.
func (o ownCatalog) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook renames the key.
func (o ownCatalog) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) > 1 && args[1] == "catalog" {
			args[1] = string(o)
		}
		return next(ctx, cmd)
	}
}

// Sale describes a sale that opened an hour ago and ends in an hour, with an
// item for each quantity. It exists nowhere yet; its keys go with the test.
func (s *Shelf) Sale(quantities ...int) sale.Sale {
	now := time.Now().UTC().Truncate(time.Millisecond)
	sl := sale.Sale{
		ID: sale.ID(rand.Uint32N(1<<32-1) + 1), Name: "test", OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour),
		PaymentWindow: 10 * time.Minute, Grace: time.Minute, Shards: 1,
	}
	first := rand.Int64N(1<<62) + 1
	for i, q := range quantities {
		sl.Items = append(sl.Items, sale.Item{
			ID: sale.ItemID(first + int64(i)), ProductID: 55, Name: fmt.Sprintf("item %d", i), Quantity: q, PriceMinor: 1999, Currency: "EUR",
		})
	}
	s.t.Cleanup(func() {
		for _, part := range []string{"meta", "holds", "stock", "unconfirmed", "released", "winners"} {
			s.Redis.Del(context.WithoutCancel(s.t.Context()), Key(sl, part))
		}
	})
	return sl
}

// Key is a key of the sale's one shard, for tests that damage it.
func Key(sl sale.Sale, part string) string { return fmt.Sprintf("{sale:%d:0}:%s", sl.ID, part) }

// Stack puts the sale's stock into Redis without a window: a load half-way.
func (s *Shelf) Stack(t testing.TB, sl sale.Sale) {
	t.Helper()
	quota := map[sale.ItemID]int{}
	for _, it := range sl.Items {
		quota[it.ID] = it.Quantity
	}
	if _, err := s.Stock.SetQuota(t.Context(), stock.Of(&sl), 0, 1, quota, true); err != nil {
		t.Fatalf("shoptest: %v", err)
	}
}

// Offer puts the sale's stock into Redis and lets change say what governs it.
func (s *Shelf) Offer(t testing.TB, sl sale.Sale, change func(*sale.Settings)) {
	t.Helper()
	s.Stack(t, sl)
	s.Steer(t, sl, 1, change)
}

// Steer sets what governs the sale; change may be nil.
func (s *Shelf) Steer(t testing.TB, sl sale.Sale, version int64, change func(*sale.Settings)) {
	t.Helper()
	set := sale.Settings{Version: version, OpensAt: sl.OpensAt, ClosesAt: sl.ClosesAt}
	if change != nil {
		change(&set)
	}
	if got, err := s.Stock.Steer(t.Context(), stock.Of(&sl), 0, set); err != nil || got != stock.SteerApplied {
		t.Fatalf("shoptest: steer: %v, %v", got, err)
	}
}

// List makes the catalog of these sales, all loaded.
func (s *Shelf) List(t testing.TB, sales ...sale.Sale) {
	t.Helper()
	listings := make([]sale.Listing, len(sales))
	for i, sl := range sales {
		listings[i] = sale.Listing{Sale: sl, Standing: sale.Standing{Loaded: true}}
	}
	if err := s.Stock.PutCatalog(t.Context(), sale.NewCatalog(listings)); err != nil {
		t.Fatalf("shoptest: %v", err)
	}
}

// Place makes a purchase's record without asking Redis.
func (s *Shelf) Place(sl sale.Sale, item int, userID string) sale.Placed {
	return sale.Placed{
		OrderID: s.Mint.New(sl.ID, userID), SaleID: sl.ID, ItemID: sl.Items[item].ID, UserID: userID,
		ReservedAt: time.Now().UTC().Truncate(time.Millisecond),
	}
}

// Reserve wins a unit, as a purchase does before its publish.
func (s *Shelf) Reserve(t testing.TB, sl sale.Sale, item int, userID string) sale.Placed {
	t.Helper()
	p := s.Place(sl, item, userID)
	got, err := s.Stock.Reserve(t.Context(), stock.Of(&sl), stock.Attempt{OrderID: p.OrderID, UserID: userID, ItemID: p.ItemID})
	if err != nil || got.Outcome != stock.Reserved {
		t.Fatalf("shoptest: reserve for %s: got %v, %v, want reserved", userID, got.Outcome, err)
	}
	p.ReservedAt = got.ReservedAt
	return p
}

// Outcome is what a new purchase would hear; a unit that it wins is put back.
func (s *Shelf) Outcome(t testing.TB, sl sale.Sale, item int, userID string) stock.Outcome {
	t.Helper()
	p := s.Place(sl, item, userID)
	got, err := s.Stock.Reserve(t.Context(), stock.Of(&sl), stock.Attempt{OrderID: p.OrderID, UserID: userID, ItemID: p.ItemID})
	if err == nil && got.Outcome == stock.Reserved {
		_, err = s.Stock.Release(t.Context(), stock.Of(&sl), stock.Settled, []stock.Held{{OrderID: p.OrderID, UserID: userID}})
	}
	if err != nil {
		t.Fatalf("shoptest: %v", err)
	}
	return got.Outcome
}

// Check reports the sale's shard.
func (s *Shelf) Check(t testing.TB, sl sale.Sale) stock.ShardReport {
	t.Helper()
	got, err := s.Stock.Check(t.Context(), stock.Of(&sl), 0)
	if err != nil {
		t.Fatalf("shoptest: %v", err)
	}
	return got
}

// WantUnits checks an item's units: left, reserved, claimed and confirmed.
func (s *Shelf) WantUnits(t testing.TB, sl sale.Sale, item int, want [4]int64) {
	t.Helper()
	report := s.Check(t, sl)
	it := report.Items[sl.Items[item].ID]
	if got := [4]int64{it.Stock, it.Reserved, it.Claimed, it.Confirmed}; got != want {
		t.Errorf("units left, reserved, claimed, confirmed: got %v, want %v", got, want)
	}
	if !report.Conserved() {
		t.Errorf("stock + holds is not the quota: %+v", report)
	}
}
