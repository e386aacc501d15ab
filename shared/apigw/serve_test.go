package apigw_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"flashsale/shared/apigw"
)

type answer struct {
	Status  int               `json:"statusCode"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// call serves one event and returns the answer and the log.
func call(t *testing.T, text []byte, f apigw.Handler, origins ...string) (answer, string) {
	t.Helper()
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	out, err := apigw.Edge{Log: logger, Origins: origins}.Serve(t.Context(), text, f)
	if err != nil {
		t.Fatalf("Invoke: %v", err)
	}
	var a answer
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatalf("the answer is not JSON: %v", err)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d log lines, want exactly 1:\n%s", n, &log)
	}
	return a, log.String()
}

func returns(r apigw.Response, err error) apigw.Handler {
	return func(context.Context, *apigw.Request) (apigw.Response, error) { return r, err }
}

func wantJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := errors.Join(json.Unmarshal([]byte(got), &g), json.Unmarshal([]byte(want), &w)); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("body %s, want %s", got, want)
	}
}

func TestServeSuccess(t *testing.T) {
	t.Parallel()
	t.Run("JSON", func(t *testing.T) {
		t.Parallel()
		a, log := call(t, golden(t, "purchase"), returns(apigw.Response{
			Status: 202, Headers: map[string]string{"Location": "/o/1"}, Body: map[string]string{"status": "PENDING"},
		}, nil))
		want := map[string]string{"Location": "/o/1", "Content-Type": "application/json", "Cache-Control": "no-store"}
		if a.Status != 202 || !maps.Equal(a.Headers, want) {
			t.Errorf("answer %d %v, want 202 %v", a.Status, a.Headers, want)
		}
		wantJSON(t, a.Body, `{"status":"PENDING"}`)
		if !strings.Contains(log, `"level":"INFO"`) || !strings.Contains(log, "c6af9ac6-7b61-11e6-9a41-93e8deadbeef") {
			t.Errorf("log %s, want the request id at INFO", log)
		}
	})
	t.Run("bytes, own caching", func(t *testing.T) {
		t.Parallel()
		a, _ := call(t, event(""), returns(apigw.Response{
			Status: 200, Headers: map[string]string{"Cache-Control": "public, max-age=1"}, Body: []byte(`{"a":1}`),
		}, nil))
		if a.Body != `{"a":1}` || a.Headers["Cache-Control"] != "public, max-age=1" {
			t.Errorf("answer %+v", a)
		}
	})
	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		a, _ := call(t, event(""), returns(apigw.Response{Status: 204}, nil))
		if _, ok := a.Headers["Content-Type"]; a.Status != 204 || a.Body != "" || ok {
			t.Errorf("answer %+v, want 204 without a body or its type", a)
		}
	})
}

func TestServeRefusals(t *testing.T) {
	t.Parallel()
	cause := errors.New("secret cause")
	for name, tc := range map[string]struct {
		err     error
		status  int
		body    string
		headers map[string]string
		level   string
	}{
		"sold out": {apigw.Refuse(apigw.SoldOut, "Gone."), 410, `{"error":"SOLD_OUT","message":"Gone."}`, nil, "DEBUG"},
		"fields": {&apigw.Error{
			Code: apigw.SaleNotOpen, Message: "Later.", RetryAfter: 1001 * time.Millisecond,
			Fields: map[string]any{"opensAt": "2026-01-01T00:00:00Z", "error": "not overwritten"},
		}, 403, `{"error":"SALE_NOT_OPEN","message":"Later.","opensAt":"2026-01-01T00:00:00Z"}`, map[string]string{"Retry-After": "2"}, "DEBUG"},
		"unauthorized": {
			apigw.Unauthorized(cause), 401, `{"error":"UNAUTHENTICATED","message":"Please sign in again."}`,
			map[string]string{"WWW-Authenticate": "Bearer"},
			"DEBUG",
		},
		"busy": {
			apigw.Busy(time.Second, nil), 503, `{"error":"TRY_AGAIN","message":"Please try again in a moment."}`,
			map[string]string{"Retry-After": "1"},
			"DEBUG",
		},
		"busy with a cause": {
			apigw.Busy(time.Millisecond, cause), 503, `{"error":"TRY_AGAIN","message":"Please try again in a moment."}`,
			map[string]string{"Retry-After": "1"},
			"WARN",
		},
		"wrapped": {
			fmt.Errorf("purchase: %w", apigw.Refuse(apigw.UnknownItem, "No.")), 404,
			`{"error":"UNKNOWN_ITEM","message":"No."}`, nil, "DEBUG",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, log := call(t, event(""), returns(apigw.Response{Status: 200, Body: "never sent"}, tc.err))
			want := map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"}
			maps.Copy(want, tc.headers)
			if a.Status != tc.status || !maps.Equal(a.Headers, want) {
				t.Errorf("answer %d %v, want %d %v", a.Status, a.Headers, tc.status, want)
			}
			wantJSON(t, a.Body, tc.body)
			if !strings.Contains(log, `"level":"`+tc.level+`"`) {
				t.Errorf("log %s, want level %s", log, tc.level)
			}
			if errors.Is(tc.err, cause) != strings.Contains(log, "secret cause") {
				t.Errorf("log %s, want the cause there if there is one", log)
			}
		})
	}
}

func TestServeHidesTheUnexpected(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]apigw.Handler{
		"error": returns(apigw.Response{}, errors.New("password hunter2")),
		"panic": func(context.Context, *apigw.Request) (apigw.Response, error) { panic("password hunter2") },
		"out of range": func(_ context.Context, r *apigw.Request) (apigw.Response, error) {
			return apigw.Response{Status: int(r.Path[len(r.Path)])}, nil
		},
		"body that is no JSON": returns(apigw.Response{Status: 200, Body: func() {}}, nil),
		"INTERNAL by hand":     returns(apigw.Response{}, apigw.Refuse(apigw.Internal, "hunter2")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, log := call(t, event(""), f)
			if a.Status != 500 || strings.Contains(a.Body, "hunter2") {
				t.Errorf("answer %+v, want 500 with hidden text", a)
			}
			wantJSON(t, a.Body, `{"error":"INTERNAL","message":"Something went wrong. Please tell us the request id.","requestId":"r1"}`)
			if !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, `"cause"`) {
				t.Errorf("log %s, want the cause at ERROR", log)
			}
		})
	}
}

func TestServeLogsNothingOfTheShopper(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]apigw.Handler{
		"success": returns(apigw.Response{Status: 202, Body: map[string]string{"orderId": "o-1"}}, nil),
		"refusal": returns(apigw.Response{}, &apigw.Error{Code: apigw.AlreadyPurchased, Fields: map[string]any{"orderId": "o-1"}}),
		"failure": returns(apigw.Response{}, errors.New("broken")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, log := call(t, golden(t, "purchase"), f)
			for _, private := range []string{"a.b.c", "k2", "203.0.113.7", "Mozilla", "o-1", "1001"} {
				if strings.Contains(log, private) {
					t.Errorf("log %s shows %q", log, private)
				}
			}
		})
	}
}

func TestServeFailsOnOtherEvents(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	called := false
	edge := apigw.Edge{Log: slog.New(slog.NewJSONHandler(&log, nil))}
	out, err := edge.Serve(t.Context(), golden(t, "not-kafka"), func(context.Context, *apigw.Request) (apigw.Response, error) {
		called = true
		return apigw.Response{}, nil
	})
	if err == nil || called {
		t.Errorf("Invoke = %s, %v, handler called: %t; want an error and no call", out, err, called)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d log lines, want 1: %s", n, &log)
	}
}

func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	allow := []string{"https://other.example", "https://shop.example"}
	from := func(origin string) []byte { return event(`"headers":{"origin":"` + origin + `"}`) }
	refuse := returns(apigw.Response{}, apigw.Refuse(apigw.MethodNotAllowed, "No."))
	const name = "Access-Control-Allow-Origin"

	t.Run("listed, also on refusals", func(t *testing.T) {
		t.Parallel()
		a, _ := call(t, from("https://shop.example"), refuse, allow...)
		if a.Headers[name] != "https://shop.example" || a.Headers["Vary"] != "Origin" ||
			a.Headers["Access-Control-Expose-Headers"] != "Location, Retry-After" {
			t.Errorf("headers %v", a.Headers)
		}
	})
	t.Run("not listed", func(t *testing.T) {
		t.Parallel()
		for _, origin := range []string{"https://shop.example.evil", "http://shop.example", "null", "*"} {
			a, _ := call(t, from(origin), refuse, allow...)
			if got, ok := a.Headers[name]; ok || a.Headers["Vary"] != "Origin" {
				t.Errorf("%s is answered %q with Vary %q", origin, got, a.Headers["Vary"])
			}
		}
	})
	t.Run("preflight", func(t *testing.T) {
		t.Parallel()
		a, _ := call(t, golden(t, "preflight"), refuse, allow...)
		if a.Status != 204 || a.Body != "" || a.Headers[name] != "https://shop.example" ||
			!strings.Contains(a.Headers["Access-Control-Allow-Headers"], "Idempotency-Key") ||
			a.Headers["Access-Control-Allow-Methods"] != "GET, POST, DELETE" {
			t.Errorf("answer %+v", a)
		}
	})
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		a, _ := call(t, golden(t, "preflight"), refuse)
		if _, ok := a.Headers[name]; ok || a.Status != 405 {
			t.Errorf("answer %+v, want the handler's 405 without CORS", a)
		}
	})
}

func TestStatusOfEveryCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[apigw.Code]int{
		"ALREADY_PURCHASED": 409, "SOLD_OUT": 410, "SALE_CLOSED": 410, "SALE_NOT_OPEN": 403, "ADMISSION_REQUIRED": 403,
		"UNKNOWN_ITEM": 404, "UNAUTHENTICATED": 401, "TOO_MANY_REQUESTS": 429, "TRY_AGAIN": 503, "UNKNOWN_ORDER": 404,
		"ORDER_NOT_CANCELLABLE": 409, "NO_ORDER": 404, "UNKNOWN_SALE": 404, "BAD_REQUEST": 400, "NOT_FOUND": 404,
		"METHOD_NOT_ALLOWED": 405, "INTERNAL": 500, "NO_SUCH_CODE": 500,
	} {
		if got := code.Status(); got != want {
			t.Errorf("%s has status %d, want %d", code, got, want)
		}
	}
}
