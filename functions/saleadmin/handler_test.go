package saleadmin_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl, other := o.Sale(5), o.Sale(5)
	text := file(sl, "+1h", "+2h", 5)
	want(t, o.says(t, `{"action":"create","sale":%s}`, text), `{"saleId":%d,"state":"CREATED","created":true}`, sl.ID)
	l, err := o.Orders.Listing(t.Context(), sl.ID)
	if err != nil {
		t.Fatal(err)
	}
	if in := time.Until(l.OpensAt); in < 50*time.Minute || in > time.Hour || l.ClosesAt.Sub(l.OpensAt) != time.Hour {
		t.Errorf("window: got %s to %s, want an hour from now for an hour", l.OpensAt, l.ClosesAt)
	}
	o.Passes(time.Minute) // a relative time is resolved once
	want(t, o.says(t, `{"action":"create","sale":%s}`, strings.ReplaceAll(text, ",", " , ")), `{"saleId":%d,"state":"CREATED","created":false}`, sl.ID)
	if again, err := o.Orders.Listing(t.Context(), sl.ID); err != nil || !again.OpensAt.Equal(l.OpensAt) {
		t.Errorf("opensAt after the second create: got %s, %v, want %s", again.OpensAt, err, l.OpensAt)
	}
	wantRefusal(t, o.says(t, `{"action":"create","sale":%s}`, file(sl, "+1h", "+2h", 6)), "SALE_EXISTS")
	other.Items[0].ID = sl.Items[0].ID
	wantRefusal(t, o.says(t, `{"action":"create","sale":%s}`, file(other, "+1h", "+2h", 5)), "ITEM_EXISTS")
	wantRefusal(t, o.says(t, `{"action":"load","saleId":%d}`, other.ID), "UNKNOWN_SALE")

	// The catalog has heard of the one sale.
	catalog := stock.NewCatalog(o.Stock, time.Now)
	if _, ok, err := catalog.ByItem(t.Context(), sl.Items[0].ID); !ok || err != nil {
		t.Errorf("catalog: got %v, %v, want the new item", ok, err)
	}
	if _, ok, err := catalog.Sale(t.Context(), other.ID); ok || err != nil {
		t.Errorf("catalog: got %v, %v, want nothing of the refused sale", ok, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 1, false)
	good := file(o.Sale(1), "+1h", "+2h", 1)
	for request, code := range map[string]string{
		``:                                      "BAD_REQUEST",
		`{`:                                     "BAD_REQUEST",
		`[]`:                                    "BAD_REQUEST",
		`"report"`:                              "BAD_REQUEST",
		`{"action":"report"}`:                   "BAD_REQUEST",
		`{"action":"load"}`:                     "BAD_REQUEST",
		`{"action":7,"saleId":7}`:               "BAD_REQUEST",
		`{"action":"report","sale":7,"oops":1}`: "BAD_REQUEST",
		`{"action":"report","saleId":7} {}`:     "BAD_REQUEST",
		`{"action":"create"}`:                   "BAD_REQUEST",
		`{"action":"create","sale":{}}`:         "BAD_REQUEST",
		`{"action":"create","sale":null}`:       "BAD_REQUEST",
		`{"action":"create","sale":` + strings.Replace(good, `"+2h"`, `"+1h"`, 1) + `}`:               "BAD_REQUEST",
		`{"action":"create","sale":` + strings.Replace(good, `"19.99"`, `19.99`, 1) + `}`:             "BAD_REQUEST",
		`{"action":"create","sale":` + strings.Replace(good, `"name"`, `"names"`, 1) + `}`:            "BAD_REQUEST",
		`{"action":"create","sale":` + strings.Replace(good, `"quantity":1`, `"quantity":0`, 1) + `}`: "BAD_REQUEST",
		`null`:                                    "UNKNOWN_ACTION",
		`{}`:                                      "UNKNOWN_ACTION",
		`{"action":"destroy","saleId":7}`:         "UNKNOWN_ACTION",
		`{"action":"Load","saleId":7}`:            "UNKNOWN_ACTION",
		`{"action":"report","saleId":0}`:          "UNKNOWN_SALE",
		`{"action":"report","saleId":-1}`:         "UNKNOWN_SALE",
		`{"action":"report","saleId":4294967296}`: "UNKNOWN_SALE",
		`{"action":"report","saleId":1.5}`:        "UNKNOWN_SALE",
		fmt.Sprintf(`{"action":"explain","saleId":%d}`, sl.ID):                                                          "BAD_REQUEST",
		fmt.Sprintf(`{"action":"explain","saleId":%d,"userId":""}`, sl.ID):                                              "BAD_REQUEST",
		fmt.Sprintf(`{"action":"explain","saleId":%d,"userId":"a\u0000"}`, sl.ID):                                       "BAD_REQUEST",
		fmt.Sprintf(`{"action":"explain","saleId":%d,"orderId":"x"}`, sl.ID):                                            "BAD_REQUEST",
		fmt.Sprintf(`{"action":"explain","saleId":%d,"orderId":"%s"}`, sl.ID, o.Place(o.Sale(1), 0, "u").OrderID):       "BAD_REQUEST",
		fmt.Sprintf(`{"action":"explain","saleId":%d,"orderId":"%s","userId":"u"}`, sl.ID, o.Place(sl, 0, "u").OrderID): "BAD_REQUEST",
		fmt.Sprintf(`{"action":"explain","saleId":%d,"orderId":"%s"}`, sl.ID, o.Place(sl, 0, "u").OrderID):              "UNKNOWN_ORDER",
	} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			wantRefusal(t, o.says(t, "%s", request), code)
		})
	}
	unknown := o.Sale(1).ID
	for _, action := range []string{"load", "pause", "resume", "close", "report", "explain"} {
		t.Run("unknown sale, "+action, func(t *testing.T) {
			t.Parallel()
			wantRefusal(t, o.says(t, `{"action":"%s","saleId":%d,"userId":"u1"}`, action, unknown), "UNKNOWN_SALE")
		})
	}
}

