package saleadmin_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/lua"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// TestReportOfOneMoment lets something happen between the two sides' counts.
func TestReportOfOneMoment(t *testing.T) {
	t.Parallel()
	type counts struct {
		Changing                     bool
		Unconfirmed, ReleasesWaiting int
		Items                        []struct {
			Sold, Stock int
			Orders      map[string]int
		}
	}
	offer := func(t *testing.T, units int) (*office, sale.Sale, *shoptest.Shelf) {
		o := open(t)
		sl := o.create(t, units, true)
		other := shoptest.OpenShelf(t, servers.RedisURL(t))
		o.h.Stock = other.Stock
		return o, sl, other
	}
	t.Run("an order becomes a row", func(t *testing.T) {
		t.Parallel()
		o, sl, other := offer(t, 1)
		other.Redis.AddHook(beforeCheck(func(look int) {
			if look == 1 {
				o.sell(t, sl, "u")
			}
		}))
		var got counts
		o.report(t, sl, &got)
		if it := got.Items[0]; got.Changing || it.Sold != 1 || it.Stock != 0 || it.Orders["PENDING"] != 1 {
			t.Errorf("report: got %+v, want one sold, none left, of one moment", got)
		}
	})
	t.Run("a unit comes back", func(t *testing.T) {
		t.Parallel()
		o, sl, other := offer(t, 1)
		p := o.sell(t, sl, "u")
		o.Passes(sl.PaymentWindow + sl.Grace)
		if n, err := o.Orders.Expire(t.Context(), 1); n != 1 || err != nil {
			t.Fatalf("expire: got %d, %v", n, err)
		}
		other.Redis.AddHook(beforeCheck(func(look int) {
			if look != 1 {
				return
			}
			held := []stock.Held{{OrderID: p.OrderID, UserID: "u"}}
			if _, err := o.Stock.Release(t.Context(), stock.Of(&sl), stock.Settled, held); err != nil {
				t.Error(err)
			}
			waiting, err := o.Orders.Releases(t.Context(), 0, 10)
			if err == nil && len(waiting) == 1 {
				err = o.Orders.ReleasesDone(t.Context(), []int64{waiting[0].ID})
			}
			if err != nil {
				t.Error(err)
			}
		}))
		var got counts
		o.report(t, sl, &got)
		if it := got.Items[0]; got.Changing || got.ReleasesWaiting != 0 || it.Stock != 1 || it.Orders["EXPIRED"] != 1 {
			t.Errorf("report: got %+v, want one expired, one left, none waiting, of one moment", got)
		}
	})
	t.Run("units move to the shard that is counted next", func(t *testing.T) {
		t.Parallel()
		o := open(t)
		sl := o.Sale(10)
		sl.Shards = 2
		t.Cleanup(func() { _ = o.Stock.Drop(context.WithoutCancel(t.Context()), stock.Of(&sl)) })
		o.Create(t, sl)
		o.Load(t, sl)
		for i := 0; ; i++ { // until the second shard wishes for more
			user := strconv.Itoa(i)
			if stock.Of(&sl).Home(user) != 1 {
				continue
			}
			p := o.Place(sl, 0, user)
			got, err := o.Stock.Reserve(t.Context(), stock.Of(&sl), stock.Attempt{OrderID: p.OrderID, UserID: user, ItemID: p.ItemID})
			if err != nil {
				t.Fatal(err)
			}
			if got.Outcome == stock.SoldOut {
				break
			}
		}
		other := shoptest.OpenShelf(t, servers.RedisURL(t))
		o.h.Stock = other.Stock
		moved := 0
		other.Redis.AddHook(beforeCheck(func(look int) {
			if look != 2 {
				return
			}
			var err error
			if moved, err = o.h.Keeper.Move(t.Context(), stock.Of(&sl)); err != nil {
				t.Error(err)
			}
		}))
		var got struct {
			Changing bool
			Items    []struct {
				Drift     int
				Conserved bool
			}
		}
		o.report(t, sl, &got)
		if it := got.Items[0]; moved == 0 || got.Changing || it.Drift != 0 || !it.Conserved {
			t.Errorf("report: got %+v after %d units moved, want no drift, of one moment", got, moved)
		}
	})
	t.Run("a rush that does not stop is told", func(t *testing.T) {
		t.Parallel()
		o, sl, other := offer(t, 100)
		looks := 0
		other.Redis.AddHook(beforeCheck(func(look int) {
			looks = look
			o.sell(t, sl, "u"+strconv.Itoa(look))
		}))
		var got counts
		o.report(t, sl, &got)
		if it := got.Items[0]; !got.Changing || looks != 3 || it.Sold != 2 || it.Stock != 97 {
			t.Errorf("report: got %+v after %d looks, want it changing after 3", got, looks)
		}
	})
}

// beforeCheck is called before check.lua runs, with how often it has been.
type beforeCheck func(look int)

func (beforeCheck) DialHook(next redis.DialHook) redis.DialHook { return next }
func (beforeCheck) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f beforeCheck) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	check, look := redis.NewScript(lua.Check).Hash(), 0
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); args[0] == "evalsha" && args[1] == check {
			look++
			f(look)
		}
		return next(ctx, cmd)
	}
}
