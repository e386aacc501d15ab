package stock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// An environment has a latch and a clock of its own.
type environment struct {
	*stock.Latch
	sl      sale.Sale
	start   time.Time
	elapsed atomic.Int64
}

// environment makes one that reaches Redis by s. Its catalog is empty, so that
// no window interferes.
func (f *fixture) environment(s *stock.Store, units int) *environment {
	e := &environment{sl: *f.selling(units)}
	e.start = time.Now()
	e.Latch = stock.NewLatch(s, stock.NewCatalog(s, e.now), e.now)
	return e
}

func (e *environment) now() time.Time { return e.start.Add(time.Duration(e.elapsed.Load())) }

func (e *environment) passes(d time.Duration) { e.elapsed.Add(int64(d)) }

// meets is what Redis' refusal of a shopper does. On a busy machine a look may be late;
// the next shopper makes another.
func (e *environment) meets(t testing.TB, item sale.ItemID) {
	t.Helper()
	_, err := e.SoldOut(t.Context(), &e.sl, item)
	for tries := 0; late(err) && tries < 10; tries++ {
		_, err = e.SoldOut(t.Context(), &e.sl, item)
	}
	if err != nil {
		t.Fatalf("sold out: %v", err)
	}
}

// refuses tells whether a shopper is refused without Redis.
func (e *environment) refuses(t testing.TB, item sale.ItemID, user string) bool {
	t.Helper()
	r := e.Refusal(t.Context(), e.now(), &sale.Listing{Sale: e.sl, Standing: sale.Standing{Loaded: true}}, item)
	return r.Outcome == stock.SoldOut && !r.MayName([]byte(user))
}

// A hook does what the test says around each command that is sent alone.
type hook func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error

func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return h(ctx, cmd, next) }
}

func (hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// apart is a store over a connection of its own, with a hook.
func (f *fixture) apart(t testing.TB, h hook) *stock.Store {
	t.Helper()
	rdb := redis.NewClient(f.rdb.Options())
	t.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(h)
	return stock.New(rdb)
}

// scarce makes an item that is sold out beside the fixture's own, so that filters
// are filled while the other one sells.
func (f *fixture) scarce(t testing.TB, units int) (soldOut sale.ItemID) {
	t.Helper()
	soldOut = f.item + 1
	for k := range f.sh.N {
		f.quota(t, k, 1, map[sale.ItemID]int{f.item: units, soldOut: 0}, true, stock.QuotaApplied)
		f.steer(t, k, f.settings(1), stock.SteerApplied)
	}
	return soldOut
}