// TestLoad has a second load, loads at once, and a load while units are sold.
func TestLoad(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 5, false)
	if got := o.Outcome(t, sl, 0, "u1"); got != stock.NotLoaded {
		t.Errorf("before the load: got %v, want not loaded", got)
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	answers := map[string]int{}
	for range 3 {
		wait.Go(func() {
			answer := o.says(t, `{"action":"load","saleId":%d}`, sl.ID)
			mu.Lock()
			defer mu.Unlock()
			answers[answer]++
		})
	}
	wait.Wait()
	first, again := fmt.Sprintf(`{"saleId":%d,"state":"OPEN","loaded":true}`, sl.ID), fmt.Sprintf(`{"saleId":%d,"state":"OPEN","loaded":false}`, sl.ID)
	if answers[first] != 1 || answers[again] != 2 {
		t.Errorf("three loads at once: got %v, want one that loaded", answers)
	}
	o.Reserve(t, sl, 0, "u1")
	o.sell(t, sl, "u2")
	want(t, o.says(t, `{"action":"load","saleId":"%d"}`, sl.ID), "%s", again)
	o.WantUnits(t, sl, 0, [4]int64{3, 1, 0, 1})
}

// TestStops looks at each stop as a purchase meets it.
func TestStops(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 5, true)
	holder := o.sell(t, sl, "holder")
	for _, step := range []struct {
		action string
		state  sale.State
		want   stock.Outcome
	}{
		{"pause", sale.Paused, stock.Paused},
		{"pause", sale.Paused, stock.Paused},
		{"resume", sale.Open, stock.Reserved},
		{"resume", sale.Open, stock.Reserved},
		{"pause", sale.Paused, stock.Paused},
		{"close", sale.Closed, stock.Paused}, // the pause still stands
		{"resume", sale.Closed, stock.Closed},
		{"close", sale.Closed, stock.Closed},
	} {
		want(t, o.says(t, `{"action":"%s","saleId":%d}`, step.action, sl.ID), `{"saleId":%d,"state":"%s"}`, sl.ID, step.state)
		if got := o.Outcome(t, sl, 0, "u1"); got != step.want {
			t.Errorf("purchase after %s: got %v, want %v", step.action, got, step.want)
		}
		if got := o.Outcome(t, sl, 0, "holder"); got != stock.Already {
			t.Errorf("the holder after %s: got %v, want already", step.action, got)
		}
		l, _, err := stock.NewCatalog(o.Stock, time.Now).Sale(t.Context(), sl.ID)
		if err != nil || l.StateAt(o.Now(), l.Standing) != step.state {
			t.Errorf("catalog after %s: got %+v, %v, want %s", step.action, l, err, step.state)
		}
	}
	// Unpaid orders keep their window.
	if row := o.Row(t, holder.OrderID); !row.Payable(o.Now()) {
		t.Errorf("the holder's order: got %+v, want it payable", row)
	}
	var audit string // what changed nothing is no news
	err := o.Pool.QueryRow(t.Context(), `
		SELECT string_agg(action, ' ' ORDER BY id) FROM operator_action WHERE sale_id = $1 AND actor = 'saleadmin'`, int64(sl.ID)).Scan(&audit)
	if want := "create load pause resume pause close resume"; err != nil || audit != want {
		t.Errorf("audit: got %q, %v, want %q", audit, err, want)
	}
}

// TestLostSale is not loaded again, however often the operator says so.
func TestLostSale(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 5, true)
	o.sell(t, sl, "u1")
	for _, part := range []string{"meta", "holds", "stock", "unconfirmed"} {
		o.Redis.Del(t.Context(), shoptest.Key(sl, part))
	}
	for _, action := range []string{"load", "load", "pause", "resume", "reconcile"} {
		wantRefusal(t, o.says(t, `{"action":"%s","saleId":%d}`, action, sl.ID), "SALE_BUSY")
	}
	if got := o.Outcome(t, sl, 0, "u2"); got != stock.NotLoaded {
		t.Errorf("purchase: got %v, want not loaded", got)
	}
	var report struct {
		Items []struct {
			Conserved   bool
			Sold, Drift int
		}
	}
	o.report(t, sl, &report)
	if it := report.Items[0]; it.Conserved || it.Sold != 1 || it.Drift != -5 {
		t.Errorf("report: got %+v, want one sold, not conserved, five units too few", it)
	}
}
