package stock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// pipelines counts them: a count of all shards is one.
type pipelines struct{ n atomic.Int64 }

func (*pipelines) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (p *pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		p.n.Add(1)
		return next(ctx, cmds)
	}
}

// A crowd that meets an empty shard costs one count in 200 ms.
func TestSoldOutEverywhere(t *testing.T) {
	t.Parallel()
	f := newMini(t)
	f.sh.N = 3
	sl := f.selling(1)
	var ahead atomic.Int64
	start := time.Now()
	now := func() time.Time { return start.Add(time.Duration(ahead.Load())) }
	r := stock.NewLatch(f.Store, stock.NewCatalog(f.Store, now), now)
	asked := &pipelines{}
	f.rdb.AddHook(asked)
	want := func(out bool, counts int64) {
		t.Helper()
		asked.n.Store(0)
		if got, err := r.SoldOut(t.Context(), sl, f.item); err != nil || got != out {
			t.Fatalf("sold out: got %v, %v, want %v", got, err, out)
		}
		if got := asked.n.Load(); got != counts {
			t.Errorf("counts: got %d, want %d", got, counts)
		}
	}
	for range 2 { // what is not known is asked again at once
		if got, err := r.SoldOut(t.Context(), sl, f.item); err == nil {
			t.Errorf("not loaded: got %v, want an error", got)
		}
	}
	for shard, units := range []int{0, 0, 1} {
		f.quota(t, shard, 1, map[sale.ItemID]int{f.item: units}, true, stock.QuotaApplied)
	}
	want(false, 1)
	f.quota(t, 2, 2, map[sale.ItemID]int{f.item: 0}, false, stock.QuotaApplied)
	sl.Items[0].Quantity = 0
	ahead.Add(int64(199 * time.Millisecond))
	want(false, 0)
	ahead.Add(int64(time.Millisecond))
	want(true, 1)
	asked.n.Store(0)
	var crowd sync.WaitGroup
	for range 50 {
		crowd.Go(func() {
			if got, err := r.SoldOut(t.Context(), sl, f.item); err != nil || !got {
				t.Errorf("in the crowd: got %v, %v, want sold out", got, err)
			}
		})
	}
	crowd.Wait()
	if got := asked.n.Load(); got != 0 {
		t.Errorf("a crowd of 50 within 200 ms: %d counts, want none", got)
	}
	alone := f.selling(1)
	alone.Shards = 1
	if got, err := r.SoldOut(t.Context(), alone, f.item); err != nil || !got || asked.n.Load() != 0 {
		t.Errorf("one shard: got %v, %v after %d counts, want sold out without any", got, err, asked.n.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ahead.Add(int64(time.Second))
	f.mini.Close()
	if got, err := r.SoldOut(ctx, sl, f.item); err == nil {
		t.Errorf("Redis away: got %v, want an error", got)
	}
}

// What Redis would not call sold out is not refused without it, and for no
// longer than the latch time after it has changed.
func TestLatchLetsGo(t *testing.T) {
	t.Parallel()
	pause := func(f *fixture, change func(*sale.Settings)) {
		set := f.settings(2)
		change(&set)
		for k := range f.sh.N {
			f.steer(t, k, set, stock.SteerApplied)
		}
	}
	for name, change := range map[string]func(t *testing.T, f *fixture){
		"paused": func(_ *testing.T, f *fixture) {
			pause(f, func(s *sale.Settings) { s.Paused = []sale.PauseReason{sale.PausedByOperator} })
		},
		"in doubt": func(_ *testing.T, f *fixture) {
			pause(f, func(s *sale.Settings) { s.Doubts = []sale.ItemID{f.item} })
		},
		"not open": func(_ *testing.T, f *fixture) {
			pause(f, func(s *sale.Settings) { s.OpensAt = time.Now().Add(time.Minute) })
		},
		"one shard closed": func(t *testing.T, f *fixture) {
			set := f.settings(2)
			set.ClosesAt = time.Now().Add(-time.Minute)
			f.steer(t, 1, set, stock.SteerApplied)
		},
		"not loaded": func(t *testing.T, f *fixture) { f.rdb.HDel(t.Context(), f.KeysOf(f.sh, 1).Meta, "loaded") },
		"a unit elsewhere": func(t *testing.T, f *fixture) {
			f.quota(t, 1, 2, map[sale.ItemID]int{f.item: 1}, false, stock.QuotaApplied)
		},
		"wrong type": func(t *testing.T, f *fixture) {
			f.rdb.Del(t.Context(), f.KeysOf(f.sh, 0).Winners)
			f.rdb.HSet(t.Context(), f.KeysOf(f.sh, 0).Winners, "a", "b")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, f *fixture) {
				f.sh.N = 2
				f.load(t, 0)
				e := f.environment(f.Store, 0)
				e.meets(t, f.item)
				if !e.refuses(t, f.item, "stranger") {
					t.Fatal("sold out, and not refused")
				}
				change(t, f)
				e.passes(stock.LatchRenew - time.Millisecond)
				if !e.refuses(t, f.item, "stranger") {
					t.Error("it let go too early")
				}
				e.passes(time.Millisecond)
				if e.refuses(t, f.item, "stranger") {
					t.Error("it was looked up again, and still refuses")
				}
				e.passes(stock.LatchTime)
				if e.refuses(t, f.item, "stranger") {
					t.Error("it refuses again by itself")
				}
			})
		})
	}
}

