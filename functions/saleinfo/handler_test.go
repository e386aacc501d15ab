package saleinfo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"flashsale/functions/saleinfo"
	"flashsale/localstack/servers"
	"flashsale/shared/apigw"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// A window is the handler under test with what stands behind it.
type window struct {
	*shoptest.Shelf
	h *saleinfo.Handler
}

func open(t *testing.T, redisURL string) *window {
	t.Helper()
	shelf := shoptest.OpenShelf(t, redisURL)
	return &window{shelf, &saleinfo.Handler{
		Catalog: stock.NewCatalog(shelf.Stock, time.Now), Stock: shelf.Stock,
		Edge: apigw.Edge{Log: slog.New(slog.DiscardHandler)}, Now: time.Now,
	}}
}

type answer struct {
	Status  int               `json:"statusCode"`
	Headers map[string]string `json:"headers"`
	Text    string            `json:"body"`
}

func (w *window) show(t *testing.T, saleID string) answer {
	t.Helper()
	return w.invoke(t, map[string]any{
		"httpMethod": "GET", "path": "/api/flash-sales/" + saleID, "pathParameters": map[string]string{"saleId": saleID},
		"requestContext": map[string]any{"requestId": "r1"},
	})
}

func (w *window) invoke(t *testing.T, request map[string]any) answer {
	t.Helper()
	event, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := w.h.Invoke(t.Context(), event)
	if err != nil {
		t.Fatalf("invoke: %v", err)
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("answer %s: %v", text, err)
	}
	return a
}

func (a answer) refused(t *testing.T, status int, code string) {
	t.Helper()
	var body struct{ Error string }
	if err := json.Unmarshal([]byte(a.Text), &body); err != nil || a.Status != status || body.Error != code {
		t.Errorf("answer: got %d %s, want %d %s", a.Status, a.Text, status, code)
	}
	if got := a.Headers["Cache-Control"]; got != "no-store" {
		t.Errorf("Cache-Control of a refusal: got %q, want no-store", got)
	}
}

// TestWholeAnswer has one item sold out and one not.
func TestWholeAnswer(t *testing.T) {
	t.Parallel()
	w := open(t, servers.RedisURL(t))
	sl := w.Sale(1, 5)
	sl.Items[1].PriceMinor, sl.Items[1].Currency, sl.Items[1].Name = 500, "JPY", "\"5\" <b>"
	w.Offer(t, sl, nil)
	w.List(t, sl)
	w.Reserve(t, sl, 0, "u1")
	now := time.Date(2031, 5, 1, 12, 0, 0, 123_456_789, time.FixedZone("", 3600))
	sl.OpensAt, sl.ClosesAt = now.Add(-time.Hour).UTC().Truncate(time.Second), now.Add(time.Hour).UTC().Truncate(time.Second)
	w.List(t, sl)
	w.h.Now = func() time.Time { return now }

	a := w.show(t, fmt.Sprint(sl.ID))
	one, two := sl.Items[0].ID, sl.Items[1].ID
	want := fmt.Sprintf(`{"saleId":%d,"name":"test","state":"OPEN","opensAt":"2031-05-01T10:00:00Z","closesAt":"2031-05-01T12:00:00Z",`+
		`"serverTime":"2031-05-01T11:00:00.123Z","items":[`+
		`{"itemId":%d,"name":"item 0","price":"19.99","currency":"EUR","soldOut":true,"purchaseUrl":"/api/flash-sales/items/%d/purchase"},`+
		`{"itemId":%d,"name":"\"5\" \u003cb\u003e","price":"500","currency":"JPY","soldOut":false,"purchaseUrl":"/api/flash-sales/items/%d/purchase"}]}`,
		sl.ID, one, one, two, two)
	if a.Status != 200 || a.Text != want {
		t.Errorf("answer: got %d %s\nwant 200 %s", a.Status, a.Text, want)
	}
	for name, want := range map[string]string{"Cache-Control": "public, max-age=1", "Content-Type": "application/json"} {
		if got := a.Headers[name]; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	w := open(t, servers.RedisURL(t))
	created, loaded := sale.Standing{}, sale.Standing{Loaded: true}
	rows := []struct {
		standing sale.Standing
		at       func(sl *sale.Sale) // moves the window
		state    sale.State
	}{
		{created, func(sl *sale.Sale) { sl.OpensAt = time.Now().Add(time.Minute) }, sale.Created},
		{created, func(*sale.Sale) {}, sale.Created},
		{loaded, func(sl *sale.Sale) { sl.OpensAt = time.Now().Add(time.Minute) }, sale.Loaded},
		{loaded, func(*sale.Sale) {}, sale.Open},
		{sale.Standing{Loaded: true, Paused: true}, func(*sale.Sale) {}, sale.Paused},
		{loaded, func(sl *sale.Sale) { sl.ClosesAt = time.Now() }, sale.Closed},
	}
	var listings []sale.Listing
	for _, row := range rows {
		sl := w.Sale(3)
		row.at(&sl)
		if row.standing.Loaded {
			w.Offer(t, sl, nil)
		}
		listings = append(listings, sale.Listing{Sale: sl, Standing: row.standing})
	}
	if err := w.Stock.PutCatalog(t.Context(), sale.NewCatalog(listings)); err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		t.Run(fmt.Sprintf("%d %s", i, row.state), func(t *testing.T) {
			t.Parallel()
			a := w.show(t, fmt.Sprint(listings[i].ID))
			var got struct {
				State sale.State
				Items []struct {
					SoldOut     bool
					PurchaseURL string
				}
			}
			if err := json.Unmarshal([]byte(a.Text), &got); err != nil || a.Status != 200 || len(got.Items) != 1 {
				t.Fatalf("answer: got %d %s, want 200 and an item", a.Status, a.Text)
			}
			if got.State != row.state || got.Items[0].SoldOut {
				t.Errorf("got %s, sold out %v, want %s and not sold out", got.State, got.Items[0].SoldOut, row.state)
			}
			if toBuy := got.Items[0].PurchaseURL != ""; toBuy != (row.state == sale.Open) {
				t.Errorf("purchaseUrl in state %s: present %v", row.state, toBuy)
			}
		})
	}
}

