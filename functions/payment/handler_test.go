package payment_test

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/shared/config"
	"flashsale/shared/order"
	"flashsale/shared/sale"
	"flashsale/shared/webhook"
)

func TestPaid(t *testing.T) {
	t.Parallel()
	d := open(t, config.StandardWebhooks)
	p := d.order(t, "ann")
	text := body(p.OrderID, nil)
	d.send(t, "m1", body(p.OrderID, map[string]any{"type": "payment.failed"})).want(t, 204, "")
	// No money has moved, so the provider need not name any.
	d.send(t, "m0", body(p.OrderID, map[string]any{"type": "payment.failed", ".amount": nil, ".currency": nil})).want(t, 204, "")
	d.WantRow(t, p.OrderID, order.Pending, "")
	d.send(t, "m2", text).want(t, 204, "")
	d.WantRow(t, p.OrderID, order.Paid, "")
	d.send(t, "m2", text).want(t, 204, "")
	d.send(t, "m3", text).want(t, 204, "")
	report, err := d.Orders.Report(t.Context(), p.SaleID)
	if err != nil || report.Items[0].RefundsDue != 0 || report.Items[0].Sold != 1 {
		t.Errorf("report: got %+v, %v, want one sold and no refund", report, err)
	}
	d.send(t, "m4", body(p.OrderID, nil)).want(t, 204, "")
	if report, err = d.Orders.Report(t.Context(), p.SaleID); err != nil || report.Items[0].RefundsDue != 1 {
		t.Errorf("report after a second payment: got %+v, %v, want a refund due", report, err)
	}
	if strings.Contains(d.log.String(), "19.99") || !strings.Contains(d.log.String(), "refund due") {
		t.Errorf("log: %s, want the refund and no body", d.log)
	}
}

// The golden event is what API Gateway hands over; its signature was made by
// another implementation.
func TestGoldenEvent(t *testing.T) {
	t.Parallel()
	event, err := os.ReadFile("testdata/webhook.json")
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, config.StandardWebhooks)
	d.h.Now = func() time.Time { return time.Unix(1764266400, 0) }
	d.invoke(t, event).want(t, 204, "")
	id, err := sale.ParseOrderID("019ac6b7-9d00-8abc-8000-0001c0000001")
	if err != nil {
		t.Fatal(err)
	}
	var webhookID, paymentID, outcome, currency string
	var minor int64
	err = d.Pool.QueryRow(t.Context(), `
		SELECT webhook_id, payment_id, amount_minor, currency, outcome FROM payment WHERE order_id = $1`, id.String()).
		Scan(&webhookID, &paymentID, &minor, &currency, &outcome)
	got := fmt.Sprint(webhookID, " ", paymentID, " ", minor, " ", currency, " ", outcome, err)
	if want := "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W pay_1 1999 EUR refund_due<nil>"; got != want {
		t.Errorf("stored: got %s, want %s", got, want)
	}
	d.h.Now = func() time.Time { return time.Unix(1764266400+301, 0) }
	d.invoke(t, event).want(t, 401, "UNAUTHENTICATED")
}

func TestBase64(t *testing.T) {
	t.Parallel()
	d := open(t, config.StandardWebhooks)
	p := d.order(t, "ann")
	text := body(p.OrderID, nil)
	headers := d.scheme.Sign("m1", time.Now(), []byte(text))
	d.deliver(t, headers, base64.StdEncoding.EncodeToString([]byte(text)), false).want(t, 401, "UNAUTHENTICATED")
	d.deliver(t, headers, "no base64", true).want(t, 400, "BAD_REQUEST")
	d.WantRow(t, p.OrderID, order.Pending, "")
	d.deliver(t, headers, base64.StdEncoding.EncodeToString([]byte(text)), true).want(t, 204, "")
	d.WantRow(t, p.OrderID, order.Paid, "")
}

