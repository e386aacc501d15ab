package shop_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"flashsale/localstack/dev/shop"
	"flashsale/localstack/servers"
	"flashsale/shared/config"
	"flashsale/shared/orderlog"
	"flashsale/shared/shoptest"
)

// A step is one span as it came in.
type step struct {
	TraceID, SpanID, ParentSpanID, Name, service string

	Kind int
}

// collector is a small OpenTelemetry collector, by the names of the spans.
func collector(t *testing.T) (url string, steps func() map[string]step) {
	t.Helper()
	var mu sync.Mutex
	found := map[string]step{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct {
			ResourceSpans []struct {
				Resource struct {
					Attributes []struct{ Value struct{ StringValue string } }
				}
				ScopeSpans []struct{ Spans []step }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("collector: %v", err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, s := range body.ResourceSpans[0].ScopeSpans[0].Spans {
			s.service = body.ResourceSpans[0].Resource.Attributes[0].Value.StringValue
			found[s.Name] = s
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func() map[string]step {
		mu.Lock()
		defer mu.Unlock()
		return found
	}
}

// TestATraceFollowsTheOrder goes from the page's header through Kafka to the row.
func TestATraceFollowsTheOrder(t *testing.T) {
	t.Parallel()
	url, steps := collector(t)
	w := open(t, 1, func(cfg *shop.Config) { cfg.Tracing = config.Tracing{Endpoint: url} })
	buy := func(user string) asked {
		return w.ask("purchase", request(http.MethodPost, "/api/flash-sales/items/{itemId}/purchase",
			map[string]string{"itemId": strconv.FormatInt(int64(w.sale.Items[0].ID), 10)},
			map[string]string{
				"Authorization": "Bearer " + w.shopper(user).token,
				"traceparent":   "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			}, ""))
	}
	if got := buy("winner"); got.Status != http.StatusAccepted {
		t.Fatalf("purchase: got %+v", got)
	}
	written := shoptest.Records(t, servers.KafkaBrokers(t), w.orders)
	if len(written) != 1 || len(written[0].Headers) != 1 {
		t.Fatalf("the log has %v, want one record with one header", written)
	}
	record := orderlog.Record{
		Topic: w.orders, Timestamp: time.Now(), Value: written[0].Value,
		Headers: []orderlog.Header{{Key: written[0].Headers[0].Key, Value: written[0].Headers[0].Value}},
	}
	if _, err := w.Functions()["orderwriter"](t.Context(), orderlog.EncodeBatch([]orderlog.Record{record})); err != nil {
		t.Fatal(err)
	}
	got := steps()
	purchase, publish, write := got["purchase"], got["publish order"], got["write order"]
	for name, s := range got {
		if s.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" {
			t.Errorf("%s is of trace %s", name, s.TraceID)
		}
	}
	if purchase.ParentSpanID != "00f067aa0ba902b7" || publish.ParentSpanID != purchase.SpanID || write.ParentSpanID != publish.SpanID || write.SpanID == "" {
		t.Errorf("steps %+v, want purchase, publish order, write order, each the next one's parent", got)
	}
	if purchase.service != "purchase" || write.service != "orderwriter" || write.Kind != 5 {
		t.Errorf("steps %+v, want each by its function", got)
	}
	// Who is refused leaves no trace.
	if answer := buy("loser"); answer.Status != http.StatusGone || len(steps()) != 3 || steps()["purchase"] != purchase {
		t.Errorf("refused %+v, steps %+v, want no further one", answer, steps())
	}
}
