package recovery_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// openShards is bench.Open for a sale with n shards.
func (b *bench) openShards(t *testing.T, n int, quantities ...int) sale.Sale {
	t.Helper()
	sl := b.Sale(quantities...)
	sl.Shards = n
	t.Cleanup(func() { _ = b.Stock.Drop(context.WithoutCancel(t.Context()), stock.Of(&sl)) })
	b.Create(t, sl)
	b.Load(t, sl)
	return sl
}

// homed is n shoppers whose home is that shard.
func homed(sl sale.Sale, shard, n int) (users []string) {
	for i := 0; len(users) < n; i++ {
		if user := fmt.Sprint("u", i); stock.Of(&sl).Home(user) == shard {
			users = append(users, user)
		}
	}
	return users
}

// try presses for each shopper and tells whose order got a unit.
func (b *bench) try(t *testing.T, sl sale.Sale, item int, users ...string) (won []sale.Placed) {
	t.Helper()
	for _, user := range users {
		p := b.Place(sl, item, user)
		got, err := b.Stock.Reserve(t.Context(), stock.Of(&sl), stock.Attempt{OrderID: p.OrderID, UserID: user, ItemID: p.ItemID})
		switch {
		case err != nil || got.Outcome != stock.Reserved && got.Outcome != stock.SoldOut:
			t.Fatalf("%s: got %v, %v, want reserved or sold out", user, got.Outcome, err)
		case got.Outcome == stock.Reserved:
			p.ReservedAt = got.ReservedAt
			won = append(won, p)
		}
	}
	return won
}

func (b *bench) move(t *testing.T, sl sale.Sale) int {
	t.Helper()
	n, err := b.keeper.Move(t.Context(), stock.Of(&sl))
	if err != nil {
		t.Fatalf("move: %v", err)
	}
	return n
}

// wantStock checks an item's stock in each shard, that every shard is conserved,
// and that ledger and shards divide the item's quantity in the same way.
func (b *bench) wantStock(t *testing.T, sl sale.Sale, item int, want ...int64) {
	t.Helper()
	if got := b.settled(t, sl, item); !slices.Equal(got, want) {
		t.Errorf("stock by shard: got %v, want %v", got, want)
	}
}

func (b *bench) settled(t *testing.T, sl sale.Sale, item int) (left []int64) {
	t.Helper()
	ledger, err := b.Orders.Ledger(t.Context(), sl.ID)
	if err != nil {
		t.Fatal(err)
	}
	id, sum := sl.Items[item].ID, 0
	for shard := range sl.Shards {
		report, err := b.Stock.Check(t.Context(), stock.Of(&sl), shard)
		if err != nil || !report.Conserved() {
			t.Fatalf("shard %d: got %+v, %v, want it conserved", shard, report, err)
		}
		if got, want := report.Items[id].Quota, int64(ledger.Shards[shard][id]); got != want {
			t.Errorf("shard %d: quota %d, ledger %d", shard, got, want)
		}
		left, sum = append(left, report.Items[id].Stock), sum+ledger.Shards[shard][id]
	}
	if sum != sl.Items[item].Quantity {
		t.Errorf("the ledger has %d units, want %d", sum, sl.Items[item].Quantity)
	}
	return left
}

