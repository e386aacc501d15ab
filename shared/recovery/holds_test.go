package recovery_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/order"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// TestStrangeHolds are such as Lua can read and Go cannot, or that belong elsewhere.
func TestStrangeHolds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, hold := range map[string]string{
		"order id":             "nope ITEM R 1 - -",
		"order id in capitals": "CAPS ITEM R 1 - -",
		"of another sale":      "OTHER ITEM R 1 - -",
		"reservedAt":           "ORDER ITEM R 01 - -",
		"payBy":                "ORDER ITEM C 1 1e5 -",
		"key":                  "ORDER ITEM R 1 - zz",
		"shopper":              "ORDER ITEM R 1 - -",
	} {
		t.Run("ghost: "+name, func(t *testing.T) {
			t.Parallel()
			sl, other := b.Open(t, 10), b.Sale(1)
			b.sell(t, sl, 3)
			ghost := "ghost"
			if name == "shopper" {
				ghost = strings.Repeat("g", 300)
			}
			id := b.Mint.New(sl.ID, ghost).String()
			text := strings.NewReplacer("ORDER", id, "CAPS", strings.ToUpper(id), "OTHER", b.Mint.New(other.ID, ghost).String(),
				"ITEM", fmt.Sprint(sl.Items[0].ID)).Replace(hold)
			b.Redis.HSet(t.Context(), shoptest.Key(sl, "holds"), ghost, text)
			b.Redis.HIncrBy(t.Context(), shoptest.Key(sl, "stock"), fmt.Sprint(sl.Items[0].ID), -1)
			b.Redis.ZAdd(t.Context(), shoptest.Key(sl, "unconfirmed"), redis.Z{Score: 1, Member: ghost})
			if report := b.Check(t, sl); report.Conserved() || report.Unreadable != 1 {
				t.Errorf("report: got %+v, want one hold that is unreadable", report)
			}
			b.pass(t, sl)
			b.WantUnits(t, sl, 0, [4]int64{7, 0, 0, 3})
			if n := b.Check(t, sl).Outbox; n != 0 {
				t.Errorf("outbox: got %d, want it empty", n)
			}
			b.reconcile(t, sl, recovery.Reconciled{})
		})
	}
	t.Run("over a winner's", func(t *testing.T) {
		t.Parallel()
		sl := b.Open(t, 10)
		winner := b.sell(t, sl, 3)[1]
		b.Redis.HSet(t.Context(), shoptest.Key(sl, "holds"), winner.UserID, fmt.Sprintf("nope %d C 1 2 -", winner.ItemID))
		b.pass(t, sl)
		b.WantUnits(t, sl, 0, [4]int64{7, 0, 0, 3})
		if h, ok, err := b.Stock.Hold(t.Context(), stock.Of(&sl), winner.UserID); err != nil || !ok || h.OrderID != winner.OrderID {
			t.Errorf("the winner's hold: got %+v, %v, %v, want %s", h, ok, err, winner.OrderID)
		}
	})
	t.Run("in a shard that is not its shopper's", func(t *testing.T) {
		t.Parallel()
		sl := b.openShards(t, 2, 10)
		user := homed(sl, 1, 1)[0]
		b.Redis.HSet(t.Context(), b.shardKey(t, sl, 0, "holds"), user, fmt.Sprintf("%s %d R 1 - -", b.Mint.New(sl.ID, user), sl.Items[0].ID))
		b.Redis.HIncrBy(t.Context(), b.shardKey(t, sl, 0, "stock"), fmt.Sprint(sl.Items[0].ID), -1)
		b.pass(t, sl)
		b.wantStock(t, sl, 0, 5, 5)
	})
}

