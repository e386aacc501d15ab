package recovery_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// TestSweep has a hold in each state that a row can give it.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := open(t)
	sl := w.Open(t, 9)
	holds := map[string]sale.Placed{}
	for _, user := range []string{"lost", "claimed", "pending", "expired", "rejected", "young"} {
		holds[user] = w.Reserve(t, sl, 0, user)
	}
	if _, err := w.Stock.Claim(t.Context(), stock.Of(&sl), []sale.Placed{holds["claimed"]}); err != nil {
		t.Fatal(err)
	}
	w.Write(t, holds["expired"])
	w.Passes(sl.PaymentWindow + sl.Grace)
	if n, err := w.Orders.Expire(t.Context(), 10); n != 1 || err != nil {
		t.Fatalf("expire: got %d, %v", n, err)
	}
	w.Write(t, holds["pending"])
	if err := w.Orders.Reject(t.Context(), []sale.Placed{holds["rejected"]}, "test"); err != nil {
		t.Fatal(err)
	}
	w.sweep(t, sl, recovery.Swept{}) // nobody's look has come
	w.due(t, sl, "lost", "claimed", "pending", "expired", "rejected")
	w.sweep(t, sl, recovery.Swept{Republished: 2, Confirmed: 1, Released: 2})
	w.sweep(t, sl, recovery.Swept{})

	published := map[sale.Placed]bool{}
	for _, p := range w.log.published {
		published[p] = true
	}
	if len(published) != 2 || !published[holds["lost"]] || !published[holds["claimed"]] {
		t.Errorf("published: got %v, want the records of lost and claimed as they were", w.log.published)
	}
	w.WantUnits(t, sl, 0, [4]int64{5, 2, 1, 1})
	hold, held, err := w.Stock.Hold(t.Context(), stock.Of(&sl), "pending")
	if row := w.Row(t, holds["pending"].OrderID); err != nil || !held || hold.Unconfirmed || !hold.PayBy.Equal(row.PayBy) {
		t.Errorf("pending: got %+v, %v, want it confirmed until %s", hold, err, row.PayBy)
	}
	// The refused order's record may come again: it must not win a unit.
	got, err := w.Stock.Claim(t.Context(), stock.Of(&sl), []sale.Placed{holds["rejected"]})
	if err != nil || got[0] != stock.Dropped {
		t.Errorf("claim of the rejected order: got %v, %v, want dropped", got, err)
	}
}

// TestUnreadableHold must not keep the sound ones from being looked after.
func TestUnreadableHold(t *testing.T) {
	t.Parallel()
	w := open(t)
	sl := w.Open(t, 5)
	w.Reserve(t, sl, 0, "sound")
	w.Redis.HSet(t.Context(), shoptest.Key(sl, "holds"), "broken", "nonsense")
	w.due(t, sl, "broken", "sound")
	got, err := w.keeper.Sweep(t.Context(), &sl)
	if want := (recovery.Swept{Republished: 1}); got != want || err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("sweep: got %+v, %v, want %+v and an error that names the hold", got, err, want)
	}
}

// TestPublishFailsForOne still publishes the others.
func TestPublishFailsForOne(t *testing.T) {
	t.Parallel()
	w := open(t)
	sl := w.Open(t, 100)
	var users []string
	for i := range 50 {
		users = append(users, fmt.Sprintf("u%d", i))
		w.Reserve(t, sl, 0, users[i])
	}
	w.due(t, sl, users...)
	w.log.refuse = map[string]bool{"u0": true, "u7": true}
	got, err := w.keeper.Sweep(t.Context(), &sl)
	if want := (recovery.Swept{Republished: 48}); got != want || !errors.Is(err, errNoLeader) {
		t.Errorf("sweep: got %+v, %v, want %+v and the failure", got, err, want)
	}
	w.WantUnits(t, sl, 0, [4]int64{50, 50, 0, 0})
}

func TestSweepNeedsTheShard(t *testing.T) {
	t.Parallel()
	w := open(t)
	lost, fine := w.Open(t, 5), w.Open(t, 5)
	w.Reserve(t, fine, 0, "u1")
	w.due(t, fine, "u1")
	w.Redis.Del(t.Context(), shoptest.Key(lost, "meta"))
	if got, err := w.keeper.Sweep(t.Context(), &lost); got != (recovery.Swept{}) || !errors.Is(err, stock.ErrNotLoaded) {
		t.Errorf("lost sale: got %+v, %v, want ErrNotLoaded", got, err)
	}
	w.sweep(t, fine, recovery.Swept{Republished: 1})
	t.Run("and no other", func(t *testing.T) {
		t.Parallel()
		sl := w.openShards(t, 3, 9)
		for shard := range sl.Shards {
			user := homed(sl, shard, 1)[0]
			w.Reserve(t, sl, 0, user)
			w.Redis.ZAdd(t.Context(), w.shardKey(t, sl, shard, "unconfirmed"), redis.Z{Score: 1, Member: user})
		}
		w.Redis.Del(t.Context(), w.shardKey(t, sl, 0, "meta"))
		got, err := w.keeper.Sweep(t.Context(), &sl)
		if want := (recovery.Swept{Republished: 2}); got != want || !errors.Is(err, stock.ErrNotLoaded) {
			t.Errorf("one of three shards lost: got %+v, %v, want %+v and ErrNotLoaded", got, err, want)
		}
	})
}
