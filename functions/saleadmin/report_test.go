package saleadmin_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

func (o *office) report(t *testing.T, sl sale.Sale, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.says(t, `{"action":"report","saleId":%d}`, sl.ID)), into); err != nil {
		t.Fatal(err)
	}
}

const noOrders = `"orders":{"CANCELLED":0,"EXPIRED":0,"PAID":0,"PENDING":0,"REJECTED":0}`

func TestReport(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 10, false)
	item := sl.Items[0].ID
	t.Run("created", func(t *testing.T) {
		want(t, o.says(t, `{"action":"report","saleId":%d}`, sl.ID), `{"saleId":%d,"state":"CREATED","items":[{"itemId":%d,"quantity":10,"sold":0,"stock":0,`+
			`"holds":{"reserved":0,"claimed":0,"confirmed":0},`+noOrders+`,"refundsDue":0,"shards":[],"conserved":true,"drift":0}],`+
			`"refundsDueUnknown":0,"unconfirmed":0,"releasesWaiting":0,"changing":false,"deadLetters":0,"writerLag":0}`, sl.ID, item)
	})
	t.Run("in the middle", func(t *testing.T) {
		o.says(t, `{"action":"load","saleId":%d}`, sl.ID)
		for _, user := range []string{"u1", "u2"} {
			o.sell(t, sl, user)
		}
		o.Passes(sl.PaymentWindow + sl.Grace)
		if n, err := o.Orders.Expire(t.Context(), 1); n != 1 || err != nil {
			t.Fatalf("expire: got %d, %v", n, err)
		}
		waiting, claimed := o.Reserve(t, sl, 0, "u3"), o.Reserve(t, sl, 0, "u4")
		if got, err := o.Stock.Claim(t.Context(), stock.Of(&sl), []sale.Placed{claimed}); err != nil || got[0] != stock.Claimed {
			t.Fatalf("claim: got %v, %v", got, err)
		}
		if err := o.Orders.Reject(t.Context(), []sale.Placed{o.Place(sl, 0, "u5")}, "test"); err != nil {
			t.Fatal(err)
		}
		if err := orderlog.NewProducer(o.kafka, o.orders).Publish(t.Context(), waiting); err != nil {
			t.Fatal(err)
		}
		if err := orderlog.NewDeadLetters(o.kafka, o.letters).Put(t.Context(), orderlog.Record{Topic: "x"}, "test"); err != nil {
			t.Fatal(err)
		}
		want(t, o.says(t, `{"action":"report","saleId":%d}`, sl.ID), `{"saleId":%d,"state":"OPEN","items":[{"itemId":%d,"quantity":10,"sold":1,"stock":6,`+
			`"holds":{"reserved":1,"claimed":1,"confirmed":2},"orders":{"CANCELLED":0,"EXPIRED":1,"PAID":0,"PENDING":1,"REJECTED":1},"refundsDue":0,`+
			`"shards":[{"shard":0,"stock":6,"holds":4,"quota":10}],"conserved":true,"drift":0}],`+
			`"refundsDueUnknown":0,"unconfirmed":2,"releasesWaiting":1,"changing":false,"deadLetters":1,"writerLag":1}`, sl.ID, item)
	})
	t.Run("not conserved", func(t *testing.T) {
		o.Redis.HIncrBy(t.Context(), shoptest.Key(sl, "stock"), itemText(sl), 3)
		var got struct {
			Items []struct {
				Conserved bool
				Drift     int
			}
		}
		o.report(t, sl, &got)
		if it := got.Items[0]; it.Conserved || it.Drift != 3 {
			t.Errorf("report: got %+v, want three units too many", it)
		}
	})
	t.Run("damaged", func(t *testing.T) {
		o.Redis.HIncrBy(t.Context(), shoptest.Key(sl, "stock"), itemText(sl), -3)
		for _, c := range []struct {
			value string
			want  bool
		}{{"abc", false}, {"1", true}} {
			o.Redis.HSet(t.Context(), shoptest.Key(sl, "meta"), "version", c.value)
			var got struct{ Items []struct{ Conserved bool } }
			o.report(t, sl, &got)
			if got.Items[0].Conserved != c.want {
				t.Errorf("version %s: conserved is %v, want %v", c.value, got.Items[0].Conserved, c.want)
			}
		}
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 5, true)
	explain := func(user string) string {
		return o.says(t, `{"action":"explain","saleId":%d,"userId":"%s"}`, sl.ID, user)
	}
	// own is the shopper's part of the answer; the sale's comes last.
	own := func(user string) string {
		part, _, _ := strings.Cut(explain(user), `,"sale":`)
		return part + "}"
	}
	item := sl.Items[0].ID
	t.Run("loser", func(t *testing.T) {
		want(t, own("loser"), `{"saleId":%d,"userId":"loser","hold":null,"orders":[],"story":[]}`, sl.ID)
	})
	t.Run("not written yet", func(t *testing.T) {
		p := o.Reserve(t, sl, 0, "new")
		at := moment(p.ReservedAt)
		want(t, own("new"), `{"saleId":%d,"userId":"new","hold":{"orderId":"%s","itemId":%d,"claimed":false,"unconfirmed":true,"reservedAt":"%s"},`+
			`"orders":[],"story":[{"at":"%s","what":"reserved item %d as %s, not written yet"}]}`, sl.ID, p.OrderID, item, at, at, item, p.OrderID)
	})
	t.Run("winner", func(t *testing.T) {
		p := o.sell(t, sl, "winner")
		row := o.Row(t, p.OrderID)
		at := moment(p.ReservedAt)
		want(t, own("winner"), `{"saleId":%d,"userId":"winner",`+
			`"hold":{"orderId":"%s","itemId":%d,"claimed":true,"unconfirmed":false,"reservedAt":"%s","payBy":"%s"},`+
			`"orders":[{"orderId":"%s","itemId":%d,"status":"PENDING"}],`+
			`"story":[{"at":"%s","what":"reserved item %d as %s"},{"at":"%s","what":"%s placed"}]}`,
			sl.ID, p.OrderID, item, at, moment(row.PayBy), p.OrderID, item, at, item, p.OrderID, moment(row.CreatedAt), p.OrderID)
	})
	t.Run("expired, and bought again", func(t *testing.T) {
		p := o.sell(t, sl, "back")
		o.Passes(sl.PaymentWindow + sl.Grace)
		if _, err := o.Orders.Expire(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Stock.Release(t.Context(), stock.Of(&sl), stock.Settled, []stock.Held{{OrderID: p.OrderID, UserID: "back"}}); err != nil {
			t.Fatal(err)
		}
		row := o.Row(t, p.OrderID)
		if row.State != order.Expired {
			t.Fatalf("row: got %s", row.State)
		}
		var got struct {
			Hold   *struct{ OrderID sale.OrderID }
			Orders []struct{ Status, Reason string }
			Story  []struct{ At, What string }
		}
		if err := json.Unmarshal([]byte(explain("back")), &got); err != nil {
			t.Fatal(err)
		}
		if got.Hold != nil || len(got.Orders) != 1 || got.Orders[0].Status != "EXPIRED" ||
			len(got.Story) != 3 || got.Story[2].What != p.OrderID.String()+" expired" || got.Story[2].At != moment(row.SettledAt) {
			t.Errorf("expired: got %+v, want three chapters that end with it", got)
		}
		again := o.Reserve(t, sl, 0, "back")
		if err := json.Unmarshal([]byte(explain("back")), &got); err != nil {
			t.Fatal(err)
		}
		if got.Hold == nil || got.Hold.OrderID != again.OrderID || len(got.Story) != 4 {
			t.Errorf("bought again: got %+v, want the new hold and four chapters", got)
		}
	})
	t.Run("nothing held: the sale says why", func(t *testing.T) {
		if err := o.Orders.Pause(t.Context(), sl.ID, sale.PausedByOperator, "test"); err != nil {
			t.Fatal(err)
		}
		if err := o.Orders.Doubt(t.Context(), sl.ID, item); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Sale struct {
				OpensAt, ClosesAt time.Time
				Paused            []string
				Doubts            []sale.ItemID
				Left              map[sale.ItemID]int64
			}
		}
		if err := json.Unmarshal([]byte(explain("nobody")), &got); err != nil {
			t.Fatal(err)
		}
		l, err := o.Orders.Listing(t.Context(), sl.ID)
		if err != nil || !got.Sale.OpensAt.Equal(l.OpensAt) || !got.Sale.ClosesAt.Equal(l.ClosesAt) ||
			!slices.Equal(got.Sale.Paused, []string{"operator"}) || !slices.Equal(got.Sale.Doubts, []sale.ItemID{item}) {
			t.Errorf("the sale: got %+v, want its window, the pause and the doubt", got.Sale)
		}
		left, err := o.Stock.Left(t.Context(), &sl)
		if err != nil || got.Sale.Left[item] != left[item] || left[item] == 0 {
			t.Errorf("left: got %v, want %v, %v", got.Sale.Left, left, err)
		}
	})
	t.Run("by the order", func(t *testing.T) {
		hasHold, hasRow := o.Reserve(t, sl, 0, "only a hold"), o.Place(sl, 0, "only a row")
		if err := o.Orders.Reject(t.Context(), []sale.Placed{hasRow}, order.ReasonGuard); err != nil {
			t.Fatal(err)
		}
		for _, p := range []sale.Placed{hasHold, hasRow} {
			want(t, o.says(t, `{"action":"explain","saleId":%d,"orderId":"%s"}`, sl.ID, p.OrderID), "%s", explain(p.UserID))
		}
	})
	t.Run("rejected", func(t *testing.T) {
		p := o.Place(sl, 0, "unlucky")
		if err := o.Orders.Reject(t.Context(), []sale.Placed{p}, order.ReasonGuard); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Orders []struct{ Status, Reason string }
		}
		if err := json.Unmarshal([]byte(explain("unlucky")), &got); err != nil || len(got.Orders) != 1 || got.Orders[0].Reason != order.ReasonGuard {
			t.Errorf("rejected: got %+v, %v, want the reason", got, err)
		}
	})
}

// TestReportOfWrongTypes has a report for whoever looks what is wrong, until a pass has mended it.
func TestReportOfWrongTypes(t *testing.T) {
	t.Parallel()
	o := open(t)
	for _, part := range []string{"meta", "holds", "stock", "unconfirmed", "released", "winners"} {
		sl := o.create(t, 10, true)
		key := shoptest.Key(sl, part)
		o.Redis.Del(t.Context(), key)
		if err := o.Redis.LPush(t.Context(), key, "x").Err(); err != nil {
			t.Fatal(err)
		}
		var got struct{ Items []struct{ Conserved bool } }
		o.report(t, sl, &got)
		if len(got.Items) != 1 || got.Items[0].Conserved {
			t.Errorf("%s is a list: got %+v, want it not conserved", part, got)
		}
	}
}
