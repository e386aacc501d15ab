package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/localstack/dev/gateway"
	"flashsale/localstack/dev/lambda"
)

var update = flag.Bool("update", false, "write the golden events anew")

var routes = []gateway.Route{
	{Method: "POST", Resource: "/api/flash-sales/items/{itemId}/purchase", Function: "purchase", Timeout: 50 * time.Millisecond},
	{Method: "GET", Resource: "/api/flash-sales/orders/{orderId}", Function: "echo"},
	{Method: "DELETE", Resource: "/api/flash-sales/orders/{orderId}", Function: "echo"},
	{Method: "GET", Resource: "/api/flash-sales/{saleId}/my-order", Function: "echo"},
	{Method: "POST", Resource: "/api/flash-sales/payments", Function: "echo", NoPage: true},
	{Method: "GET", Resource: "/api/flash-sales/{saleId}", Function: "purchase"},
}

// echo answers with the event that it got.
func echo(_ context.Context, event []byte) ([]byte, error) {
	return json.Marshal(map[string]any{"statusCode": 200, "body": string(event)})
}

func serve(purchase lambda.Invoke) http.Handler {
	return gateway.New(routes, map[string]lambda.Invoke{"purchase": purchase, "echo": echo}, slog.New(slog.DiscardHandler))
}

func call(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// settle replaces what differs from one request to the next and sorts the keys.
func settle(t *testing.T, event []byte) string {
	t.Helper()
	var e struct {
		Headers           map[string]any `json:"headers"`
		MultiValueHeaders map[string]any `json:"multiValueHeaders"`
		RequestContext    map[string]any `json:"requestContext"`
	}
	var all map[string]any
	if err := errors.Join(json.Unmarshal(event, &e), json.Unmarshal(event, &all)); err != nil {
		t.Fatalf("event: %v in %s", err, event)
	}
	for _, part := range []map[string]any{e.Headers, e.MultiValueHeaders, e.RequestContext} {
		for _, name := range []string{"X-Amzn-Trace-Id", "requestId", "extendedRequestId", "requestTime", "requestTimeEpoch"} {
			if _, has := part[name]; has {
				part[name] = "varies"
			}
		}
	}
	all["headers"], all["multiValueHeaders"], all["requestContext"] = e.Headers, e.MultiValueHeaders, e.RequestContext
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

func TestEvents(t *testing.T) {
	t.Parallel()
	h := serve(echo)
	post := func(body string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "http://localhost:3000/api/flash-sales/items/1001/purchase", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		return r
	}
	get := httptest.NewRequest(http.MethodGet, "http://localhost:3000/api/flash-sales/orders/a%2Fb%00?x=1&x=2&y=%20", nil)
	get.Header.Add("Authorization", "Bearer one")
	get.Header.Add("Authorization", "Bearer two")
	get.Header.Set("User-Agent", "golden")
	get.Header.Set("X-Forwarded-For", "203.0.113.9")
	for name, r := range map[string]*http.Request{
		"purchase": post(`{"a":"<ü>"}`),
		"binary":   post("\xff\xfe\x00"),
		"order":    get,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := call(h, r)
			if w.Code != http.StatusOK {
				t.Fatalf("got %d %s", w.Code, w.Body)
			}
			text := settle(t, w.Body.Bytes())
			path := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path) //nolint:gosec // testdata
			if err != nil {
				t.Fatal(err)
			}
			if text != string(want) {
				t.Errorf("event differs from %s:\n%s", path, text)
			}
		})
	}
}

