package recovery_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/lua"
	"flashsale/migrations"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// bench is a shop with a keeper whose order log is drained unless backlog says otherwise.
type bench struct {
	*shoptest.Shop
	keeper  *recovery.Keeper
	backlog int64
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{Shop: shoptest.OpenShop(t, servers.RedisURL(t), servers.Database(t, migrations.Hash(), shoptest.Migrate))}
	b.keeper = &recovery.Keeper{
		Orders: b.Orders, Stock: b.Stock,
		Backlog: func(context.Context) (int64, error) { return b.backlog, nil },
		Mark: func(context.Context, []sale.ItemID) (func(context.Context) (bool, error), error) {
			return func(context.Context) (bool, error) { return b.backlog == 0, nil }, nil
		},
	}
	return b
}

// sell makes n orders that are written and confirmed.
func (b *bench) sell(t *testing.T, sl sale.Sale, n int) []sale.Placed {
	t.Helper()
	placed := make([]sale.Placed, n)
	for i := range placed {
		placed[i] = b.Reserve(t, sl, 0, fmt.Sprintf("buyer-%d", i))
	}
	if _, err := b.Stock.Claim(t.Context(), stock.Of(&sl), placed); err != nil {
		t.Fatal(err)
	}
	b.writes(t, sl, placed)
	return placed
}

