package purchase_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// sellsIn offers and lists one sale with so many units of an item in each shard.
func (c *counter) sellsIn(t *testing.T, units ...int) sale.Sale {
	t.Helper()
	total := 0
	for _, n := range units {
		total += n
	}
	sl := c.Sale(total)
	sl.Shards = len(units)
	t.Cleanup(func() { _ = c.Stock.Drop(context.WithoutCancel(t.Context()), stock.Of(&sl)) })
	for shard, n := range units {
		c.tells(t, sl, shard, 1, n)
		set := sale.Settings{Version: 1, OpensAt: sl.OpensAt, ClosesAt: sl.ClosesAt}
		if got, err := c.Stock.Steer(t.Context(), stock.Of(&sl), shard, set); err != nil || got != stock.SteerApplied {
			t.Fatalf("steer: %v, %v", got, err)
		}
	}
	c.List(t, sl)
	return sl
}

// tells gives a shard another quota.
func (c *counter) tells(t *testing.T, sl sale.Sale, shard int, version int64, units int) {
	t.Helper()
	quota := map[sale.ItemID]int{sl.Items[0].ID: units}
	if got, err := c.Stock.SetQuota(t.Context(), stock.Of(&sl), shard, version, quota, version == 1); err != nil || got != stock.QuotaApplied {
		t.Fatalf("quota: %v, %v", got, err)
	}
}

func homed(sl sale.Sale, shard int) string {
	for i := 0; ; i++ {
		if user := fmt.Sprint("u", i); stock.Of(&sl).Home(user) == shard {
			return user
		}
	}
}

// TestSoldOutInOneShard follows a shopper whose shard is empty: 503 while
// another has units or one is on its way, 410 only then.
func TestSoldOutInOneShard(t *testing.T) {
	t.Parallel()
	c := open(t, fault(nothingWrong))
	now := time.Now()
	c.h.Now = func() time.Time { return now }
	c.h.Latch = stock.NewLatch(c.Stock, c.h.Catalog, c.h.Now)
	sl := c.sellsIn(t, 0, 1, 0)
	ask := func(status int, code string) {
		t.Helper()
		a := c.buy(t, sl, 0, homed(sl, 0), "")
		a.want(t, status, code)
		if got, want := a.Headers["Retry-After"], map[int]string{503: "1"}[status]; got != want {
			t.Errorf("Retry-After: got %q, want %q", got, want)
		}
	}
	ask(503, "TRY_AGAIN")
	levels, err := c.Stock.Levels(t.Context(), stock.Of(&sl))
	if err != nil || !slices.Equal(levels[0].Wants, []sale.ItemID{sl.Items[0].ID}) || len(levels[2].Wants) != 0 {
		t.Errorf("wishes: got %v and %v, %v, want the empty shard's alone", levels[0].Wants, levels[2].Wants, err)
	}
	// A unit between two shards is nowhere, and yet not sold.
	c.tells(t, sl, 1, 2, 0)
	now = now.Add(time.Second)
	ask(503, "TRY_AGAIN")
	c.tells(t, sl, 2, 2, 1)
	c.buy(t, sl, 0, homed(sl, 2), "").want(t, 202, "")
	ask(503, "TRY_AGAIN") // by the count of a moment ago
	now = now.Add(time.Second)
	ask(410, "SOLD_OUT")
	// A lost shard may have had units.
	keys, err := c.Redis.Keys(t.Context(), fmt.Sprintf("{sale:%d:1*", sl.ID)).Result()
	if err != nil || c.Redis.Del(t.Context(), keys...).Val() == 0 {
		t.Fatalf("keys of the shard: %v, %v", keys, err)
	}
	ask(410, "SOLD_OUT")
	now = now.Add(time.Second)
	ask(503, "TRY_AGAIN")
}
