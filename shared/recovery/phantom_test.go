package recovery_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// TestNoPhantom has a shopper press at the worst moment: when lost holds are not yet adopted, and
// the stock is mended by the holds that are left. All units are sold, so nobody may get one.
func TestNoPhantom(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(b *bench, ctx context.Context, sl sale.Sale) error{
		"all holds gone": func(b *bench, ctx context.Context, sl sale.Sale) error {
			return b.Redis.Del(ctx, shoptest.Key(sl, "holds")).Err()
		},
		"one hold gone": func(b *bench, ctx context.Context, sl sale.Sale) error {
			return b.Redis.HDel(ctx, shoptest.Key(sl, "holds"), "buyer-1").Err()
		},
		"holds of a wrong type": func(b *bench, ctx context.Context, sl sale.Sale) error {
			return b.Redis.Set(ctx, shoptest.Key(sl, "holds"), "x", 0).Err()
		},
		"a hold that nobody can read": func(b *bench, ctx context.Context, sl sale.Sale) error {
			return b.Redis.HSet(ctx, shoptest.Key(sl, "holds"), "buyer-1", "rubbish").Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			sl := b.Open(t, 3)
			b.sell(t, sl, 3)
			if err := damage(b, t.Context(), sl); err != nil {
				t.Fatal(err)
			}
			var heard []stock.Outcome
			b.Redis.AddHook(afterRepair(func() { heard = append(heard, b.Outcome(t, sl, 0, "stranger")) }))
			if _, err := b.keeper.Reconcile(t.Context(), &sl); err != nil {
				t.Fatal(err)
			}
			if len(heard) == 0 {
				t.Fatal("nothing was repaired")
			}
			for _, o := range heard {
				if o != stock.SoldOut {
					t.Errorf("a stranger during the repair: got %s, want sold out", o)
				}
			}
			b.WantUnits(t, sl, 0, [4]int64{0, 0, 0, 3})
		})
	}
}

// afterRepair is called whenever repair.lua has run: no other script with six keys and an argument
// goes out alone here, but for what it calls itself.
type afterRepair func()

func (afterRepair) DialHook(next redis.DialHook) redis.DialHook { return next }
func (afterRepair) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f afterRepair) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	busy := false
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); err == nil && !busy && len(args) >= 10 && args[2] == 6 {
			busy = true
			f()
			busy = false
		}
		return err
	}
}