// The API promises a unit that came back, and a winner whose answer was lost, within 0.3 s.
func TestLatchTimeIsPromised(t *testing.T) {
	t.Parallel()
	if stock.LatchTime > 300*time.Millisecond || stock.LatchRenew >= stock.LatchTime {
		t.Errorf("refused for %s, looked up after %s, want at most 300 ms, and sooner", stock.LatchTime, stock.LatchRenew)
	}
}

// A sale that Redis has closed is refused as closed.
func TestLatchTellsClosed(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 5)
		f.reserve(t, f.attempt("winner"), stock.Reserved)
		e := f.environment(f.Store, 5)
		set := f.settings(2)
		set.ClosesAt = time.Now().Add(-time.Minute)
		f.steer(t, 0, set, stock.SteerApplied)
		e.meets(t, f.item)
		r := e.Refusal(t.Context(), e.now(), &sale.Listing{Sale: e.sl, Standing: sale.Standing{Loaded: true}}, f.item)
		if r.Outcome != stock.Closed || r.MayName([]byte("stranger")) || !r.MayName([]byte("winner")) {
			t.Errorf("got %v, stranger %v, winner %v, want closed for all but the winner",
				r.Outcome, r.MayName([]byte("stranger")), r.MayName([]byte("winner")))
		}
	})
}

// When it is time to look again, one of a crowd does. The others are refused
// meanwhile, however long that takes, until the latch time is over.
func TestOneLooksAgain(t *testing.T) {
	t.Parallel()
	f := newMini(t)
	f.load(t, 0)
	var looks atomic.Int64
	shut := make(chan struct{})
	e := f.environment(f.apart(t, func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if cmd.Name() == "time" && looks.Add(1) > 1 {
			<-shut
		}
		return next(ctx, cmd)
	}), 0)
	e.meets(t, f.item)
	e.passes(stock.LatchRenew)
	const crowd = 40
	answers := make(chan bool, crowd)
	for range crowd {
		go func() { answers <- e.refuses(t, f.item, "stranger") }()
	}
	for range crowd - 1 { // all but the one that looks
		if !<-answers {
			t.Error("one of the crowd was sent to Redis")
		}
	}
	e.passes(stock.LatchTime - stock.LatchRenew)
	if e.refuses(t, f.item, "stranger") {
		t.Error("refused by what is older than the latch time")
	}
	close(shut)
	<-answers
	if got := looks.Load(); got != 2 {
		t.Errorf("%d looks, want the first and one more", got)
	}
}

func TestLatchIsBounded(t *testing.T) {
	t.Parallel()
	f := newMini(t)
	f.load(t, 0)
	e := f.environment(f.Store, 0)
	for id := range 1000 {
		sl := e.sl
		sl.ID = sale.ID(id + 1) //nolint:gosec // small
		if _, err := e.SoldOut(t.Context(), &sl, f.item); err != nil {
			t.Fatal(err)
		}
	}
	if got := e.Sales(); got > 256 {
		t.Errorf("%d sales are remembered, want at most 256", got)
	}
}
