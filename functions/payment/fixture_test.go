package payment_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"flashsale/functions/payment"
	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/apigw"
	"flashsale/shared/config"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/webhook"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// A till is the handler under test with the shop behind it.
type till struct {
	*shoptest.Shop
	h      *payment.Handler
	scheme *webhook.Scheme
	log    *bytes.Buffer
}

func open(t testing.TB, signature string) *till {
	t.Helper()
	shop := shoptest.OpenShop(t, servers.RedisURL(t), servers.Database(t, migrations.Hash(), shoptest.Migrate))
	scheme, err := webhook.New(config.Webhook{Secrets: []config.Secret{secret}, Signature: signature, Tolerance: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	h := &payment.Handler{Orders: shop.Orders, Scheme: scheme, Edge: apigw.Edge{Log: logger}, Now: shop.Now}
	return &till{shop, h, scheme, &log}
}

// order writes one of a fresh sale.
func (d *till) order(t testing.TB, userID string) sale.Placed {
	t.Helper()
	sl := d.Sale(10)
	d.Create(t, sl)
	p := d.Place(sl, 0, userID)
	d.Write(t, p)
	return p
}

// body is an event's; more fields replace the usual ones, those of data with a dot before.
func body(orderID sale.OrderID, more map[string]any) string {
	data := map[string]any{"paymentId": "pay_" + rand.Text(), "orderId": orderID, "amount": "19.99", "currency": "EUR"}
	event := map[string]any{"type": "payment.succeeded", "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "data": data}
	for name, value := range more {
		into := event
		if inner, dotted := strings.CutPrefix(name, "."); dotted {
			name, into = inner, data
		}
		if into[name] = value; value == nil {
			delete(into, name)
		}
	}
	text, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	return string(text)
}

type answer struct {
	Status int    `json:"statusCode"`
	Body   string `json:"body"`
}

// send signs the body and delivers it, as base64 if JSON cannot carry it.
func (d *till) send(t testing.TB, id, text string) answer {
	t.Helper()
	headers := d.scheme.Sign(id, d.Now(), []byte(text))
	if utf8.ValidString(text) {
		return d.deliver(t, headers, text, false)
	}
	return d.deliver(t, headers, base64.StdEncoding.EncodeToString([]byte(text)), true)
}

func (d *till) deliver(t testing.TB, headers map[string]string, text string, base64ed bool) answer {
	t.Helper()
	event, err := json.Marshal(map[string]any{
		"httpMethod": "POST", "path": "/api/flash-sales/payments", "headers": headers, "body": text,
		"isBase64Encoded": base64ed, "requestContext": map[string]any{"requestId": "r1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d.invoke(t, event)
}

func (d *till) invoke(t testing.TB, event []byte) answer {
	t.Helper()
	text, err := d.h.Invoke(t.Context(), event)
	if err != nil {
		t.Fatalf("invoke: %v", err)
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("answer %s: %v", text, err)
	}
	return a
}

// want checks the status and a refusal's code; 204 has no body.
func (a answer) want(t testing.TB, status int, code string) {
	t.Helper()
	if a.Status != status || code == "" && a.Body != "" || code != "" && !strings.Contains(a.Body, `"error":"`+code+`"`) {
		t.Errorf("answer: got %d %s, want %d %s", a.Status, a.Body, status, code)
	}
}
