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
func TestRemainder(t *testing.T) {
	t.Parallel()
	f := newMini(t)
	f.sh.N = 3
	sl := f.selling(1)
	var ahead atomic.Int64
	start := time.Now()
	r := stock.NewRemainder(f.Store, func() time.Time { return start.Add(time.Duration(ahead.Load())) })
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
