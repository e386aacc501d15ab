package stock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/stock"
)

// A barrier stops commands of one name until it is opened.
type barrier struct {
	reached, opened chan struct{}
	once            sync.Once
	open            atomic.Bool
	err             error // what they end with then, if any
}

func newBarrier(err error) *barrier {
	return &barrier{reached: make(chan struct{}), opened: make(chan struct{}), err: err}
}

// stops is the barrier as a hook of a client.
func (g *barrier) stops(name string) hook {
	return func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if cmd.Name() != name {
			return next(ctx, cmd)
		}
		g.once.Do(func() { close(g.reached) })
		<-g.opened
		if g.err != nil {
			cmd.SetErr(g.err)
			return g.err
		}
		return next(ctx, cmd)
	}
}

func (g *barrier) lets() {
	g.open.Store(true)
	close(g.opened)
}

// A crowd that has no refusal yet waits for the look that will have one. Nobody
// else waits: not for another item, nor where other shards may have units.
func TestCrowdAwaitsTheLook(t *testing.T) {
	t.Parallel()
	const crowd = 20
	for name, tc := range map[string]struct {
		shards  int
		stopped string // the command of the look at which the crowd comes
		err     error  // by which the look fails
		waits   bool
		refused bool
	}{
		"one shard":                          {shards: 1, stopped: "time", waits: true, refused: true},
		"one shard, filling":                 {shards: 1, stopped: "hscan", waits: true, refused: true},
		"one shard, the look fails":          {shards: 1, stopped: "time", err: errors.New("away"), waits: true},
		"one shard, no filter":               {shards: 1, stopped: "hscan", err: errors.New("away"), waits: true},
		"two shards, one of them may sell":   {shards: 2, stopped: "time"},
		"two shards, known to have no units": {shards: 2, stopped: "hscan", waits: true, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newMini(t)
			f.sh.N = tc.shards
			f.load(t, 0)
			g := newBarrier(tc.err)
			e := f.environment(f.apart(t, g.stops(tc.stopped)), 0)
			e.sl.Shards = tc.shards
			if e.Await(t.Context(), e.sl.ID, f.item) {
				t.Error("awaited without a look")
			}
			var looking sync.WaitGroup
			looking.Go(func() { _, _ = e.SoldOut(t.Context(), &e.sl, f.item) })
			<-g.reached
			if e.Await(t.Context(), e.sl.ID, f.item+1) {
				t.Error("awaited for another item")
			}
			if e.Await(canceled(t), e.sl.ID, f.item) {
				t.Error("awaited without time")
			}
			var waiting sync.WaitGroup
			var came atomic.Int64
			for range crowd {
				waiting.Go(func() {
					came.Add(1)
					waited := e.Await(t.Context(), e.sl.ID, f.item)
					if waited != tc.waits || waited && !g.open.Load() {
						t.Errorf("waited %v, the look over %v; want to wait %v", waited, g.open.Load(), tc.waits)
					}
					if waited && e.refuses(t, f.item, "stranger") != tc.refused {
						t.Errorf("refused %v, want %v", !tc.refused, tc.refused)
					}
				})
			}
			if !tc.waits {
				waiting.Wait()
			}
			for came.Load() < crowd {
				time.Sleep(time.Millisecond)
			}
			g.lets()
			waiting.Wait()
			looking.Wait()
			if e.Await(t.Context(), e.sl.ID, f.item) {
				t.Error("awaited after the look")
			}
		})
	}
}

// A look that takes longer than the latch time leaves the crowd without a refusal.
// It waits for that look then, by what the one before has said.
func TestCrowdAwaitsALateLook(t *testing.T) {
	t.Parallel()
	f := newMini(t)
	f.load(t, 0)
	e := f.environment(f.Store, 0)
	e.meets(t, f.item)
	g := newBarrier(nil)
	f.rdb.AddHook(g.stops("time"))
	e.passes(stock.LatchRenew)
	var looking sync.WaitGroup
	looking.Go(func() { e.refuses(t, f.item, "stranger") })
	<-g.reached
	e.passes(stock.LatchTime - stock.LatchRenew)
	if e.refuses(t, f.item, "stranger") {
		t.Error("refused by what is older than the latch time")
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if !e.Await(t.Context(), e.sl.ID, f.item) || !g.open.Load() {
			t.Error("did not wait for the look")
		}
		if !e.refuses(t, f.item, "stranger") {
			t.Error("the look has found it sold out, and it is not refused")
		}
	})
	g.lets()
	waiting.Wait()
	looking.Wait()
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