// TestSoldOutComesAndGoes: a unit that is given back can be seen.
func TestSoldOutComesAndGoes(t *testing.T) {
	t.Parallel()
	w := open(t, servers.RedisURL(t))
	sl := w.Sale(1)
	w.Offer(t, sl, nil)
	w.List(t, sl)
	soldOut := func() bool {
		var got struct{ Items []struct{ SoldOut bool } }
		a := w.show(t, fmt.Sprint(sl.ID))
		if err := json.Unmarshal([]byte(a.Text), &got); err != nil || len(got.Items) != 1 {
			t.Fatalf("answer: got %d %s", a.Status, a.Text)
		}
		return got.Items[0].SoldOut
	}
	p := w.Reserve(t, sl, 0, "u1")
	if !soldOut() {
		t.Error("after the last unit: got not sold out")
	}
	if _, err := w.Stock.Release(t.Context(), stock.Of(&sl), stock.Settled, []stock.Held{{OrderID: p.OrderID, UserID: "u1"}}); err != nil {
		t.Fatal(err)
	}
	if soldOut() {
		t.Error("after the unit came back: got sold out")
	}
	w.Redis.HSet(t.Context(), shoptest.Key(sl, "stock"), fmt.Sprint(sl.Items[0].ID), -2) // a failover's
	if !soldOut() {
		t.Error("below zero: got not sold out")
	}
}

func TestUnknownSales(t *testing.T) {
	t.Parallel()
	w := open(t, servers.RedisURL(t))
	listed, gone := w.Sale(1), w.Sale(1) // an archived sale is not in the catalog
	w.Offer(t, gone, nil)
	w.List(t, listed)
	for _, id := range []string{
		fmt.Sprint(gone.ID), "", "0", "-1", "4294967296", "x", "%2F", "%00", "0" + fmt.Sprint(listed.ID), " " + fmt.Sprint(listed.ID),
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			w.show(t, id).refused(t, 404, "UNKNOWN_SALE")
		})
	}
}

func TestRedisKnowsTooLittle(t *testing.T) {
	t.Parallel()
	t.Run("no catalog", func(t *testing.T) {
		t.Parallel()
		w := open(t, servers.RedisURL(t))
		a := w.show(t, "7")
		a.refused(t, 503, "TRY_AGAIN")
		if a.Headers["Retry-After"] != "1" {
			t.Errorf("Retry-After: got %q, want 1", a.Headers["Retry-After"])
		}
	})
	t.Run("away", func(t *testing.T) {
		t.Parallel()
		open(t, "redis://127.0.0.1:1").show(t, "7").refused(t, 503, "TRY_AGAIN")
	})
	t.Run("damaged stock", func(t *testing.T) {
		t.Parallel()
		w := open(t, servers.RedisURL(t))
		sl := w.Sale(1)
		w.Offer(t, sl, nil)
		w.List(t, sl)
		w.Redis.Set(t.Context(), shoptest.Key(sl, "stock"), "typed", 0)
		w.show(t, fmt.Sprint(sl.ID)).refused(t, 503, "TRY_AGAIN")
	})
}

func TestOtherEvents(t *testing.T) {
	t.Parallel()
	w := open(t, servers.RedisURL(t))
	for _, event := range []string{``, `{}`, `null`, `""`, `{"Records":[]}`, `{"version":"2.0","requestContext":{"requestId":"r"}}`} {
		if answer, err := w.h.Invoke(t.Context(), []byte(event)); err == nil {
			t.Errorf("event %q: got %s, want an error of the function", event, answer)
		}
	}
}

// TestSoldOutOverAllShards: one shard with a unit is enough to sell.
func TestSoldOutOverAllShards(t *testing.T) {
	t.Parallel()
	w := open(t, servers.RedisURL(t))
	sl := w.Sale(1)
	sl.Shards = 2
	t.Cleanup(func() { _ = w.Stock.Drop(context.WithoutCancel(t.Context()), stock.Of(&sl)) })
	w.List(t, sl)
	tell := func(shard int, version int64, units int, out bool) {
		t.Helper()
		quota := map[sale.ItemID]int{sl.Items[0].ID: units}
		if _, err := w.Stock.SetQuota(t.Context(), stock.Of(&sl), shard, version, quota, version == 1); err != nil {
			t.Fatal(err)
		}
		var v struct{ Items []struct{ SoldOut bool } }
		if a := w.show(t, fmt.Sprint(sl.ID)); json.Unmarshal([]byte(a.Text), &v) != nil || v.Items[0].SoldOut != out {
			t.Errorf("shard %d has %d units: got %s, want sold out %v", shard, units, a.Text, out)
		}
	}
	tell(0, 1, 0, false) // the other shard is not loaded: nothing is counted
	tell(1, 1, 1, false)
	tell(1, 2, 0, false) // the unit is on its way to the first shard
	tell(0, 2, 1, false)
	set := sale.Settings{Version: 1, OpensAt: sl.OpensAt, ClosesAt: sl.ClosesAt}
	if _, err := w.Stock.Steer(t.Context(), stock.Of(&sl), 0, set); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		if user := fmt.Sprint("u", i); stock.Of(&sl).Home(user) == 0 {
			w.Reserve(t, sl, 0, user)
			break
		}
	}
	tell(1, 3, 0, true)
}