func TestStripe(t *testing.T) {
	t.Parallel()
	d := open(t, config.StripeWebhooks)
	p := d.order(t, "ann")
	text := body(p.OrderID, map[string]any{"id": "evt_1"})
	d.send(t, "", text).want(t, 204, "")
	d.WantRow(t, p.OrderID, order.Paid, "")
	d.send(t, "", text).want(t, 204, "")
	d.send(t, "", body(p.OrderID, nil)).want(t, 400, "BAD_REQUEST") // no id
	var n int
	if err := d.Pool.QueryRow(t.Context(), `SELECT count(*) FROM payment WHERE webhook_id = 'evt_1'`).Scan(&n); err != nil || n != 1 {
		t.Errorf("stored: got %d, %v, want evt_1 once", n, err)
	}
	standard, err := webhook.New(config.Webhook{Secrets: []config.Secret{secret}, Signature: config.StandardWebhooks})
	if err != nil {
		t.Fatal(err)
	}
	d.deliver(t, standard.Sign("m1", time.Now(), []byte(text)), text, false).want(t, 401, "UNAUTHENTICATED")
}

func TestRefused(t *testing.T) {
	t.Parallel()
	d := open(t, config.StandardWebhooks)
	p := d.order(t, "ann")
	good := body(p.OrderID, nil)
	t.Run("signatures", func(t *testing.T) {
		signed := d.scheme.Sign("m1", d.Now(), []byte(good))
		d.deliver(t, nil, good, false).want(t, 401, "UNAUTHENTICATED")
		d.deliver(t, signed, strings.Replace(good, "19.99", "0.01", 1), false).want(t, 401, "UNAUTHENTICATED")
		d.deliver(t, d.scheme.Sign("m1", d.Now().Add(-6*time.Minute), []byte(good)), good, false).want(t, 401, "UNAUTHENTICATED")
		d.deliver(t, d.scheme.Sign("m1", d.Now().Add(6*time.Minute), []byte(good)), good, false).want(t, 401, "UNAUTHENTICATED")
	})
	for name, text := range map[string]string{
		"empty":               ``,
		"no JSON":             `{`,
		"two values":          good + good,
		"no object":           `[]`,
		"null":                `null`,
		"not UTF-8":           strings.Replace(good, "pay_", "pay_\xff", 1),
		"unknown type":        body(p.OrderID, map[string]any{"type": "payment.created"}),
		"no type":             body(p.OrderID, map[string]any{"type": nil}),
		"time is no time":     body(p.OrderID, map[string]any{"timestamp": "yesterday"}),
		"no data":             body(p.OrderID, map[string]any{"data": nil}),
		"no payment":          body(p.OrderID, map[string]any{".paymentId": nil}),
		"payment too long":    body(p.OrderID, map[string]any{".paymentId": strings.Repeat("x", 256)}),
		"payment with a NUL":  body(p.OrderID, map[string]any{".paymentId": "a\x00"}),
		"no order":            body(p.OrderID, map[string]any{".orderId": nil}),
		"order is no id":      body(p.OrderID, map[string]any{".orderId": "x"}),
		"order of version 4":  body(p.OrderID, map[string]any{".orderId": "5f0c6a3e-1d2b-4c3d-8e4f-001122334455"}),
		"amount is a number":  body(p.OrderID, map[string]any{".amount": 19.99}),
		"no amount":           body(p.OrderID, map[string]any{".amount": nil}),
		"amount is zero":      body(p.OrderID, map[string]any{".amount": "0.00"}),
		"amount below zero":   body(p.OrderID, map[string]any{".amount": "-19.99"}),
		"amount with a comma": body(p.OrderID, map[string]any{".amount": "19,99"}),
		"too many decimals":   body(p.OrderID, map[string]any{".amount": "19.990"}),
		"amount in powers":    body(p.OrderID, map[string]any{".amount": "1e1"}),
		"no currency":         body(p.OrderID, map[string]any{".currency": nil}),
		"unknown currency":    body(p.OrderID, map[string]any{".currency": "EURO"}),
		"currency lower case": body(p.OrderID, map[string]any{".currency": "eur"}),
	} {
		t.Run(name, func(t *testing.T) { d.send(t, "m-"+name, text).want(t, 400, "BAD_REQUEST") })
	}
	t.Run("event id too long", func(t *testing.T) { d.send(t, strings.Repeat("m", 256), good).want(t, 400, "BAD_REQUEST") })
	t.Run("other method", func(t *testing.T) {
		d.invoke(t, []byte(`{"httpMethod":"GET","path":"/","requestContext":{"requestId":"r"}}`)).want(t, 405, "METHOD_NOT_ALLOWED")
	})
	var n int
	if err := d.Pool.QueryRow(t.Context(), `SELECT count(*) FROM payment`).Scan(&n); err != nil || n != 0 {
		t.Errorf("stored: got %d, %v, want nothing", n, err)
	}
	d.WantRow(t, p.OrderID, order.Pending, "")
}

