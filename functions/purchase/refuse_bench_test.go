package purchase_test

import (
	"fmt"
	"io"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"flashsale/shared/apigw"
	"flashsale/shared/telemetry"
)

// BenchmarkRefusal is a refusal from event to answer. Of a busy machine the
// processor's time tells more than the clock: 1e9 / cpu-ns is what one core can do a second.
func BenchmarkRefusal(b *testing.B) {
	c, _ := openMini(b, fault(nothingWrong))
	c.h.Edge = apigw.Edge{
		Log: telemetry.NewLogger(io.Discard, slog.LevelInfo), Origins: []string{"https://shop.example"},
		Outcomes: telemetry.NewMeter(io.Discard, "purchase", time.Now).Outcomes("Purchases"),
	}
	s := openStill(b, c)
	sl := c.Sale(1000)
	c.Offer(b, sl, nil)
	waiting := c.Sale(1)
	waiting.OpensAt, waiting.ClosesAt = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	over := c.Sale(1)
	over.OpensAt, over.ClosesAt = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	c.Offer(b, over, nil)
	c.List(b, sl, waiting, over)
	for i := range 1000 {
		c.Reserve(b, sl, 0, fmt.Sprint("winner ", i))
	}
	items := map[string]string{"sold-out": itemText(sl, 0), "not-open": itemText(waiting, 0), "closed": itemText(over, 0), "unknown": "1"}
	for _, item := range items {
		s.invoke(b, call{item: item, bearer: provider.Token("loser")}.event()) // the environment learns
	}
	for name, item := range items {
		event := call{item: item, extra: gatewayExtras(provider.Token("0b0e7e1c-7a8e-4e0e-9d52-0c1d2e3f4a5b"))}.event()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(event)))
			start := processorTime()
			for b.Loop() {
				s.invoke(b, event)
			}
			b.ReportMetric(float64(processorTime()-start)/float64(b.N), "cpu-ns/op")
		})
	}
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// gatewayExtras are the parts of an event that a test does without, as API Gateway
// sends them: each header in both forms, and what nobody reads.
func gatewayExtras(token string) map[string]any {
	const agent = "Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/146.0 Mobile Safari/537.36"
	headers := map[string]string{
		"Accept": "*/*", "Authorization": "Bearer " + token, "Host": "abc123.execute-api.eu-central-1.amazonaws.com", "User-Agent": agent,
		"X-Amzn-Trace-Id": "Root=1-6b0cb3ac-0d949df69bf933fcb87bfbb4", "X-Forwarded-For": "203.0.113.7",
		"X-Forwarded-Port": "443", "X-Forwarded-Proto": "https",
	}
	lists := map[string][]string{}
	for name, value := range headers {
		lists[name] = []string{value}
	}
	return map[string]any{
		"headers": headers, "multiValueHeaders": lists,
		"stageVariables": nil, "queryStringParameters": nil, "multiValueQueryStringParameters": nil,
		"requestContext": map[string]any{
			"accountId": "123456789012", "apiId": "1234567890", "domainName": headers["Host"], "domainPrefix": "abc123",
			"extendedRequestId": "JJbxmplHYosFVYQ=", "httpMethod": "POST", "path": "/prod/api/flash-sales/items/1001/purchase",
			"protocol": "HTTP/1.1", "requestId": "c6af9ac6-7b61-11e6-9a41-93e8deadbeef", "requestTime": "09/Apr/2026:12:34:56 +0000",
			"requestTimeEpoch": 1744201696000, "resourceId": "abc123", "resourcePath": "/api/flash-sales/items/{itemId}/purchase", "stage": "prod",
			"identity": map[string]any{
				"accessKey": nil, "accountId": nil, "caller": nil, "cognitoIdentityId": nil, "sourceIp": "203.0.113.7",
				"user": nil, "userAgent": agent, "userArn": nil,
			},
		},
	}
}
