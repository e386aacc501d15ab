package orderstatus_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/functions/orderstatus"
	"flashsale/shared/identity"
	"flashsale/shared/identity/identitytest"
	"flashsale/shared/order"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

func fields(sl sale.Sale, item int) (itemID, saleID string) {
	return fmt.Sprintf(`"itemId":%d`, sl.Items[item].ID), fmt.Sprintf(`"saleId":%d`, sl.ID)
}

func payBy(o order.Order) string { return `"payBy":"` + o.PayBy.Format(time.RFC3339Nano) + `"` }

// TestOrderFromItsFirstMomentToItsEnd asks after each step, both ways.
func TestOrderFromItsFirstMomentToItsEnd(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 5)
	item, inSale := fields(sl, 0)
	p := d.Reserve(t, sl, 0, "u1")
	both := func(body string) {
		t.Helper()
		d.status(t, p.OrderID, "u1").want(t, 200, body)
		d.mine(t, fmt.Sprint(sl.ID), "u1").want(t, 200, body)
		d.status(t, p.OrderID, "u2").want(t, 404, "UNKNOWN_ORDER")
		d.mine(t, fmt.Sprint(sl.ID), "u2").want(t, 404, "NO_ORDER")
	}
	both(view(p.OrderID, "PENDING", item, inSale, `"payable":false`)) // a hold only

	d.Write(t, p) // Redis has not heard of it: payable must not be said yet
	both(view(p.OrderID, "PENDING", item, inSale, `"payable":false`))

	row := d.Row(t, p.OrderID)
	err := d.Stock.Confirm(t.Context(), stock.Of(&sl), []stock.Confirmation{{OrderID: p.OrderID, UserID: "u1", PayBy: row.PayBy}})
	if err != nil {
		t.Fatal(err)
	}
	both(view(p.OrderID, "PENDING", item, inSale, payBy(row), `"payable":true`))

	d.Passes(sl.PaymentWindow)
	both(view(p.OrderID, "PENDING", item, inSale, payBy(row), `"payable":false`))

	d.Passes(sl.Grace)
	if n, err := d.Orders.Expire(t.Context(), 10); n != 1 || err != nil {
		t.Fatalf("expire: got %d, %v", n, err)
	}
	both(view(p.OrderID, "EXPIRED", item, inSale, `"payable":false`))
}

// TestPaid is set by SQL: the payment function does not exist yet.
func TestPaid(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 5)
	item, inSale := fields(sl, 0)
	p := d.Place(sl, 0, "u1")
	d.Write(t, p)
	if _, err := d.Pool.Exec(t.Context(), `UPDATE flash_sale_order SET status = 'PAID', settled_at = now()`); err != nil {
		t.Fatal(err)
	}
	d.status(t, p.OrderID, "u1").want(t, 200, view(p.OrderID, "PAID", item, inSale, `"payable":false`))
}

func TestMyOrder(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl, other := d.Open(t, 5), d.Open(t, 5)
	item, inSale := fields(sl, 0)
	asked := fmt.Sprint(sl.ID)

	ended := []sale.Placed{d.Place(sl, 0, "u1"), d.Place(sl, 0, "u1")}
	for _, p := range ended {
		d.Passes(time.Second)
		if err := d.Orders.Reject(t.Context(), []sale.Placed{p}, "test"); err != nil {
			t.Fatal(err)
		}
	}
	newest := view(ended[1].OrderID, "REJECTED", item, inSale, `"payable":false`)
	d.mine(t, asked, "u1").want(t, 200, newest)

	active := d.Place(sl, 0, "u1")
	d.Write(t, active)
	d.Passes(time.Second)
	late := d.Place(sl, 0, "u1")
	if err := d.Orders.Reject(t.Context(), []sale.Placed{late}, "test"); err != nil {
		t.Fatal(err)
	}
	row := d.Row(t, active.OrderID)
	d.mine(t, asked, "u1").want(t, 200, view(active.OrderID, "PENDING", item, inSale, payBy(row), `"payable":true`))

	d.mine(t, fmt.Sprint(other.ID), "u1").want(t, 404, "NO_ORDER")
	for _, bad := range []string{"0", "-1", "x", "4294967296", "0" + asked, "%2F", "", " " + asked} {
		d.mine(t, bad, "u1").want(t, 404, "UNKNOWN_SALE")
	}
}

