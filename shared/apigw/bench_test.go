package apigw_test

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"flashsale/shared/apigw"
)

// usual is an event of usual length: the golden one has a short token and agent.
func usual(tb testing.TB) []byte {
	tb.Helper()
	token := strings.Repeat("eyJhbGci", 7) + "." + strings.Repeat("eyJhdWQi", 20) + "." + strings.Repeat("aoCOhhRh", 11)
	return []byte(strings.NewReplacer(
		"a.b.c", token,
		"Mozilla/5.0", "Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/146.0 Mobile Safari/537.36",
	).Replace(string(compact(tb, "purchase"))))
}

func BenchmarkLook(b *testing.B) {
	event := usual(b)
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		g, plain := apigw.Look(event)
		if !plain {
			b.Fatal("not plain")
		}
		if _, ok := g.Header("Authorization"); !ok {
			b.Fatal("no header")
		}
		g.Done()
	}
}

// BenchmarkServe is a 202 as a purchase gives it, and a refusal.
func BenchmarkServe(b *testing.B) {
	edge := apigw.Edge{Log: slog.New(slog.NewJSONHandler(io.Discard, nil)), Origins: []string{"https://shop.example"}}
	event := usual(b)
	type placed struct {
		OrderID string `json:"orderId"`
		Status  string `json:"status"`
	}
	headers := map[string]string{"Location": "/api/flash-sales/orders/0190163d8694739b", "Retry-After": "1"}
	for name, f := range map[string]apigw.Handler{
		"202":      returns(apigw.Response{Status: 202, Headers: headers, Body: placed{"0190163d8694739b", "PENDING"}}, nil),
		"202bytes": returns(apigw.Response{Status: 202, Headers: headers, Body: []byte(`{"orderId":"0190163d8694739b","status":"PENDING"}`)}, nil),
		"410":      returns(apigw.Response{}, apigw.Refuse(apigw.SoldOut, "This item is sold out.")),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := edge.Serve(b.Context(), event, f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRefuse is the same refusal in place.
func BenchmarkRefuse(b *testing.B) {
	edge := apigw.Edge{Log: slog.New(slog.NewJSONHandler(io.Discard, nil)), Origins: []string{"https://shop.example"}}
	event, soldOut := usual(b), edge.Fix(apigw.Refuse(apigw.SoldOut, "This item is sold out."))
	b.ReportAllocs()
	for b.Loop() {
		g, plain := apigw.Look(event)
		if !plain {
			b.Fatal("not plain")
		}
		if _, ok := edge.Refuse(b.Context(), g, soldOut, time.Time{}); !ok {
			b.Fatal("no answer")
		}
		g.Done()
	}
}