// Nothing of a payment that comes too early is kept, so its repetition counts.
func TestNotWrittenYet(t *testing.T) {
	t.Parallel()
	d := open(t, config.StandardWebhooks)
	sl := d.Sale(10)
	d.Create(t, sl)
	p := d.Place(sl, 0, "ann")
	text := body(p.OrderID, map[string]any{"timestamp": nil})
	d.send(t, "m1", text).want(t, 503, "TRY_AGAIN")
	d.Write(t, p)
	d.send(t, "m1", text).want(t, 204, "")
	d.WantRow(t, p.OrderID, order.Paid, "")

	never := d.Place(sl, 0, "bob")
	text = body(never.OrderID, nil)
	d.send(t, "m2", text).want(t, 503, "TRY_AGAIN")
	d.Passes(16 * time.Minute)
	d.send(t, "m2", text).want(t, 204, "")
	report, err := d.Orders.Report(t.Context(), sl.ID)
	if err != nil || report.RefundsDueUnknown != 1 {
		t.Errorf("report: got %+v, %v, want one unknown refund", report, err)
	}
}

// A provider may send one event many times at once.
func TestDeliveredAtOnce(t *testing.T) {
	t.Parallel()
	d := open(t, config.StandardWebhooks)
	p := d.order(t, "ann")
	text := body(p.OrderID, nil)
	headers := d.scheme.Sign("m1", time.Now(), []byte(text))
	d.h.Edge.Log = slog.New(slog.DiscardHandler)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { d.deliver(t, headers, text, false).want(t, 204, "") })
	}
	group.Wait()
	d.WantRow(t, p.OrderID, order.Paid, "")
	var n int
	if err := d.Pool.QueryRow(t.Context(), `SELECT count(*) FROM order_event WHERE kind <> 'placed'`).Scan(&n); err != nil || n != 1 {
		t.Errorf("events: got %d, %v, want one", n, err)
	}
}

// The database is away: unknown, never a 2xx.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	d := open(t, config.StandardWebhooks)
	p := d.order(t, "ann")
	d.Pool.Close()
	d.send(t, "m1", body(p.OrderID, nil)).want(t, 503, "TRY_AGAIN")
}

// Whatever a signed body says, it is 204, 400 or 503, and the function lives.
func FuzzBody(f *testing.F) {
	id, err := sale.ParseOrderID("019ac6b7-9d00-8abc-8000-0001c0000001")
	if err != nil {
		f.Fatal(err)
	}
	d := open(f, config.StandardWebhooks)
	for _, seed := range []string{body(id, nil), `{"data":null}`, `{"type":1}`, ``, `{"type":"payment.failed","data":{"amount":"1e9"}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		switch a := d.send(t, "m-"+rand.Text(), text); a.Status {
		case 204, 400, 503:
		default:
			t.Errorf("%q: got %d %s", text, a.Status, a.Body)
		}
	})
}
