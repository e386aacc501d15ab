package target_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"flashsale/localstack/dev/gateway"
	"flashsale/localstack/dev/lambda"
	"flashsale/localstack/dev/shop"
	"flashsale/localstack/stampede/crowd"
	"flashsale/localstack/stampede/target"
)

var calls = []crowd.Call{
	{Action: crowd.Purchase, ID: "1001", Token: "a.token.here", Key: "a key"},
	{Action: crowd.Purchase, ID: "1001", Token: "a.token.here", Key: "a key", Pass: "a-pass.of_it"},
	{Action: crowd.Admission, ID: "7", Token: "a.token.here"},
	{Action: crowd.Status, ID: "01a22897-b9e8-8427-85fa-c695840bd93d", Token: "b.token.x"},
	{Action: crowd.Cancel, ID: "01a22897-b9e8-8427-85fa-c695840bd93d", Token: "b.token.x"},
	{Action: crowd.MyOrder, ID: "7", Token: "c.token.y"},
}

// heard is the last event of a function.
type heard struct {
	function string
	event    map[string]any
}

func listeners(t *testing.T, h *heard, answer string) map[string]lambda.Invoke {
	t.Helper()
	functions := map[string]lambda.Invoke{}
	for _, route := range shop.Routes {
		functions[route.Function] = func(_ context.Context, event []byte) ([]byte, error) {
			*h = heard{function: route.Function}
			if err := json.Unmarshal(event, &h.event); err != nil {
				t.Errorf("%s: the event is no JSON: %v", route.Function, err)
			}
			return []byte(answer), nil
		}
	}
	return functions
}

// The events of a direct call are those that the gateway makes of the same request.
func TestDirectEvents(t *testing.T) {
	t.Parallel()
	var got, want heard
	direct, err := target.NewDirect(listeners(t, &got, `{"statusCode":200,"body":"{}"}`))
	if err != nil {
		t.Fatal(err)
	}
	api := gateway.New(shop.Routes, listeners(t, &want, `{"statusCode":200,"body":"{}"}`), slog.New(slog.DiscardHandler))
	for _, c := range calls {
		first := ask(direct, c, &got)
		if again := ask(direct, c, &got); first == again {
			t.Errorf("%s: two calls have the same request id %v", c.Action.Path(c.ID), first)
		}
		request := httptest.NewRequestWithContext(t.Context(), c.Action.Method(), c.Action.Path(c.ID), http.NoBody)
		request.Header.Set("Authorization", "Bearer "+c.Token)
		if c.Key != "" {
			request.Header.Set("Idempotency-Key", c.Key)
		}
		if c.Pass != "" {
			request.Header.Set("X-Admission-Pass", c.Pass)
		}
		api.ServeHTTP(httptest.NewRecorder(), request)
		smooth(got.event)
		smooth(want.event)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%v\nwant\n%v", c.Action.Path(c.ID), got, want)
		}
	}
}

func ask(direct *target.Direct, c crowd.Call, got *heard) any {
	direct.Answer(context.Background(), c)
	context, _ := got.event["requestContext"].(map[string]any)
	return context["requestId"]
}

// smooth takes out what differs from call to call.
func smooth(event map[string]any) {
	context, _ := event["requestContext"].(map[string]any)
	for _, name := range []string{"requestId", "extendedRequestId", "requestTime", "requestTimeEpoch"} {
		delete(context, name)
	}
	for _, name := range []string{"headers", "multiValueHeaders"} {
		headers, _ := event[name].(map[string]any)
		delete(headers, "X-Amzn-Trace-Id")
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		proxy string
		want  crowd.Answer
	}{
		"202":      {`{"statusCode":202,"headers":{"Retry-After":"1"},"body":"{\"orderId\":\"o\",\"status\":\"PENDING\"}"}`, crowd.Answer{Code: 202, RetryAfter: time.Second, OrderID: "o", Status: "PENDING"}},
		"410":      {`{"statusCode":410,"headers":{},"body":"{\"error\":\"SOLD_OUT\"}"}`, crowd.Answer{Code: 410, Error: "SOLD_OUT"}},
		"status":   {`{"statusCode":200,"body":"{\"orderId\":\"o\",\"status\":\"PAID\",\"itemId\":1,\"saleId\":2,\"payable\":true}"}`, crowd.Answer{Code: 200, OrderID: "o", Status: "PAID", ItemID: 1, SaleID: 2, Payable: true}},
		"a pass":   {`{"statusCode":200,"body":"{\"pass\":\"p\",\"notBefore\":\"2026-12-01T18:00:00Z\"}"}`, crowd.Answer{Code: 200, Pass: "p", NotBefore: time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC)}},
		"a page":   {`{"statusCode":200,"body":"<html>"}`, crowd.Answer{Code: 200}},
		"no proxy": {`{"orderId":"o"}`, crowd.Answer{Code: 502}},
		"no JSON":  {`oops`, crowd.Answer{Code: 502}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct, err := target.NewDirect(listeners(t, new(heard), test.proxy))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second may be remembered
				if got := direct.Answer(t.Context(), calls[0]); got != test.want {
					t.Errorf("got %+v, want %+v", got, test.want)
				}
			}
			// The same function behind HTTP says the same, but for what is no answer of a function at all.
			server := httptest.NewServer(gateway.New(shop.Routes, listeners(t, new(heard), test.proxy), slog.New(slog.DiscardHandler)))
			t.Cleanup(server.Close)
			got := target.NewHTTP(server.URL+"/", 1).Answer(t.Context(), calls[0])
			if test.want.Code == 502 {
				test.want.Error = "INTERNAL"
			}
			if got != test.want {
				t.Errorf("HTTP: got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "moved"):
			http.Redirect(w, r, "/api/flash-sales/orders/other", http.StatusFound)
		case strings.Contains(r.URL.Path, "gone"):
			panic(http.ErrAbortHandler)
		case strings.Contains(r.URL.Path, "declined"):
			_, _ = w.Write([]byte(`{"status":401,"body":""}`))
		case strings.Contains(r.URL.Path, "paid"):
			_, _ = w.Write([]byte(`{"status":204,"body":""}`))
		default:
			w.Header().Set("Retry-After", "x")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)
	h := target.NewHTTP(server.URL, 2)
	for id, want := range map[string]crowd.Answer{"moved": {Code: 302}, "gone": {}, "busy": {Code: 503}} {
		if got := h.Answer(t.Context(), crowd.Call{Action: crowd.Status, ID: id}); got != want {
			t.Errorf("%s: got %+v, want %+v", id, got, want)
		}
	}
	pay := h.Pay(server.URL + "/pay/{orderId}")
	for id, want := range map[string]bool{"paid": true, "declined": false, "gone": false, "busy": false} {
		if got := pay(t.Context(), id); got != want {
			t.Errorf("pay %s: got %t, want %t", id, got, want)
		}
	}
}
