package saleadmin_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/localstack/servers"
	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// pays makes an order PAID by an event of that name.
func (o *office) pays(t *testing.T, event string, id sale.OrderID) {
	t.Helper()
	_, err := o.Orders.Pay(t.Context(), order.Payment{
		WebhookID: event, PaymentID: "pay-" + event, OrderID: id, Type: order.PaymentSucceeded, AmountMinor: 1999, Currency: "EUR", At: o.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantAudit checks the sale's actions as "actor action".
func (o *office) wantAudit(t *testing.T, sl sale.Sale, want ...string) {
	t.Helper()
	var got []string
	err := o.Pool.QueryRow(t.Context(), `
		SELECT array_agg(actor || ' ' || action ORDER BY id) FROM operator_action
		WHERE sale_id = $1 AND at BETWEEN now() - interval '1 hour' AND now() + interval '1 hour'`, int64(sl.ID)).Scan(&got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("audit: got %q, %v, want %q", got, err, want)
	}
}

func wantMessage(t *testing.T, answer, code string, parts ...string) {
	t.Helper()
	wantRefusal(t, answer, code)
	for _, part := range parts {
		if !strings.Contains(answer, part) {
			t.Errorf("refusal: got %s, want %q in it", answer, part)
		}
	}
}

// TestLife is the whole life of a sale, as its operator leads it.
func TestLife(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.h.OrdersTopic = o.orders
	sl := o.Sale(5)
	ask := func(action, more string) string {
		t.Helper()
		return o.says(t, `{"action":"%s","saleId":%d,"by":"anna"%s}`, action, sl.ID, more)
	}
	update := func(file string) string { t.Helper(); return ask("update", `,"sale":`+file) }
	wantMessage(t, update(file(sl, "+1h", "+2h", 5)), "UNKNOWN_SALE")

	want(t, o.says(t, `{"action":"create","by":"anna","sale":%s}`, file(sl, "+1h", "+2h", 5)), `{"saleId":%d,"state":"CREATED","created":true}`, sl.ID)
	ask("load", "")
	// Before it opens: fewer units, and then it opens.
	want(t, update(file(sl, "+1h", "+2h", 2)), `{"saleId":%d,"state":"LOADED","changed":["item %d quantity: 5 to 2"]}`, sl.ID, sl.Items[0].ID)
	opened := update(file(sl, "-1m", "+2h", 2))
	if !strings.HasPrefix(opened, fmt.Sprintf(`{"saleId":%d,"state":"OPEN","changed":["opensAt: `, sl.ID)) {
		t.Fatalf("update: got %s, want it open", opened)
	}
	want(t, update(file(sl, "-1m", "+2h", 2)), `{"saleId":%d,"state":"OPEN","changed":[]}`, sl.ID)
	first, second := o.sell(t, sl, "u1"), o.sell(t, sl, "u2")
	if got := o.Outcome(t, sl, 0, "u3"); got != stock.SoldOut {
		t.Fatalf("two units: got %v, want sold out", got)
	}
	// After that: more units, nothing else.
	wantMessage(t, update(strings.Replace(file(sl, "-1m", "+1h", 1), "Drop", "Dropped", 1)), "BAD_REQUEST",
		"name may not", "closesAt may only", "quantity may only")
	wantMessage(t, update(strings.Replace(file(sl, "-1m", "+2h", 2), `19.99`, `18.99`, 1)), "BAD_REQUEST", "price may not")
	other := o.Sale(1)
	wantMessage(t, update(file(other, "-1m", "+2h", 2)), "BAD_REQUEST", "saleId")
	wantMessage(t, update(`{}`), "BAD_REQUEST", "sale file")
	update(file(sl, "-1m", "+2h", 3))
	o.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 2})
	want(t, o.says(t, `{"action":"create","sale":%s}`, file(sl, "-1m", "+2h", 3)), `{"saleId":%d,"state":"OPEN","created":false}`, sl.ID)
	wantMessage(t, o.says(t, `{"action":"create","sale":%s}`, file(sl, "+1h", "+2h", 5)), "SALE_EXISTS")
	for _, action := range []string{"pause", "resume", "reconcile", "redrive"} {
		ask(action, "")
	}

	// The end of it.
	wantMessage(t, ask("archive", ""), "SALE_BUSY", "not over", "PENDING orders: 2", "holds without a PAID order: 2")
	o.pays(t, "w1", first.OrderID)
	o.pays(t, "w2", second.OrderID)
	o.pays(t, "w3", second.OrderID)
	want(t, ask("close", ""), `{"saleId":%d,"state":"CLOSED"}`, sl.ID)
	if err := orderlog.NewProducer(o.kafka, o.orders).Publish(t.Context(), o.Place(sl, 0, "late")); err != nil {
		t.Fatal(err)
	}
	wantMessage(t, ask("archive", ""), "SALE_BUSY", "unread records: 1")
	o.h.Keeper.Backlog = func(context.Context) (int64, error) { return 0, nil } // the writer has read it
	for _, archived := range []bool{true, false} {
		want(t, ask("archive", ""), `{"saleId":%d,"state":"ARCHIVED","archived":%v}`, sl.ID, archived)
	}
	if n := o.Redis.Exists(t.Context(), shoptest.Key(sl, "meta"), shoptest.Key(sl, "holds"), shoptest.Key(sl, "stock")).Val(); n != 0 {
		t.Errorf("keys: got %d, want none", n)
	}
	if _, ok, err := stock.NewCatalog(o.Stock, time.Now).Sale(t.Context(), sl.ID); ok || err != nil {
		t.Errorf("catalog: got %v, %v, want it gone", ok, err)
	}
	for _, action := range []string{"load", "pause", "resume", "close", "reconcile", "redrive"} {
		wantMessage(t, ask(action, ""), "BAD_REQUEST", "is archived")
	}
	wantMessage(t, update(file(sl, "-1m", "+3h", 3)), "BAD_REQUEST", "is archived")
	o.wantAudit(t, sl, "anna create", "anna load", "anna update", "anna update", "anna update",
		"anna pause", "anna resume", "anna reconcile", "anna redrive", "anna close", "anna archive")

	// The rows still answer, without Redis.
	_ = o.Redis.Close()
	var report struct {
		State string
		Items []struct {
			Sold, Stock int
			RefundsDue  int
			Orders      map[string]int
		}
	}
	o.report(t, sl, &report)
	if it := report.Items[0]; report.State != "ARCHIVED" || it.Sold != 2 || it.Stock != 0 || it.RefundsDue != 1 || it.Orders["PAID"] != 2 {
		t.Errorf("report: got %+v, want two units sold, one refund due", report)
	}
	if got := ask("explain", `,"userId":"u1"`); !strings.Contains(got, `"status":"PAID"`) || !strings.Contains(got, `"hold":null`) {
		t.Errorf("explain: got %s", got)
	}
	if got := ask("export", ""); strings.Count(got, `"status":"PAID"`) != 2 {
		t.Errorf("export: got %s, want both orders", got)
	}
}

// TestBusyWhileRebuilt has Redis lose an open sale.
func TestBusyWhileRebuilt(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 5, true)
	o.says(t, `{"action":"close","saleId":%d}`, sl.ID)
	for name, damage := range map[string]func() error{
		"lost":          func() error { return o.Redis.Del(t.Context(), shoptest.Key(sl, "meta")).Err() },
		"being rebuilt": func() error { return o.Orders.Pause(t.Context(), sl.ID, sale.PausedByRebuild, "stockkeeper") },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		wantRefusal(t, o.says(t, `{"action":"update","saleId":%d,"sale":%s}`, sl.ID, file(sl, "-1m", "+1h", 6)), "SALE_BUSY")
		wantRefusal(t, o.says(t, `{"action":"archive","saleId":%d}`, sl.ID), "SALE_BUSY")
	}
	want(t, o.says(t, `{"action":"create","sale":%s}`, file(sl, "-1m", "+1h", 5)), `{"saleId":%d,"state":"CLOSED","created":false}`, sl.ID)
}

