package recovery_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/lua"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// TestRebuildOvertaken lets something happen in the middle of a rebuild.
func TestRebuildOvertaken(t *testing.T) {
	t.Parallel()
	t.Run("a second loss is not lifted by the rebuild of the first", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 4)
		b.sell(t, sl, 4)
		b.wipe(t, sl)
		// Another keeper begins with the second loss and dies before it puts holds back.
		shelf := shoptest.OpenShelf(t, servers.RedisURL(t))
		shelf.Redis.AddHook(afterConfirm(func() {
			b.wipe(t, sl)
			b.backlog = 1
			if _, err := b.keeper.Rebuild(t.Context(), &sl); !errors.Is(err, recovery.ErrDraining) {
				t.Errorf("second rebuild: got %v, want ErrDraining", err)
			}
			b.backlog = 0
			b.Stack(t, sl) // what it does next
		}))
		first := &recovery.Keeper{Orders: b.Orders, Stock: shelf.Stock, Mark: b.keeper.Mark}
		if _, err := first.Rebuild(t.Context(), &sl); err != nil {
			t.Fatal(err)
		}
		if got := b.Outcome(t, sl, 0, "u"); got == stock.Reserved {
			t.Error("a unit is on sale that is somebody else's")
		}
		b.wantLost(t, sl, true)
		if got, err := b.keeper.Rebuild(t.Context(), &sl); err != nil || got.Adopted != 4 {
			t.Fatalf("rebuild: got %+v, %v, want 4 adopted", got, err)
		}
		b.wantLost(t, sl, false)
		b.WantUnits(t, sl, 0, [4]int64{0, 0, 0, 4})
	})
	t.Run("a pass that read its settings before the loss opens nothing", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 5)
		b.sell(t, sl, 4)
		before, err := b.Orders.Settings(t.Context(), sl.ID)
		if err != nil {
			t.Fatal(err)
		}
		b.wipe(t, sl)
		heard := stock.Reserved
		shelf := shoptest.OpenShelf(t, servers.RedisURL(t))
		shelf.Redis.AddHook(afterConfirm(func() {
			if got, err := b.Stock.Steer(t.Context(), stock.Of(&sl), 0, before); err != nil || got != stock.SteerStale {
				t.Errorf("old settings: got %v, %v, want stale", got, err)
			}
			heard = b.Outcome(t, sl, 0, "u")
		}))
		keeper := &recovery.Keeper{Orders: b.Orders, Stock: shelf.Stock, Mark: b.keeper.Mark}
		if _, err := keeper.Rebuild(t.Context(), &sl); err != nil {
			t.Fatal(err)
		}
		if heard != stock.Paused {
			t.Errorf("during the rebuild: got %v, want paused", heard)
		}
	})
	t.Run("one that comes late gives no marker to a sale that is lost again", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 4)
		b.sell(t, sl, 4)
		b.wipe(t, sl)
		shelf := shoptest.OpenShelf(t, servers.RedisURL(t))
		sold := false
		shelf.Redis.AddHook(afterAny(func() {
			sold = sold || t.Context().Err() == nil && b.Outcome(t, sl, 0, "stranger") == stock.Reserved
		}))
		late := &recovery.Keeper{Orders: b.Orders, Stock: shelf.Stock, Mark: func(ctx context.Context, items []sale.ItemID) (func(context.Context) (bool, error), error) {
			// Another one is through meanwhile and lifts the pause. Then comes the second loss.
			if _, err := b.keeper.Rebuild(t.Context(), &sl); err != nil {
				t.Error(err)
			}
			b.wipe(t, sl)
			return b.keeper.Mark(ctx, items)
		}}
		if _, err := late.Rebuild(t.Context(), &sl); err != nil && !errors.Is(err, recovery.ErrDraining) {
			t.Fatal(err)
		}
		if sold {
			t.Error("a unit was on sale that is somebody else's")
		}
		if got, err := b.keeper.Rebuild(t.Context(), &sl); err != nil || got.Adopted != 4 {
			t.Fatalf("rebuild: got %+v, %v, want 4 adopted", got, err)
		}
		b.wantLost(t, sl, false)
		b.WantUnits(t, sl, 0, [4]int64{0, 0, 0, 4})
	})
}

// afterConfirm is called when confirm.lua has run for the first time.
type afterConfirm func()

func (afterConfirm) DialHook(next redis.DialHook) redis.DialHook { return next }
func (f afterConfirm) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		f.met(cmds...)
		return err
	}
}

func (f afterConfirm) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		f.met(cmd)
		return err
	}
}

func (f afterConfirm) met(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		if args := cmd.Args(); cmd.Err() == nil && len(args) > 1 && args[1] == redis.NewScript(lua.Confirm).Hash() {
			f()
		}
	}
}

// afterAny is called after each call of Redis.
type afterAny func()

func (afterAny) DialHook(next redis.DialHook) redis.DialHook { return next }
func (f afterAny) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		defer f()
		return next(ctx, cmd)
	}
}

func (f afterAny) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		defer f()
		return next(ctx, cmds)
	}
}
