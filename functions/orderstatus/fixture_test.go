package orderstatus_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"flashsale/functions/orderstatus"
	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/apigw"
	"flashsale/shared/identity/identitytest"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

var provider = identitytest.New()

// A desk is the handler under test with what stands behind it.
type desk struct {
	*shoptest.Shop
	h *orderstatus.Handler
}

func open(t *testing.T) *desk {
	t.Helper()
	shop := shoptest.OpenShop(t, servers.RedisURL(t), servers.Database(t, migrations.Hash(), shoptest.Migrate))
	return &desk{shop, &orderstatus.Handler{
		Catalog: stock.NewCatalog(shop.Stock, time.Now), Stock: shop.Stock, Orders: shop.Orders,
		Shoppers: provider.Verifier(t), Mint: shop.Mint, Edge: apigw.Edge{Log: slog.New(slog.DiscardHandler)}, Now: shop.Now,
	}}
}

type answer struct {
	Status  int               `json:"statusCode"`
	Headers map[string]string `json:"headers"`
	Text    string            `json:"body"`
}

// get asks for the path; its parameter has that name.
func get(t *testing.T, h *orderstatus.Handler, parameter, value, bearer string) answer {
	t.Helper()
	return ask(t, h, "GET", parameter, value, bearer)
}

func ask(t *testing.T, h *orderstatus.Handler, method, parameter, value, bearer string) answer {
	t.Helper()
	headers := map[string]string{}
	if bearer != "" {
		headers["Authorization"] = "Bearer " + bearer
	}
	event, err := json.Marshal(map[string]any{
		"httpMethod": method, "path": "/api/flash-sales/x", "headers": headers,
		"pathParameters": map[string]string{parameter: value}, "requestContext": map[string]any{"requestId": "r1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := h.Invoke(t.Context(), event)
	if err != nil {
		t.Fatalf("invoke: %v", err)
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("answer %s: %v", text, err)
	}
	return a
}

func (d *desk) status(t *testing.T, id sale.OrderID, user string) answer {
	t.Helper()
	return get(t, d.h, "orderId", id.String(), provider.Token(user))
}

func (d *desk) mine(t *testing.T, saleID, user string) answer {
	t.Helper()
	return get(t, d.h, "saleId", saleID, provider.Token(user))
}

// want checks the status and the whole body; for a refusal its code.
func (a answer) want(t *testing.T, status int, body string) {
	t.Helper()
	got := a.Text
	if status >= 400 {
		var refusal struct{ Error string }
		if err := json.Unmarshal([]byte(a.Text), &refusal); err != nil {
			t.Fatalf("body %s: %v", a.Text, err)
		}
		got = refusal.Error
	}
	if a.Status != status || got != body {
		t.Errorf("answer: got %d %s, want %d %s", a.Status, a.Text, status, body)
	}
}

// view is the body of a 200: the fields as they come.
func view(id sale.OrderID, status string, more ...string) string {
	return `{"orderId":"` + id.String() + `","status":"` + status + `",` + strings.Join(more, ",") + `}`
}