// TestNeitherInRedisNorWritten is an order whose record may still be in Kafka.
func TestNeitherInRedisNorWritten(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 5)
	id := d.Mint.New(sl.ID, "u1")
	body := view(id, "PENDING", fmt.Sprintf(`"saleId":%d`, sl.ID), `"payable":false`)
	d.status(t, id, "u1").want(t, 200, body)
	d.status(t, id, "u2").want(t, 404, "UNKNOWN_ORDER")

	foreign := d.Mint.New(d.Sale(1).ID, "u1")
	d.status(t, foreign, "u1").want(t, 404, "UNKNOWN_ORDER")

	d.Passes(10*time.Minute - time.Second - time.Since(id.Time()))
	d.status(t, id, "u1").want(t, 200, body)
	d.Passes(time.Second)
	d.status(t, id, "u1").want(t, 404, "UNKNOWN_ORDER")
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 5)
	p := d.Reserve(t, sl, 0, "u1")
	id := p.OrderID.String()
	token := provider.Token("u1")
	for _, bad := range []string{"", "x", id + "0", id[:35], " " + id, "00000000-0000-8000-8000-000000000000", "550e8400-e29b-41d4-a716-446655440000", "%00"} {
		get(t, d.h, "orderId", bad, token).want(t, 404, "UNKNOWN_ORDER")
	}
	get(t, d.h, "orderId", strings.ToUpper(id), token).want(t, 404, "UNKNOWN_ORDER")
	for name, bearer := range map[string]string{"none": "", "malformed": "x", "other key": identitytest.New().Token("u1")} {
		a := get(t, d.h, "orderId", id, bearer)
		a.want(t, 401, "UNAUTHENTICATED")
		if a.Headers["WWW-Authenticate"] != "Bearer" {
			t.Errorf("%s: WWW-Authenticate %q, want Bearer", name, a.Headers["WWW-Authenticate"])
		}
	}
	for _, method := range []string{"POST", "PUT", "HEAD"} {
		ask(t, d.h, method, "orderId", id, token).want(t, 405, "METHOD_NOT_ALLOWED")
	}
	for _, event := range []string{``, `{}`, `null`, `""`, `{"eventSource":"aws:kafka","records":{}}`} {
		if answer, err := d.h.Invoke(t.Context(), []byte(event)); err == nil {
			t.Errorf("event %q: got %s, want an error of the function", event, answer)
		}
	}
}

// TestServersAway asks while one server is away. What is known is still said,
// what is not known is 503 and never 404.
func TestServersAway(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 5)
	item, inSale := fields(sl, 0)
	asked := fmt.Sprint(sl.ID)
	held, written := d.Reserve(t, sl, 0, "u1"), d.Place(sl, 0, "u2")
	d.Write(t, written)
	row := d.Row(t, written.OrderID)

	away := func(change func(h *orderstatus.Handler)) *desk {
		broken := *d.h
		change(&broken)
		return &desk{d.Shop, &broken}
	}
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		d := away(func(h *orderstatus.Handler) {
			shelf := shoptest.OpenShelf(t, "redis://127.0.0.1:1")
			h.Stock, h.Catalog = shelf.Stock, stock.NewCatalog(shelf.Stock, time.Now)
		})
		body := view(written.OrderID, "PENDING", item, inSale, payBy(row), `"payable":true`)
		d.status(t, written.OrderID, "u2").want(t, 200, body)
		d.mine(t, asked, "u2").want(t, 200, body)
		d.status(t, held.OrderID, "u1").want(t, 200, view(held.OrderID, "PENDING", inSale, `"payable":false`))
		d.mine(t, asked, "u1").want(t, 503, "TRY_AGAIN")
		d.status(t, held.OrderID, "u3").want(t, 503, "TRY_AGAIN")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		d := away(func(h *orderstatus.Handler) {
			pool := shoptest.Pool(t, "postgres://127.0.0.1:1/none")
			h.Orders = order.New(pool)
		})
		body := view(held.OrderID, "PENDING", item, inSale, `"payable":false`)
		d.status(t, held.OrderID, "u1").want(t, 200, body)
		d.mine(t, asked, "u1").want(t, 200, body)
		a := d.status(t, written.OrderID, "u2")
		a.want(t, 503, "TRY_AGAIN")
		if a.Headers["Retry-After"] != "1" {
			t.Errorf("Retry-After: got %q, want 1", a.Headers["Retry-After"])
		}
		d.mine(t, asked, "u2").want(t, 503, "TRY_AGAIN")
	})
	t.Run("identity provider", func(t *testing.T) {
		t.Parallel()
		d := away(func(h *orderstatus.Handler) {
			keys := identity.FetchedKeys("http://127.0.0.1:1/", time.Minute, time.Now)
			h.Shoppers = identity.NewVerifier(keys, identitytest.Issuer, identitytest.Audience, time.Minute, time.Now)
		})
		d.status(t, written.OrderID, "u2").want(t, 503, "TRY_AGAIN")
	})
}