func TestMove(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	t.Run("all shoppers on one shard get all units", func(t *testing.T) {
		t.Parallel()
		sl := b.openShards(t, 4, 40)
		users := homed(sl, 2, 50)
		won := b.try(t, sl, 0, users...)
		if len(won) != 10 {
			t.Fatalf("before any move: got %d units, want the shard's 10", len(won))
		}
		b.wantStock(t, sl, 0, 10, 10, 0, 10)
		if moved := b.move(t, sl); moved != 5 {
			t.Errorf("moved %d units, want 5", moved)
		}
		b.wantStock(t, sl, 0, 5, 10, 5, 10)
		if moved := b.move(t, sl); moved != 0 {
			t.Errorf("the wish is served, but %d units moved", moved)
		}
		for range 40 {
			won = append(won, b.try(t, sl, 0, users[len(won):]...)...)
			b.move(t, sl)
		}
		if len(won) != 40 {
			t.Errorf("in the end: got %d units, want 40", len(won))
		}
		b.wantStock(t, sl, 0, 0, 0, 0, 0)
		if levels, err := b.Stock.Levels(t.Context(), stock.Of(&sl)); err != nil || len(levels[2].Wants) != 0 {
			t.Errorf("wishes once nobody has units: got %v, %v, want none", levels[2].Wants, err)
		}
		// A unit that comes back to the one shard can be bought in every other.
		back := won[7]
		if _, err := b.Stock.Release(t.Context(), stock.Of(&sl), stock.Settled, []stock.Held{{OrderID: back.OrderID, UserID: back.UserID}}); err != nil {
			t.Fatal(err)
		}
		for _, shard := range []int{0, 1, 3} {
			user := homed(sl, shard, 1)
			if got := b.try(t, sl, 0, user...); len(got) != 0 {
				t.Fatalf("shard %d had a unit before it was moved", shard)
			}
			b.move(t, sl)
			got := b.try(t, sl, 0, user...)
			if len(got) != 1 {
				t.Fatalf("shard %d did not get the unit that came back", shard)
			}
			if _, err := b.Stock.Release(t.Context(), stock.Of(&sl), stock.Settled, []stock.Held{{OrderID: got[0].OrderID, UserID: got[0].UserID}}); err != nil {
				t.Fatal(err)
			}
		}
		b.wantStock(t, sl, 0, 0, 0, 0, 1)
	})
	t.Run("a shard below zero comes first, asked or not", func(t *testing.T) {
		t.Parallel()
		sl := b.openShards(t, 3, 6)
		// As after a failover: orders whose holds and decrements were lost.
		var lost []sale.Placed
		for _, user := range homed(sl, 2, 5) {
			lost = append(lost, b.Place(sl, 0, user))
		}
		if _, err := b.Stock.Claim(t.Context(), stock.Of(&sl), lost); err != nil {
			t.Fatal(err)
		}
		b.try(t, sl, 0, homed(sl, 0, 3)...)
		b.wantStock(t, sl, 0, 0, 2, -3)
		b.move(t, sl)
		b.wantStock(t, sl, 0, 0, 0, -1)
	})
	t.Run("nothing moves while the sale is paused", func(t *testing.T) {
		t.Parallel()
		sl := b.openShards(t, 2, 4)
		b.try(t, sl, 0, homed(sl, 0, 3)...)
		steer := func(change func(context.Context, sale.ID, sale.PauseReason, string) error) {
			if err := change(t.Context(), sl.ID, sale.PausedByRebuild, "test"); err != nil {
				t.Fatal(err)
			}
			if err := b.keeper.Govern(t.Context(), sl.ID); err != nil {
				t.Fatal(err)
			}
		}
		steer(b.Orders.Pause)
		if n := b.move(t, sl); n != 0 {
			t.Errorf("paused: %d units moved", n)
		}
		steer(b.Orders.Resume)
		if n := b.move(t, sl); n != 1 {
			t.Errorf("resumed: %d units moved, want 1", n)
		}
	})
	t.Run("items go their own ways", func(t *testing.T) {
		t.Parallel()
		sl := b.openShards(t, 2, 8, 8)
		b.try(t, sl, 0, homed(sl, 0, 5)...)
		b.try(t, sl, 1, homed(sl, 1, 5)...)
		if n := b.move(t, sl); n != 4 {
			t.Errorf("moved %d units, want 2 of each item", n)
		}
		b.wantStock(t, sl, 0, 2, 2)
		b.wantStock(t, sl, 1, 2, 2)
	})
}

// loseShard deletes a shard's keys, as the loss of one node of a cluster does.
func (b *bench) loseShard(t *testing.T, sl sale.Sale, shard int) {
	t.Helper()
	keys, err := b.Redis.Keys(t.Context(), fmt.Sprintf("{sale:%d:%d*", sl.ID, shard)).Result()
	if err != nil || len(keys) < 3 {
		t.Fatalf("keys of shard %d: %v, %v", shard, keys, err)
	}
	if err := b.Redis.Del(t.Context(), keys...).Err(); err != nil {
		t.Fatal(err)
	}
}
