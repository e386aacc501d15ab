package shop_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/localstack/dev/shop"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
	"flashsale/shared/telemetry/telemetrytest"
)

// A page is what functions write on, several at once.
type page struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *page) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

func (p *page) read() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.text.Bytes())
}

// request is API Gateway's event.
func request(method, resource string, params, headers map[string]string, body string) map[string]any {
	path := resource
	for name, value := range params {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	return map[string]any{
		"httpMethod": method, "path": path, "resource": resource, "pathParameters": params, "headers": headers, "body": body,
		"requestContext": map[string]any{"requestId": "r1", "identity": map[string]any{"sourceIp": "203.0.113.99"}},
	}
}

// asked is what a caller's answer says.
type asked struct {
	Status int    `json:"statusCode"`
	Body   string `json:"body"`
}

// ask calls a function of the API.
func (w *world) ask(function string, event map[string]any) asked {
	w.t.Helper()
	var a asked
	if err := w.Call(w.t.Context(), function, event, &a); err != nil {
		w.t.Fatalf("%s: %v", function, err)
	}
	return a
}

// told is a world whose log and figures are kept, all that can be said of each: level debug.
func openTold(t *testing.T) (w *world, log, figures *page) {
	t.Helper()
	log, figures = new(page), new(page)
	w = open(t, 2, func(cfg *shop.Config) {
		cfg.Log, cfg.Figures = telemetry.NewLogger(log, slog.LevelDebug), figures
	})
	return w, log, figures
}

// drive calls every function, rightly and wrongly, with what marks its shopper.
func (w *world) drive(mark string) {
	w.t.Helper()
	buyer := w.shopper(mark + "-buyer")
	bearer := func(token string) map[string]string {
		return map[string]string{
			"Authorization": "Bearer " + token, "Idempotency-Key": mark + "-key", "X-Admission-Pass": mark + "-pass",
			"User-Agent": mark + "-agent", "Cookie": mark + "-cookie", "X-Amzn-Trace-Id": mark + "-trace",
		}
	}
	const buy, status, mine = "/api/flash-sales/items/{itemId}/purchase", "/api/flash-sales/orders/{orderId}", "/api/flash-sales/{saleId}/my-order"
	item := map[string]string{"itemId": strconv.FormatInt(int64(w.sale.Items[0].ID), 10)}
	id := map[string]string{"saleId": strconv.FormatUint(uint64(w.sale.ID), 10)}
	forged := buyer.token[:len(buyer.token)-4] + "AAAA"
	for _, headers := range []map[string]string{
		bearer(buyer.token), bearer(buyer.token), bearer(forged), bearer(mark + ".not.a-token"), {"Authorization": mark}, nil,
	} {
		w.ask("purchase", request(http.MethodPost, buy, item, headers, mark))
		w.ask("orderstatus", request(http.MethodGet, mine, id, headers, ""))
		w.ask("orderstatus", request(http.MethodGet, status, map[string]string{"orderId": mark}, headers, ""))
		w.ask("saleinfo", request(http.MethodPost, "/api/flash-sales/{saleId}/admission", id, headers, ""))
		w.ask("saleinfo", request(http.MethodGet, "/api/flash-sales/{saleId}", map[string]string{"saleId": mark}, headers, ""))
		w.ask("payment", request(http.MethodPost, "/api/flash-sales/payments", nil, map[string]string{
			"webhook-id": mark + "-webhook", "webhook-timestamp": strconv.FormatInt(time.Now().Unix(), 10), "webhook-signature": "v1," + mark,
		}, `{"type":"payment.succeeded","data":{"customer":"`+mark+`"}}`))
	}
	w.ask("purchase", request(http.MethodPost, buy, map[string]string{"itemId": mark}, bearer(buyer.token), ""))

	// Records: good, of nobody's item, unreadable, and one that names a shopper and cannot be used.
	good := sale.Placed{
		OrderID: w.mint.New(w.sale.ID, mark+"-writer"), SaleID: w.sale.ID, ItemID: w.sale.Items[0].ID, UserID: mark + "-writer", ReservedAt: time.Now(),
	}
	stray := good
	stray.ItemID++
	var records []orderlog.Record
	for i, value := range [][]byte{
		orderlog.Encode(good), orderlog.Encode(good), orderlog.Encode(stray), []byte(mark), []byte(`{"v":1,"userId":"` + mark + `"}`),
		bytes.Replace(orderlog.Encode(good), []byte(`"v":1`), []byte(`"v":99`), 1),
		bytes.Replace(orderlog.Encode(good), []byte(mark+"-writer"), []byte(mark+`\u0000`), 1),
	} {
		records = append(records, orderlog.Record{Topic: w.orders, Offset: int64(i), Timestamp: time.Now(), Value: value})
	}
	event := orderlog.EncodeBatch(records)
	if _, err := w.Functions()["orderwriter"](w.t.Context(), event); err != nil {
		w.t.Fatal(err)
	}
	var answer map[string]any
	for _, name := range []string{"expirer", "stockkeeper"} {
		if err := w.Call(w.t.Context(), name, map[string]int{"passes": 1}, &answer); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, request := range []map[string]any{
		{"action": "explain", "saleId": w.sale.ID, "userId": mark + "-buyer"},
		{"action": "explain", "saleId": w.sale.ID, "userId": mark + "\x00"},
		{"action": "report", "saleId": w.sale.ID},
		{"action": "export", "saleId": w.sale.ID, "what": "orders"},
		{"action": "redrive", "saleId": w.sale.ID},
	} {
		if err := w.Call(w.t.Context(), "saleadmin", request, &answer); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestLogsNameNoShopper looks for the mark in all that was logged and told, at the most
// talkative level. Orders' ids may stand there: they say nothing of the shopper.
func TestLogsNameNoShopper(t *testing.T) {
	t.Parallel()
	w, log, figures := openTold(t)
	const mark = "marked7x"
	w.drive(mark)
	lines := bytes.Split(bytes.TrimSpace(log.read()), []byte("\n"))
	if len(lines) < 30 {
		t.Errorf("%d lines in the log, want one for each call at least", len(lines))
	}
	for _, line := range append(lines, bytes.Split(figures.read(), []byte("\n"))...) {
		for _, private := range []string{mark, "203.0.113.99", "eyJ"} {
			if bytes.Contains(bytes.ToLower(line), []byte(strings.ToLower(private))) {
				t.Errorf("%q stands in %s", private, line)
			}
		}
	}
}

// TestFiguresOfTheShop counts what the functions were asked.
func TestFiguresOfTheShop(t *testing.T) {
	t.Parallel()
	w, _, figures := openTold(t)
	w.drive("u")
	time.Sleep(1100 * time.Millisecond) // the counts of the last second are due with the next call
	w.ask("purchase", request(http.MethodPost, "/", map[string]string{"itemId": "1"}, nil, ""))
	sums := telemetrytest.Sums(telemetrytest.Read(t, figures.read()))
	for key, want := range map[string]float64{
		"Function=purchase Outcome=ACCEPTED Purchases":     2, // the second by its Idempotency-Key
		"Function=purchase Outcome=UNKNOWN_ITEM Purchases": 1,
		"Function=orderwriter WriterBatch":                 7,
		"Function=expirer Expired":                         0,
		"Function=expirer Released":                        0,
		"Function=stockkeeper Conserved":                   1,
		"Function=stockkeeper RefundsDue":                  0,
	} {
		if got, ok := sums[key]; !ok || got != want {
			t.Errorf("%s: got %v, %t, want %v", key, got, ok, want)
		}
	}
	for _, key := range []string{
		"Function=purchase Latency", "Function=orderstatus Outcome=OK Requests", "Function=payment Outcome=UNAUTHENTICATED Requests",
		"Function=stockkeeper DeadLetters", "Function=stockkeeper WriterLag", "Function=stockkeeper Unconfirmed",
	} {
		if _, ok := sums[key]; !ok {
			t.Errorf("%s was not told; told was %v", key, fmt.Sprint(sums))
		}
	}
	if got := w.Purchases()["ACCEPTED"]; got != 2 {
		t.Errorf("purchases: %d accepted, want 2", got)
	}
}