func TestUpdateTakesNobodysItem(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl, other := o.create(t, 5, false), o.create(t, 5, false)
	other.Items = sl.Items
	wantRefusal(t, o.says(t, `{"action":"update","saleId":%d,"sale":%s}`, other.ID, file(other, "-1m", "+1h", 5)), "ITEM_EXISTS")
}

// TestRedrive has letters of two sales, and one of nobody.
func TestRedrive(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.h.OrdersTopic = o.orders
	sl, other := o.create(t, 5, true), o.create(t, 5, true)
	mine := o.Place(sl, 0, "u1")
	letters := orderlog.NewDeadLetters(o.kafka, o.letters)
	for _, value := range [][]byte{orderlog.Encode(mine), orderlog.Encode(o.Place(other, 0, "u1")), []byte("nobody's")} {
		if err := letters.Put(t.Context(), orderlog.Record{Topic: o.orders, Key: []byte("k"), Value: value}, "test"); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		want(t, o.says(t, `{"action":"redrive","saleId":%d,"by":"anna"}`, sl.ID), `{"saleId":%d,"redriven":1,"skipped":1}`, sl.ID)
	}
	records := shoptest.Records(t, servers.KafkaBrokers(t), o.orders)
	if len(records) != 2 || string(records[0].Value) != string(orderlog.Encode(mine)) || string(records[1].Value) != string(records[0].Value) {
		t.Errorf("records: got %d, want the one letter twice", len(records))
	}
	o.wantAudit(t, sl, "saleadmin create", "saleadmin load", "anna redrive", "anna redrive")
	wantRefusal(t, o.says(t, `{"action":"redrive","saleId":%d}`, o.Sale(1).ID), "UNKNOWN_SALE")
}