// writes makes rows of orders that hold their units, and confirms them.
func (b *bench) writes(t testing.TB, sl sale.Sale, placed []sale.Placed) {
	t.Helper()
	confirm := make([]stock.Confirmation, len(placed))
	for i, w := range b.Write(t, placed...) {
		confirm[i] = stock.Confirmation{OrderID: placed[i].OrderID, UserID: placed[i].UserID, PayBy: w.PayBy}
	}
	if err := b.Stock.Confirm(t.Context(), stock.Of(&sl), confirm); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) reconcile(t *testing.T, sl sale.Sale, want recovery.Reconciled) {
	t.Helper()
	got, err := b.keeper.Reconcile(t.Context(), &sl)
	if err != nil || got != want {
		t.Fatalf("reconcile: got %+v, %v, want %+v", got, err, want)
	}
	if again, err := b.keeper.Reconcile(t.Context(), &sl); err != nil || again != (recovery.Reconciled{}) {
		t.Errorf("reconcile again: got %+v, %v, want nothing to do", again, err)
	}
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	t.Run("a healthy sale is left alone", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 10)
		b.sell(t, sl, 3)
		b.Reserve(t, sl, 0, "on the way")
		b.reconcile(t, sl, recovery.Reconciled{})
		b.WantUnits(t, sl, 0, [4]int64{6, 1, 0, 3})
	})
	t.Run("a living row whose hold was lost is adopted, tombstone or not", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 10)
		placed := b.sell(t, sl, 3)
		// As after a failover to a replica that lags: the hold and its decrement are gone.
		for i, mode := range []stock.ReleaseMode{stock.Settled, stock.Rejected} {
			if _, err := b.Stock.Release(t.Context(), stock.Of(&sl), mode, []stock.Held{{OrderID: placed[i].OrderID, UserID: placed[i].UserID}}); err != nil {
				t.Fatal(err)
			}
		}
		b.WantUnits(t, sl, 0, [4]int64{9, 0, 0, 1})
		b.reconcile(t, sl, recovery.Reconciled{Adopted: 2})
		b.WantUnits(t, sl, 0, [4]int64{7, 0, 0, 3})
	})
	t.Run("the hold of an ended row is released", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 10)
		b.sell(t, sl, 3)
		b.Passes(sl.PaymentWindow + sl.Grace)
		if n, err := b.Orders.Expire(t.Context(), 2); err != nil || n != 2 {
			t.Fatalf("expire: %d, %v", n, err)
		}
		b.reconcile(t, sl, recovery.Reconciled{Released: 2})
		b.WantUnits(t, sl, 0, [4]int64{9, 0, 0, 1})
	})
	t.Run("a shopper who holds another order is not adopted over it", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 10)
		p := b.sell(t, sl, 1)[0]
		if _, err := b.Stock.Release(t.Context(), stock.Of(&sl), stock.Settled, []stock.Held{{OrderID: p.OrderID, UserID: p.UserID}}); err != nil {
			t.Fatal(err)
		}
		second := b.Reserve(t, sl, 0, p.UserID)
		b.reconcile(t, sl, recovery.Reconciled{})
		if h, ok, err := b.Stock.Hold(t.Context(), stock.Of(&sl), p.UserID); err != nil || !ok || h.OrderID != second.OrderID {
			t.Errorf("hold: got %+v, %v, %v, want %s", h, ok, err, second.OrderID)
		}
	})
	t.Run("doubts are lifted once it is through", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 1, 1)
		if err := b.Orders.Doubt(t.Context(), sl.ID, sl.Items[0].ID); err != nil {
			t.Fatal(err)
		}
		if err := b.keeper.Govern(t.Context(), sl.ID); err != nil {
			t.Fatal(err)
		}
		if got := b.Outcome(t, sl, 0, "u"); got != stock.Paused {
			t.Errorf("the doubted item: got %s, want paused", got)
		}
		if got := b.Outcome(t, sl, 1, "u"); got != stock.Reserved {
			t.Errorf("the other item: got %s, want reserved", got)
		}
		b.reconcile(t, sl, recovery.Reconciled{})
		if got := b.Outcome(t, sl, 0, "u"); got != stock.Reserved {
			t.Errorf("after the pass: got %s, want reserved", got)
		}
	})
	t.Run("sold counts typed over, too low and too high", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 10, 5)
		b.sell(t, sl, 3)
		if _, err := b.Pool.Exec(t.Context(), `UPDATE flash_sale_item SET sold = CASE id WHEN $1 THEN 1 ELSE 2 END WHERE sale_id = $2`,
			int64(sl.Items[0].ID), int64(sl.ID)); err != nil {
			t.Fatal(err)
		}
		b.reconcile(t, sl, recovery.Reconciled{Repaired: 2})
		b.WantSold(t, sl, 0, 3)
		b.WantSold(t, sl, 1, 0)
	})
	t.Run("a row whose id is none of ours costs no unit, however often", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 10)
		b.sell(t, sl, 1)
		if _, err := b.Pool.Exec(t.Context(), `UPDATE flash_sale_order SET id = gen_random_uuid() WHERE sale_id = $1`, int64(sl.ID)); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, err := b.keeper.Reconcile(t.Context(), &sl); err != nil {
				t.Fatal(err)
			}
		}
		report := b.Check(t, sl)
		if it := report.Items[sl.Items[0].ID]; it.Stock+it.Holds() != 10 || it.Stock < 9 {
			t.Errorf("units: got %+v, want all ten", it)
		}
	})
	for _, c := range []struct {
		name   string
		damage func(b *bench, ctx context.Context, sl sale.Sale, item string) error
		want   recovery.Reconciled
	}{
		{"stock typed over", func(b *bench, ctx context.Context, sl sale.Sale, item string) error {
			return b.Redis.HSet(ctx, shoptest.Key(sl, "stock"), item, 5000).Err()
		}, recovery.Reconciled{Repaired: 1}},
		{"stock field deleted", func(b *bench, ctx context.Context, sl sale.Sale, item string) error {
			return b.Redis.HDel(ctx, shoptest.Key(sl, "stock"), item).Err()
		}, recovery.Reconciled{Repaired: 1}},
		{"stock of a wrong type", func(b *bench, ctx context.Context, sl sale.Sale, _ string) error {
			return b.Redis.Set(ctx, shoptest.Key(sl, "stock"), "10000", 0).Err()
		}, recovery.Reconciled{Repaired: 2}},
		{"quota typed over", func(b *bench, ctx context.Context, sl sale.Sale, item string) error {
			return b.Redis.HSet(ctx, shoptest.Key(sl, "meta"), "quota:"+item, 5000).Err()
		}, recovery.Reconciled{Repaired: 2}},
		{"holds of a wrong type", func(b *bench, ctx context.Context, sl sale.Sale, _ string) error {
			return b.Redis.Set(ctx, shoptest.Key(sl, "holds"), "x", 0).Err()
		}, recovery.Reconciled{Repaired: 2, Adopted: 3}},
		{"a hold that nobody can read", func(b *bench, ctx context.Context, sl sale.Sale, _ string) error {
			return b.Redis.HSet(ctx, shoptest.Key(sl, "holds"), "buyer-1", "rubbish").Err()
		}, recovery.Reconciled{Repaired: 2, Adopted: 1}},
		{"outbox of a wrong type", func(b *bench, ctx context.Context, sl sale.Sale, _ string) error {
			return b.Redis.Set(ctx, shoptest.Key(sl, "unconfirmed"), "x", 0).Err()
		}, recovery.Reconciled{Repaired: 1}},
	} {
		t.Run("damage: "+c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			sl := b.Open(t, 10)
			b.sell(t, sl, 3)
			if err := c.damage(b, t.Context(), sl, fmt.Sprint(sl.Items[0].ID)); err != nil {
				t.Fatal(err)
			}
			b.reconcile(t, sl, c.want)
			b.WantUnits(t, sl, 0, [4]int64{7, 0, 0, 3})
		})
	}
}