func TestRouting(t *testing.T) {
	t.Parallel()
	h := serve(echo)
	for _, test := range []struct {
		method, target string
		status         int
		want           string // of the body: a parameter, or an error code
	}{
		{"POST", "/api/flash-sales/items/1001/purchase", 200, `"itemId":"1001"`},
		{"POST", "/api/flash-sales/items/%31/purchase", 200, `"itemId":"1"`},
		{"POST", "/api/flash-sales/items/1%2F2/purchase", 200, `"itemId":"1/2"`},
		{"POST", "/api/flash-sales/items/%2e%2E/purchase", 200, `"itemId":".."`},
		{"POST", "/api/flash-sales/items/../purchase", 200, `"itemId":".."`},
		{"POST", "/api/flash-sales/items/%00/purchase", 200, `"itemId":"\u0000"`},
		{"POST", "/api/flash-sales/items/%ff/purchase", 200, `"itemId":"\ufffd"`},
		{"POST", "/api/flash-sales/items/-1/purchase?itemId=2", 200, `"itemId":"-1"`},
		{"OPTIONS", "/api/flash-sales/items/1/purchase", 200, `"httpMethod":"OPTIONS"`},
		{"GET", "/api/flash-sales/orders/my-order", 200, `"orderId":"my-order"`},
		{"DELETE", "/api/flash-sales/orders/x", 200, `"httpMethod":"DELETE"`},
		{"GET", "/api/flash-sales/7/my-order", 200, `"saleId":"7"`},
		{"GET", "/api/flash-sales/7", 200, `"resource":"/api/flash-sales/{saleId}"`},
		{"GET", "/api/flash-sales/items", 200, `"saleId":"items"`},

		{"GET", "/api/flash-sales/items/1/purchase", 405, "METHOD_NOT_ALLOWED"},
		{"HEAD", "/api/flash-sales/7", 405, "METHOD_NOT_ALLOWED"},
		{"POST", "/api/flash-sales/7/my-order", 405, "METHOD_NOT_ALLOWED"},
		{"OPTIONS", "/api/flash-sales/payments", 405, "METHOD_NOT_ALLOWED"},
		{"POST", "/api/flash-sales/items//purchase", 404, "NOT_FOUND"},
		{"POST", "/api/flash-sales/items/1/2/purchase", 404, "NOT_FOUND"},
		{"POST", "/api/flash-sales/items/1/purchase/", 404, "NOT_FOUND"},
		{"POST", "//api/flash-sales/items/1/purchase", 404, "NOT_FOUND"},
		{"GET", "/api/flash-sales", 404, "NOT_FOUND"},
		{"GET", "/api/flash-sales/", 404, "NOT_FOUND"},
	} {
		t.Run(test.method+" "+test.target, func(t *testing.T) {
			t.Parallel()
			w := call(h, httptest.NewRequest(test.method, test.target, nil))
			body := w.Body.String()
			if test.status == http.StatusOK {
				body = strings.ReplaceAll(body, `\"`, `"`)
			}
			if w.Code != test.status || !strings.Contains(body, test.want) {
				t.Errorf("got %d %s, want %d with %s", w.Code, body, test.status, test.want)
			}
			pages := !strings.HasSuffix(test.target, "/payments")
			if w.Code == http.StatusMethodNotAllowed && strings.Contains(w.Header().Get("Allow"), "OPTIONS, ") != pages {
				t.Errorf("Allow = %q, want OPTIONS only where pages call", w.Header().Get("Allow"))
			}
		})
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	h := serve(func(context.Context, []byte) ([]byte, error) { return []byte(`{"statusCode":202}`), nil })
	for size, want := range map[int]int{10 << 20: http.StatusAccepted, 10<<20 + 1: http.StatusRequestEntityTooLarge} {
		body := bytes.NewReader(make([]byte, size))
		if w := call(h, httptest.NewRequest(http.MethodPost, "/api/flash-sales/items/1/purchase", body)); w.Code != want {
			t.Errorf("%d bytes: got %d, want %d", size, w.Code, want)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	answer := func(text string) lambda.Invoke {
		return func(context.Context, []byte) ([]byte, error) { return []byte(text), nil }
	}
	for name, test := range map[string]struct {
		function lambda.Invoke
		status   int
		body     string
	}{
		"plain":         {answer(`{"statusCode":409,"headers":{"Retry-After":"1"},"body":"{}"}`), 409, "{}"},
		"no body":       {answer(`{"statusCode":204}`), 204, ""},
		"base64":        {answer(`{"statusCode":200,"isBase64Encoded":true,"body":"` + base64.StdEncoding.EncodeToString([]byte("\xff")) + `"}`), 200, "\xff"},
		"bad base64":    {answer(`{"statusCode":200,"isBase64Encoded":true,"body":"*"}`), 502, "INTERNAL"},
		"not JSON":      {answer(`oops`), 502, "INTERNAL"},
		"nothing":       {answer(``), 502, "INTERNAL"},
		"no status":     {answer(`{"body":"secret"}`), 502, "INTERNAL"},
		"body object":   {answer(`{"statusCode":200,"body":{}}`), 502, "INTERNAL"},
		"error":         {func(context.Context, []byte) ([]byte, error) { return nil, errors.New("secret") }, 502, "INTERNAL"},
		"panic":         {func(context.Context, []byte) ([]byte, error) { panic("secret") }, 502, "INTERNAL"},
		"waits for ctx": {func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }, 502, "INTERNAL"},
		"never ends":    {func(context.Context, []byte) ([]byte, error) { select {} }, 502, "INTERNAL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := call(serve(test.function), httptest.NewRequest(http.MethodPost, "/api/flash-sales/items/1/purchase", nil))
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.body) {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body, test.status, test.body)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the cause is shown: %s", w.Body)
			}
		})
	}
	t.Run("headers", func(t *testing.T) {
		t.Parallel()
		f := answer(`{"statusCode":200,"headers":{"A":"1","B":"1"},"multiValueHeaders":{"b":["2","3"]}}`)
		h := call(serve(f), httptest.NewRequest(http.MethodPost, "/api/flash-sales/items/1/purchase", nil)).Header()
		if h.Get("A") != "1" || strings.Join(h.Values("B"), ",") != "2,3" || h.Get("X-Amzn-Requestid") == "" {
			t.Errorf("headers = %v", h)
		}
	})
}