// TestForeignHold is a hold under an order id whose row is somebody else's, or of
// another item.
func TestForeignHold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	forge := func(t *testing.T, sl sale.Sale, user string, p sale.Placed, item int, payBy string) {
		t.Helper()
		b.Redis.HSet(t.Context(), shoptest.Key(sl, "holds"), user, fmt.Sprintf("%s %d C 1 %s -", p.OrderID, sl.Items[item].ID, payBy))
		b.Redis.HIncrBy(t.Context(), shoptest.Key(sl, "stock"), fmt.Sprint(sl.Items[item].ID), -1)
	}
	t.Run("shopper", func(t *testing.T) {
		t.Parallel()
		sl := b.Open(t, 10)
		placed := b.sell(t, sl, 3)
		forge(t, sl, "eve", placed[0], 0, "5")
		b.reconcile(t, sl, recovery.Reconciled{Released: 1})
		b.WantUnits(t, sl, 0, [4]int64{7, 0, 0, 3})
		if h, ok, err := b.Stock.Hold(t.Context(), stock.Of(&sl), placed[0].UserID); err != nil || !ok || h.OrderID != placed[0].OrderID {
			t.Errorf("the owner's hold: got %+v, %v, %v, want %s", h, ok, err, placed[0].OrderID)
		}
		if n := b.Check(t, sl).Tombstones; n != 0 {
			t.Errorf("tombstones: got %d, want none: the order lives", n)
		}
	})
	t.Run("item", func(t *testing.T) {
		t.Parallel()
		sl := b.Open(t, 10, 10)
		placed := b.sell(t, sl, 3)
		b.Redis.HIncrBy(t.Context(), shoptest.Key(sl, "stock"), fmt.Sprint(sl.Items[0].ID), 1)
		forge(t, sl, placed[0].UserID, placed[0], 1, "5")
		b.reconcile(t, sl, recovery.Reconciled{Released: 1, Adopted: 1})
		b.WantUnits(t, sl, 0, [4]int64{7, 0, 0, 3})
		b.WantUnits(t, sl, 1, [4]int64{10, 0, 0, 0})
	})
	t.Run("in the outbox", func(t *testing.T) {
		t.Parallel()
		w := open(t)
		sl := w.Open(t, 10)
		p := w.sell(t, sl, 1)[0]
		w.Redis.HSet(t.Context(), shoptest.Key(sl, "holds"), "eve", fmt.Sprintf("%s %d R 1 - -", p.OrderID, p.ItemID))
		w.Redis.HIncrBy(t.Context(), shoptest.Key(sl, "stock"), fmt.Sprint(p.ItemID), -1)
		w.due(t, sl, "eve")
		w.sweep(t, sl, recovery.Swept{Released: 1})
		w.WantUnits(t, sl, 0, [4]int64{9, 0, 0, 1})
	})
}

// TestRowlessHold is outside the outbox: its record is published again.
func TestRowlessHold(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, c := range []struct {
		name  string
		lose  func(t *testing.T, sl sale.Sale) sale.Placed
		units [4]int64 // once it is in the outbox
	}{
		{"outbox deleted", func(t *testing.T, sl sale.Sale) sale.Placed {
			p := w.Reserve(t, sl, 0, "buyer")
			w.Redis.Del(t.Context(), shoptest.Key(sl, "unconfirmed"))
			return p
		}, [4]int64{9, 1, 0, 0}},
		{"row lost by the database", func(t *testing.T, sl sale.Sale) sale.Placed {
			p := w.sell(t, sl, 1)[0]
			for _, statement := range []string{
				`DELETE FROM order_event WHERE order_id = $1`, `DELETE FROM flash_sale_order WHERE id = $1`,
			} {
				if _, err := w.Pool.Exec(t.Context(), statement, p.OrderID.String()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.Pool.Exec(t.Context(), `UPDATE flash_sale_item SET sold = 0 WHERE id = $1`, int64(p.ItemID)); err != nil {
				t.Fatal(err)
			}
			return p
		}, [4]int64{9, 0, 1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sl := w.Open(t, 10)
			p := c.lose(t, sl)
			w.reconcile(t, sl, recovery.Reconciled{Repaired: 1})
			w.WantUnits(t, sl, 0, c.units)
			w.log.published = nil
			w.sweep(t, sl, recovery.Swept{Republished: 1})
			if len(w.log.published) != 1 || w.log.published[0] != p {
				t.Fatalf("published: got %+v, want %+v", w.log.published, p)
			}
			// The writer's part.
			got, err := w.Stock.Claim(t.Context(), stock.Of(&sl), []sale.Placed{p})
			if err != nil || got[0] != stock.Claimed && got[0] != stock.Confirmed { // Redis may know of the row that was there
				t.Fatalf("claim: got %v, %v, want claimed or confirmed", got, err)
			}
			written := w.Write(t, p)
			if written[0].Result != order.ResultNew {
				t.Errorf("write: got %+v, want a new row", written[0])
			}
			err = w.Stock.Confirm(t.Context(), stock.Of(&sl), []stock.Confirmation{{OrderID: p.OrderID, UserID: p.UserID, PayBy: written[0].PayBy}})
			if err != nil {
				t.Fatal(err)
			}
			w.reconcile(t, sl, recovery.Reconciled{})
			w.WantUnits(t, sl, 0, [4]int64{9, 0, 0, 1})
		})
	}
}

// TestRowThatNoHoldCanName was made by hand. It must not cost units, pass after pass.
func TestRowThatNoHoldCanName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, change := range map[string]string{
		"order id": `id = gen_random_uuid()`,
		"shopper":  `user_id = E'x\ny'`,
		"item":     `item_id = 0`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sl := b.Open(t, 10)
			placed := b.sell(t, sl, 2)
			if _, err := b.Pool.Exec(t.Context(), `UPDATE flash_sale_order SET `+change+` WHERE id = $1`, placed[0].OrderID.String()); err != nil {
				t.Fatal(err)
			}
			if name == "order id" { // whoever made the row by hand gave no hold either
				held := []stock.Held{{OrderID: placed[0].OrderID, UserID: placed[0].UserID}}
				if _, err := b.Stock.Release(t.Context(), stock.Of(&sl), stock.Settled, held); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				b.pass(t, sl)
				b.WantUnits(t, sl, 0, [4]int64{9, 0, 0, 1})
			}
		})
	}
}