// TestOrderEndsMeanwhile has an order without a hold end when the living rows are read already.
func TestOrderEndsMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sl := b.Open(t, 5)
	placed := b.sell(t, sl, 2)
	cancel := func(p sale.Placed) { // and nobody gives the unit back
		_, back, err := b.Orders.Cancel(t.Context(), p.OrderID, p.UserID)
		if err == nil {
			err = b.Orders.ReleasesDone(t.Context(), []int64{back[0].ID})
		}
		if err != nil {
			t.Error(err)
		}
	}
	cancel(placed[0])
	lost := []stock.Held{{OrderID: placed[1].OrderID, UserID: placed[1].UserID}}
	if _, err := b.Stock.Release(t.Context(), stock.Of(&sl), stock.Settled, lost); err != nil {
		t.Fatal(err)
	}
	shelf := shoptest.OpenShelf(t, servers.RedisURL(t))
	shelf.Redis.AddHook(onRelease(func() { cancel(placed[1]) }))
	keeper := &recovery.Keeper{Orders: b.Orders, Stock: shelf.Stock, Backlog: b.keeper.Backlog}
	want := recovery.Reconciled{Released: 1}
	if got, err := keeper.Reconcile(t.Context(), &sl); err != nil || got != want {
		t.Errorf("reconcile: got %+v, %v, want %+v", got, err, want)
	}
	b.WantUnits(t, sl, 0, [4]int64{5, 0, 0, 0})
}

// onRelease is called when release.lua has run.
type onRelease func()

func (onRelease) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (onRelease) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (f onRelease) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	release := redis.NewScript(lua.Release).Hash()
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if args := cmds[0].Args(); len(args) > 1 && args[1] == release && cmds[0].Err() == nil {
			f()
		}
		return err
	}
}

// TestDoubtMeanwhile has an item doubted once more while a pass compares: it waits for the next one.
func TestDoubtMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sl := b.Open(t, 5)
	doubt := func() {
		if err := b.Orders.Doubt(t.Context(), sl.ID, sl.Items[0].ID); err != nil {
			t.Error(err)
		}
	}
	doubt()
	shelf := shoptest.OpenShelf(t, servers.RedisURL(t))
	var once sync.Once
	shelf.Redis.AddHook(afterAny(func() { once.Do(doubt) }))
	keeper := &recovery.Keeper{Orders: b.Orders, Stock: shelf.Stock, Backlog: b.keeper.Backlog}
	for pass, want := range []stock.Outcome{stock.Paused, stock.Reserved} {
		if _, err := keeper.Reconcile(t.Context(), &sl); err != nil {
			t.Fatal(err)
		}
		if got := b.Outcome(t, sl, 0, "u"); got != want {
			t.Errorf("after pass %d: got %v, want %v", pass+1, got, want)
		}
	}
}
