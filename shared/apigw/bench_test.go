package apigw_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"flashsale/shared/apigw"
)

func BenchmarkLook(b *testing.B) {
	event := compact(b, "purchase")
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		var g apigw.Glance
		if !g.Look(event) {
			b.Fatal("not plain")
		}
		if _, ok := g.Header("Authorization"); !ok {
			b.Fatal("no header")
		}
	}
}

// BenchmarkServe is a 202 as a purchase gives it, and a refusal.
func BenchmarkServe(b *testing.B) {
	edge := apigw.Edge{Log: slog.New(slog.NewJSONHandler(io.Discard, nil)), Origins: []string{"https://shop.example"}}
	event := compact(b, "purchase")
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
	event, soldOut := compact(b, "purchase"), edge.Fix(apigw.Refuse(apigw.SoldOut, "This item is sold out."))
	b.ReportAllocs()
	for b.Loop() {
		var g apigw.Glance
		if !g.Look(event) {
			b.Fatal("not plain")
		}
		if _, ok := edge.Refuse(b.Context(), &g, soldOut, time.Time{}); !ok {
			b.Fatal("no answer")
		}
	}
}
