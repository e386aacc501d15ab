package recovery_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// A clumsy mover's call on Redis fails before or after it has had its effect.
type clumsy struct {
	step   string // the mode of quota.lua
	before bool
}

var errDied = errors.New("the mover died")

func (clumsy) DialHook(next redis.DialHook) redis.DialHook { return next }
func (clumsy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (c clumsy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if len(args) < 7 || args[6] != c.step {
			return next(ctx, cmd)
		}
		if !c.before {
			_ = next(ctx, cmd)
		}
		cmd.SetErr(errDied)
		return errDied
	}
}

// dying is a keeper whose moves stop at that step.
func (b *bench) dying(t *testing.T, c clumsy) *recovery.Keeper {
	t.Helper()
	shelf := shoptest.OpenShelf(t, servers.RedisURL(t))
	shelf.Redis.AddHook(c)
	return &recovery.Keeper{Orders: b.Orders, Stock: shelf.Stock}
}

// TestMoverDies has a mover that stops between any two steps: units are missing,
// never too many, and the next pass finishes or takes back.
func TestMoverDies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		at    clumsy
		left  []int64 // by shard, before the pass
		want  []int64 // after it
		found int
	}{
		{"before it takes", clumsy{"shrink", true}, []int64{0, 4}, []int64{0, 4}, 0},
		{"after it took", clumsy{"shrink", false}, []int64{0, 2}, []int64{0, 4}, 1},
		{"before it gives", clumsy{"assert", true}, []int64{0, 2}, []int64{2, 2}, 1},
		{"after it gave", clumsy{"assert", false}, []int64{2, 2}, []int64{2, 2}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			sl := b.openShards(t, 2, 8)
			b.try(t, sl, 0, homed(sl, 0, 5)...)
			if _, err := b.dying(t, c.at).Move(t.Context(), stock.Of(&sl)); !errors.Is(err, errDied) {
				t.Fatalf("move: got %v, want it to die", err)
			}
			levels, err := b.Stock.Levels(t.Context(), stock.Of(&sl))
			id := sl.Items[0].ID
			if err != nil || levels[0].Items[id].Stock != c.left[0] || levels[1].Items[id].Stock != c.left[1] {
				t.Errorf("left behind: %+v, %v, want stocks %v", levels, err, c.left)
			}
			// What no shard has is not sold out.
			if left, err := b.Stock.Left(t.Context(), &sl); err != nil || left[id] != 4 {
				t.Errorf("left: got %d, %v, want 4", left[id], err)
			}
			b.reconcile(t, sl, recovery.Reconciled{TransfersFinished: c.found})
			b.wantStock(t, sl, 0, c.want...)
		})
	}
	t.Run("a ledger that has changed takes the units back", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.openShards(t, 3, 12)
		b.try(t, sl, 0, homed(sl, 0, 5)...)
		shelf := shoptest.OpenShelf(t, servers.RedisURL(t))
		var once sync.Once
		shelf.Redis.AddHook(overtaken{"shrink", func() {
			once.Do(func() {
				if moved, err := b.Orders.MoveQuota(t.Context(), sl.ID, sl.Items[0].ID, 1, 2, 1, 1); err != nil || !moved {
					t.Errorf("the other mover: got %v, %v", moved, err)
				}
			})
		}})
		mover := &recovery.Keeper{Orders: b.Orders, Stock: shelf.Stock}
		if n, err := mover.Move(t.Context(), stock.Of(&sl)); n != 0 || err != nil {
			t.Errorf("overtaken: got %d, %v, want nothing moved", n, err)
		}
		b.wantStock(t, sl, 0, 0, 3, 5)
	})
}

// overtaken lets somebody in right after a step.
type overtaken struct {
	step  string
	after func()
}

func (overtaken) DialHook(next redis.DialHook) redis.DialHook { return next }
func (overtaken) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (o overtaken) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); len(args) > 6 && args[6] == o.step {
			o.after()
		}
		return err
	}
}

