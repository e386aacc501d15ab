package main_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// sells buys the only unit through HTTP and follows the order until it is payable.
func sells(t *testing.T, d *dev, saleID uint32, itemID int64) {
	t.Helper()
	buy := fmt.Sprintf("/api/flash-sales/items/%d/purchase", itemID)
	winner := d.login(t, "winner")
	status, bought := d.call(t, http.MethodPost, buy, winner, "")
	orderID, _ := bought["orderId"].(string)
	if status != http.StatusAccepted || bought["status"] != "PENDING" || orderID == "" {
		t.Fatalf("purchase: %d %v, want 202", status, bought)
	}
	var order map[string]any
	for deadline := time.Now().Add(30 * time.Second); order["payable"] != true; time.Sleep(50 * time.Millisecond) {
		if status, order = d.call(t, http.MethodGet, "/api/flash-sales/orders/"+orderID, winner, ""); status != http.StatusOK {
			t.Fatalf("status: %d %v", status, order)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the order is never payable: %v, stderr: %s", order, d.stderr)
		}
	}
	if status, again := d.call(t, http.MethodPost, buy, winner, ""); status != http.StatusConflict || again["orderId"] != orderID {
		t.Errorf("again: %d %v, want 409 with %s", status, again, orderID)
	}
	if status, late := d.call(t, http.MethodPost, buy, d.login(t, "late"), ""); status != http.StatusGone || late["error"] != "SOLD_OUT" {
		t.Errorf("late: %d %v, want 410 SOLD_OUT", status, late)
	}
	mine := fmt.Sprintf("/api/flash-sales/%d/my-order", saleID)
	if status, own := d.call(t, http.MethodGet, mine, winner, ""); status != http.StatusOK || own["orderId"] != orderID {
		t.Errorf("my order: %d %v", status, own)
	}
	report := fmt.Sprintf(`{"action":"report","saleId":%d}`, saleID)
	status, seen := d.call(t, http.MethodPost, "/2015-03-31/functions/saleadmin/invocations", "", report)
	items, _ := seen["items"].([]any)
	if status != http.StatusOK || len(items) != 1 {
		t.Fatalf("report: %d %v", status, seen)
	}
	if item, _ := items[0].(map[string]any); item["sold"] != 1.0 || item["stock"] != 0.0 {
		t.Errorf("report: %v, want one sold and none left", item)
	}
}

// answers checks what the server answers besides a purchase.
func answers(t *testing.T, d *dev, saleID uint32) {
	t.Helper()
	for _, test := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/healthz", 200, `"ok"`},
		{"GET", "/config.json", 200, fmt.Sprintf(`"saleId":%d`, saleID)},
		{"GET", "/dev/jwks.json", 200, `"ES256"`},
		{"GET", "/", 200, "<!doctype html>"},
		{"GET", "/app.js", 200, "config.json"},
		{"GET", "/style.css", 200, "body"},
		{"GET", fmt.Sprintf("/api/flash-sales/%d", saleID), 200, `"purchaseUrl"`},
		{"OPTIONS", fmt.Sprintf("/api/flash-sales/%d", saleID), 204, ""},
		{"GET", "/web.go", 404, `"NOT_FOUND"`},
		{"POST", "/", 404, `"NOT_FOUND"`},
		{"GET", "/api/nothing", 404, `"NOT_FOUND"`},
		{"GET", "//api", 404, `"NOT_FOUND"`},
		{"GET", "/api/flash-sales/%2F", 404, `"UNKNOWN_SALE"`},
		{"GET", "/api/flash-sales/%00", 404, `"UNKNOWN_SALE"`},
		{"PUT", fmt.Sprintf("/api/flash-sales/%d", saleID), 405, `"METHOD_NOT_ALLOWED"`},
		{"GET", "/api/flash-sales/orders/x", 401, `"UNAUTHENTICATED"`},
		{"POST", "/2015-03-31/functions/nobody/invocations", 404, "Function not found"},
		{"POST", "/2015-03-31/functions/expirer/invocations", 200, `"errorMessage"`},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, d.url+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if test.method == http.MethodOptions { // as a browser asks before a call from another page
			request.Header.Set("Origin", "https://shop.example")
			request.Header.Set("Access-Control-Request-Method", http.MethodGet)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatalf("%s %s: %v", test.method, test.path, err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != test.status || !strings.Contains(string(body), test.want) {
			t.Errorf("%s %s: %d %s, want %d with %s", test.method, test.path, response.StatusCode, body, test.status, test.want)
		}
		policy := response.Header.Get("Content-Security-Policy")
		if test.path == "/" && test.status == http.StatusOK && !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("the page's policy is %q", policy)
		}
	}
}