// A shopper who hangs up must not stop a purchase half way.
func TestCallerGone(t *testing.T) {
	t.Parallel()
	ctx, hangUp := context.WithCancel(t.Context())
	var seen error
	h := serve(func(ctx context.Context, _ []byte) ([]byte, error) {
		hangUp()
		seen = ctx.Err()
		return []byte(`{"statusCode":202}`), nil
	})
	r := httptest.NewRequest(http.MethodPost, "/api/flash-sales/items/1/purchase", nil).WithContext(ctx)
	if w := call(h, r); w.Code != http.StatusAccepted || seen != nil {
		t.Errorf("got %d, function saw %v", w.Code, seen)
	}
}

// Answers that are the same are read once. Each caller gets the own one all the same.
func TestAnswersAlike(t *testing.T) {
	t.Parallel()
	n := 0
	h := serve(func(context.Context, []byte) ([]byte, error) {
		n++
		return fmt.Appendf(nil, `{"statusCode":410,"headers":{"Retry-After":"%d"},"body":"refused %d"}`, n/3, n/3), nil
	})
	ids := map[string]bool{}
	for i := range 9 {
		w := call(h, httptest.NewRequest(http.MethodPost, "/api/flash-sales/items/1/purchase", nil))
		want := strconv.Itoa((i + 1) / 3)
		if w.Code != http.StatusGone || w.Header().Get("Retry-After") != want || w.Body.String() != "refused "+want {
			t.Errorf("call %d: got %d %v %s, want number %s", i, w.Code, w.Header(), w.Body, want)
		}
		ids[w.Header().Get("X-Amzn-Requestid")] = true
	}
	if len(ids) != 9 {
		t.Errorf("%d request ids, want 9", len(ids))
	}
}

// A function that overran its time may still read its event.
func TestEventOfALateFunction(t *testing.T) {
	t.Parallel()
	late, event := make(chan struct{}), make(chan string)
	h := serve(func(_ context.Context, got []byte) ([]byte, error) {
		if strings.Contains(string(got), "/items/1/") {
			<-late
			event <- string(got)
		}
		return []byte(`{"statusCode":202}`), nil
	})
	if w := call(h, httptest.NewRequest(http.MethodPost, "/api/flash-sales/items/1/purchase", nil)); w.Code != http.StatusBadGateway {
		t.Errorf("got %d, want 502", w.Code)
	}
	for range 20 {
		call(h, httptest.NewRequest(http.MethodPost, "/api/flash-sales/items/2/purchase", nil))
	}
	close(late)
	if got := <-event; !strings.Contains(got, "/items/1/") {
		t.Errorf("its event has become another: %s", got)
	}
}
