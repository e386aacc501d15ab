package expirer_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"flashsale/functions/expirer"
	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/giveback"
	"flashsale/shared/order"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// A desk is the expirer under test with what stands behind it.
type desk struct {
	*shoptest.Shop
	h *expirer.Handler
}

func open(t *testing.T) *desk {
	t.Helper()
	shop := shoptest.OpenShop(t, servers.RedisURL(t), servers.Database(t, migrations.Hash(), shoptest.Migrate))
	return &desk{shop, &expirer.Handler{Orders: shop.Orders, Stock: shop.Stock, Log: slog.New(slog.DiscardHandler)}}
}

// sold makes n orders that are written and confirmed.
func (d *desk) sold(t *testing.T, sl sale.Sale, n int) []sale.Placed {
	t.Helper()
	placed := make([]sale.Placed, n)
	confirm := make([]stock.Confirmation, n)
	for i := range placed {
		placed[i] = d.Reserve(t, sl, 0, fmt.Sprintf("u%d", i))
	}
	for i, w := range d.Write(t, placed...) {
		confirm[i] = stock.Confirmation{OrderID: placed[i].OrderID, UserID: placed[i].UserID, PayBy: w.PayBy}
	}
	if err := d.Stock.Confirm(t.Context(), stock.Of(&sl), confirm); err != nil {
		t.Fatal(err)
	}
	return placed
}

func (d *desk) passes(t *testing.T, event string, want expirer.Result) {
	t.Helper()
	text, err := d.h.Invoke(t.Context(), []byte(event))
	if err != nil {
		t.Fatalf("invoke: %v", err)
	}
	var got expirer.Result
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("%s: got %s, %v, want %+v", event, text, err, want)
	}
}

const once = `{"passes":1}`

func TestExpired(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 3)
	placed := d.sold(t, sl, 3)

	d.Passes(sl.PaymentWindow + sl.Grace - time.Second)
	d.passes(t, once, expirer.Result{})
	d.WantUnits(t, sl, 0, [4]int64{0, 0, 0, 3})

	d.Passes(time.Second)
	d.passes(t, once, expirer.Result{Expired: 3, Released: 3})
	for _, p := range placed {
		d.WantRow(t, p.OrderID, order.Expired, "")
	}
	d.WantUnits(t, sl, 0, [4]int64{3, 0, 0, 0})
	d.WantSold(t, sl, 0, 0)

	again := d.Reserve(t, sl, 0, "u0")
	d.Write(t, again)
	d.passes(t, once, expirer.Result{})
	d.WantRow(t, again.OrderID, order.Pending, "")
	d.WantUnits(t, sl, 0, [4]int64{2, 1, 0, 0})
}

// TestManyExpired needs more than one transaction and more than one script call.
func TestManyExpired(t *testing.T) {
	t.Parallel()
	const n = 1100
	d := open(t)
	sl := d.Sale(n)
	d.Create(t, sl)
	d.Load(t, sl)
	placed := make([]sale.Placed, n)
	for i := range placed {
		placed[i] = d.Place(sl, 0, fmt.Sprintf("u%d", i))
	}
	if _, err := d.Stock.Claim(t.Context(), stock.Of(&sl), placed); err != nil {
		t.Fatal(err)
	}
	d.Write(t, placed...)
	d.WantSold(t, sl, 0, n)
	d.Passes(sl.PaymentWindow + sl.Grace)
	d.passes(t, once, expirer.Result{Expired: n, Released: n})
	d.WantUnits(t, sl, 0, [4]int64{n, 0, 0, 0})
}

// TestCrashAfterCommit has a pass that died before it told Redis.
func TestCrashAfterCommit(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 2)
	d.sold(t, sl, 2)
	d.Passes(sl.PaymentWindow + sl.Grace)
	if n, err := d.Orders.Expire(t.Context(), 10); n != 2 || err != nil {
		t.Fatalf("expire: got %d, %v, want 2", n, err)
	}
	d.WantUnits(t, sl, 0, [4]int64{0, 0, 0, 2})
	d.passes(t, once, expirer.Result{Released: 2})
	d.passes(t, once, expirer.Result{})
	d.WantUnits(t, sl, 0, [4]int64{2, 0, 0, 0})
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	const n = 200
	d := open(t)
	sl := d.Open(t, n)
	d.sold(t, sl, n)
	d.Passes(sl.PaymentWindow + sl.Grace)
	var wait sync.WaitGroup
	results := make([]expirer.Result, 3)
	for i := range results {
		wait.Go(func() {
			var err error
			if results[i], err = d.h.Pass(t.Context()); err != nil {
				t.Errorf("pass: %v", err)
			}
		})
	}
	wait.Wait()
	var sum expirer.Result
	for _, r := range results {
		sum.Expired += r.Expired
		sum.Released += r.Released
	}
	rest, err := giveback.Drain(t.Context(), d.Orders, d.Stock)
	if sum.Expired != n || sum.Released+rest != n || err != nil {
		t.Errorf("together: got %+v and %d, %v, want %d of each", sum, rest, err, n)
	}
	d.WantUnits(t, sl, 0, [4]int64{n, 0, 0, 0})
	d.WantSold(t, sl, 0, 0)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 2)
	d.sold(t, sl, 1)
	d.Passes(sl.PaymentWindow + sl.Grace)
	d.h.Pause = time.Millisecond
	scheduled := `{"version":"0","id":"53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa","detail-type":"Scheduled Event","source":"aws.events",
		"account":"123456789012","time":"2026-01-01T12:00:00Z","region":"eu-central-1","resources":["arn:aws:events:eu-central-1:123456789012:rule/x"],"detail":{}}`
	d.passes(t, scheduled, expirer.Result{Expired: 1, Released: 1})
	d.passes(t, `{"passes":3}`, expirer.Result{})
	for _, event := range []string{``, `{}`, `null`, `[]`, `""`, `{"passes":0}`, `{"passes":"1"}`, `{"source":"aws.s3"}`} {
		if answer, err := d.h.Invoke(t.Context(), []byte(event)); err == nil {
			t.Errorf("event %q: got %s, want an error", event, answer)
		}
	}
}

// TestServersAway has one half fail; the other still does its work.
func TestServersAway(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 2)
	placed := d.sold(t, sl, 2)
	d.Passes(sl.PaymentWindow + sl.Grace)

	noRedis := *d.h
	noRedis.Stock = shoptest.OpenShelf(t, "redis://127.0.0.1:1").Stock
	if got, err := noRedis.Pass(t.Context()); err == nil || got != (expirer.Result{Expired: 2}) {
		t.Errorf("without redis: got %+v, %v, want 2 expired and an error", got, err)
	}
	d.WantRow(t, placed[0].OrderID, order.Expired, "")

	noPostgres := *d.h
	noPostgres.Orders = order.New(shoptest.Pool(t, "postgres://127.0.0.1:1/none"))
	if answer, err := noPostgres.Invoke(t.Context(), []byte(once)); err == nil {
		t.Errorf("without postgres: got %s, want an error", answer)
	}
	d.passes(t, once, expirer.Result{Released: 2})
	d.WantUnits(t, sl, 0, [4]int64{2, 0, 0, 0})
}
