package orderlog_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"flashsale/localstack/servers"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
)

// The page for the shop's engineers shows exactly what is written.
func TestEventAsDocumented(t *testing.T) {
	t.Parallel()
	id, err := sale.ParseOrderID("01941f29-7c00-8abc-8000-0001c0000001")
	if err != nil {
		t.Fatal(err)
	}
	e := orderlog.Event{
		Number: 42, Kind: "refund_due", OrderID: id, ItemID: 1001, UserID: "u1",
		At: time.Date(2026, 11, 27, 19, 0, 5, 123_999_999, time.FixedZone("", 3600)), AmountMinor: 1999, Currency: "EUR",
		Reason: "order is EXPIRED", PaymentID: "pay_1",
	}
	page, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```json\n")
	example, _, _ := strings.Cut(rest, "\n```")
	if got := string(orderlog.EncodeEvent(e)); got != example {
		t.Errorf("event:\n%s\ndocs/events.md:\n%s", got, example)
	}

	// Each field and each type has a line in the page's tables.
	var fields map[string]any
	if err := json.Unmarshal(orderlog.EncodeEvent(e), &fields); err != nil {
		t.Fatal(err)
	}
	for name := range fields {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/events.md does not describe %s", name)
		}
	}
	for _, kind := range []string{"placed", "paid", "expired", "cancelled", "rejected", "refund_due"} {
		if !strings.Contains(string(page), "| `order."+kind+"` |") {
			t.Errorf("docs/events.md does not describe order.%s", kind)
		}
	}
}

func TestEncodeEvent(t *testing.T) {
	t.Parallel()
	p := purchase("u")
	of := orderlog.Event{Number: 1, Kind: "refund_due", OrderID: p.OrderID, At: time.Unix(0, 0), AmountMinor: 5, Currency: "JPY", PaymentID: "p"}
	want := `{"v":1,"eventId":"` + p.OrderID.String() + `.1","type":"order.refund_due","orderId":"` + p.OrderID.String() +
		`","saleId":` + string(must(json.Marshal(p.SaleID))) + `,"at":"1970-01-01T00:00:00.000Z","amount":"5","currency":"JPY","paymentId":"p"}`
	if got := string(orderlog.EncodeEvent(of)); got != want {
		t.Errorf("unknown order:\n%s, want\n%s", got, want)
	}
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

// On a real Kafka an order's events lie in one partition, in their sequence.
func TestPublishEvents(t *testing.T) {
	t.Parallel()
	topic := newTopic(t, "events", 3)
	feed := orderlog.NewEventFeed(newClient(t, servers.KafkaBrokers(t)), topic)
	var events []orderlog.Event
	for i := range int64(30) {
		p := purchase("u")
		for j, kind := range []string{"placed", "paid", "refund_due"} {
			events = append(events, orderlog.Event{Number: 3*i + int64(j), Kind: kind, OrderID: p.OrderID, Currency: "EUR"})
		}
	}
	if err := feed.Publish(t.Context(), events); err != nil {
		t.Fatalf("publish: %v", err)
	}
	kinds, places := map[string][]string{}, map[string]int32{}
	for _, rec := range contents(t, topic) {
		var got struct{ OrderID, Type string }
		if err := json.Unmarshal(rec.Value, &got); err != nil || string(rec.Key) != got.OrderID {
			t.Fatalf("record %s %s: %v, want its order's id as key", rec.Key, rec.Value, err)
		}
		if place, seen := places[got.OrderID]; seen && place != rec.Partition {
			t.Errorf("%s lies in partitions %d and %d", got.OrderID, place, rec.Partition)
		}
		kinds[got.OrderID], places[got.OrderID] = append(kinds[got.OrderID], got.Type), rec.Partition
	}
	if len(kinds) != 30 {
		t.Errorf("orders: got %d, want 30", len(kinds))
	}
	for id, got := range kinds {
		if !slices.Equal(got, []string{"order.placed", "order.paid", "order.refund_due"}) {
			t.Errorf("%s: got %q, want its events in sequence", id, got)
		}
	}
	if err := feed.Publish(t.Context(), nil); err != nil {
		t.Errorf("no events: got %v", err)
	}
}

// If an order's first event does not arrive, its second is not sent.
func TestEventsStopAtAFailure(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	brokers := fakeKafka(t, "events", func(req *kmsg.ProduceRequest) (kmsg.Response, bool) {
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range req.Topics {
			var batch kmsg.RecordBatch
			if err := batch.ReadFrom(topic.Partitions[0].Records); err != nil {
				t.Errorf("batch: %v", err)
			}
			sent.Add(int64(batch.NumRecords))
			part := kmsg.NewProduceResponseTopicPartition()
			part.ErrorCode = kerr.MessageTooLarge.Code
			answer := kmsg.NewProduceResponseTopic()
			answer.Topic, answer.TopicID, answer.Partitions = topic.Topic, topic.TopicID, append(answer.Partitions, part)
			resp.Topics = append(resp.Topics, answer)
		}
		return resp, true
	})
	p := purchase("u")
	feed := orderlog.NewEventFeed(newClient(t, brokers), "events")
	events := []orderlog.Event{{Number: 1, Kind: "placed", OrderID: p.OrderID}, {Number: 2, Kind: "paid", OrderID: p.OrderID}}
	if err := feed.Publish(t.Context(), events); err == nil || sent.Load() != 1 {
		t.Errorf("publish: got %v and %d events sent, want an error after one", err, sent.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := feed.Publish(ctx, events); err == nil {
		t.Error("a context that is over: got no error")
	}
}