// TestRaisedAboveAMover has a mover die when it has told the donor the ledger's next version: whoever
// asserts the ledger is heard there, also without having seen it.
func TestRaisedAboveAMover(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sl := b.openShards(t, 2, 10)
	shards := stock.Of(&sl)
	ledger, err := b.Orders.Ledger(t.Context(), sl.ID)
	if err != nil {
		t.Fatal(err)
	}
	fewer := map[sale.ItemID]int{sl.Items[0].ID: 1}
	if got, err := b.Stock.Shrink(t.Context(), shards, 0, ledger.Version+1, fewer); err != nil || got != stock.QuotaApplied {
		t.Fatalf("shrink: got %v, %v", got, err)
	}
	if ledger, err = b.Orders.RaiseLedger(t.Context(), sl.ID, 0); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Stock.SetQuota(t.Context(), shards, 0, ledger.Version, ledger.Shards[0], false); err != nil || got != stock.QuotaApplied {
		t.Errorf("the donor: got %v, %v, want that it takes its quota back", got, err)
	}
	b.wantStock(t, sl, 0, 5, 5)
}

// TestTypedStockDoesNotMove has a hand type units into a shard that is sold out: they are other shoppers'.
func TestTypedStockDoesNotMove(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sl := b.openShards(t, 2, 10)
	if won := b.try(t, sl, 0, append(homed(sl, 0, 6), homed(sl, 1, 6)...)...); len(won) != 10 {
		t.Fatalf("sold: got %d, want 10", len(won))
	}
	b.Redis.HSet(t.Context(), b.shardKey(t, sl, 0, "stock"), strconv.FormatInt(int64(sl.Items[0].ID), 10), 6)
	if n := b.move(t, sl); n != 0 {
		t.Errorf("moved: got %d, want nothing", n)
	}
	b.pass(t, sl)
	b.wantStock(t, sl, 0, 0, 0)
}

// TestDoubtDoesNotMove has an item in doubt: until both sides were compared, what a shard has of it
// may be other shoppers', and in another shard nobody would know.
func TestDoubtDoesNotMove(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sl := b.openShards(t, 2, 10)
	if won := b.try(t, sl, 0, homed(sl, 0, 6)...); len(won) != 5 {
		t.Fatalf("sold: got %d, want 5", len(won))
	}
	doubt := "doubt:" + strconv.FormatInt(int64(sl.Items[0].ID), 10)
	b.Redis.HSet(t.Context(), b.shardKey(t, sl, 0, "meta"), doubt, "1")
	if n := b.move(t, sl); n != 0 {
		t.Errorf("moved in doubt: got %d, want nothing", n)
	}
	b.wantStock(t, sl, 0, 0, 5)
	b.Redis.HDel(t.Context(), b.shardKey(t, sl, 0, "meta"), doubt)
	if n := b.move(t, sl); n == 0 {
		t.Error("moved afterwards: got nothing, want what was wished for")
	}
}

// TestDoubtIsCovered has units that a shard only seemed to have, and that moved before anybody was in
// doubt. When the rows' holds are back it owes them, and they must not be on sale in the other shard.
func TestDoubtIsCovered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sl := b.openShards(t, 2, 10)
	sold := append(b.try(t, sl, 0, homed(sl, 0, 5)...), b.try(t, sl, 0, homed(sl, 1, 6)...)...)
	if len(sold) != 10 {
		t.Fatalf("sold: got %d, want 10", len(sold))
	}
	b.writes(t, sl, sold)
	item := strconv.FormatInt(int64(sl.Items[0].ID), 10)
	b.Redis.HDel(t.Context(), b.shardKey(t, sl, 0, "holds"), sold[0].UserID, sold[1].UserID)
	b.Redis.HIncrBy(t.Context(), b.shardKey(t, sl, 0, "stock"), item, 2)
	b.move(t, sl)
	b.wantStock(t, sl, 0, 1, 1)
	if err := b.Orders.Doubt(t.Context(), sl.ID, sl.Items[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.keeper.Reconcile(t.Context(), &sl); err != nil {
		t.Fatal(err)
	}
	b.wantStock(t, sl, 0, 0, 0)
	if settings, err := b.Orders.Settings(t.Context(), sl.ID); err != nil || len(settings.Doubts) > 0 {
		t.Errorf("settings: got %+v, %v, want no doubt", settings, err)
	}
}
