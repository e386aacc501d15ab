package recovery_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// TestSettingsAhead has a Redis that is ahead of a restored database.
func TestSettingsAhead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, ahead := range []int64{1, 50, 999_999} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			t.Parallel()
			sl := b.openShards(t, 2, 10)
			_, before := b.versions(t, sl)
			b.Redis.HSet(t.Context(), b.shardKey(t, sl, 0, "meta"), "settings", before+1+ahead)
			if err := b.Orders.Pause(t.Context(), sl.ID, sale.PausedByOperator, "test"); err != nil {
				t.Fatal(err)
			}
			if err := b.keeper.Govern(t.Context(), sl.ID); err != nil {
				t.Fatal(err)
			}
			for shard := range sl.Shards {
				if got := b.Outcome(t, sl, 0, homed(sl, shard, 1)[0]); got != stock.Paused {
					t.Errorf("shard %d: got %v, want paused", shard, got)
				}
			}
			if _, after := b.versions(t, sl); after != before+2+ahead {
				t.Errorf("settings in the database: got version %d, want %d", after, before+2+ahead)
			}
		})
	}
	t.Run("another pass in between", func(t *testing.T) {
		t.Parallel()
		sl := b.Open(t, 10)
		shelf := shoptest.OpenShelf(t, servers.RedisURL(t))
		var once sync.Once
		shelf.Redis.AddHook(beforeSteer(func() {
			once.Do(func() {
				if err := b.Orders.Pause(t.Context(), sl.ID, sale.PausedByRebuild, "test"); err != nil {
					t.Error(err)
				}
				if err := b.keeper.Govern(t.Context(), sl.ID); err != nil {
					t.Errorf("the other pass: %v", err)
				}
			})
		}))
		_, before := b.versions(t, sl)
		slow := &recovery.Keeper{Orders: b.Orders, Stock: shelf.Stock}
		if err := slow.Govern(t.Context(), sl.ID); err != nil {
			t.Errorf("the slow pass: %v", err)
		}
		if got := b.Outcome(t, sl, 0, "u"); got != stock.Paused {
			t.Errorf("got %v, want paused", got)
		}
		if _, after := b.versions(t, sl); after != before+1 {
			t.Errorf("settings: got version %d, want %d: nothing had to be raised", after, before+1)
		}
	})
}

// beforeSteer is called whenever steer.lua is about to run: the script with one key.
type beforeSteer func()

func (beforeSteer) DialHook(next redis.DialHook) redis.DialHook { return next }
func (beforeSteer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f beforeSteer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) > 2 && args[2] == 1 {
			f()
		}
		return next(ctx, cmd)
	}
}
