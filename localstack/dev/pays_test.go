package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/servers"
)

// A till is a development server with a sale of enough units.
type till struct {
	*dev
	saleID uint32
	itemID int64
}

// buys follows a purchase until it is payable.
func (d *till) buys(t *testing.T, user string) (orderID, token string) {
	t.Helper()
	token = d.login(t, user)
	status, bought := d.call(t, http.MethodPost, fmt.Sprintf("/api/flash-sales/items/%d/purchase", d.itemID), token, "")
	if status != http.StatusAccepted {
		t.Fatalf("purchase: %d %v, want 202", status, bought)
	}
	orderID, _ = bought["orderId"].(string)
	d.becomes(t, orderID, token, "payable", true)
	return orderID, token
}

// becomes waits until a field of the order is so.
func (d *till) becomes(t *testing.T, orderID, token, field string, want any) {
	t.Helper()
	var order map[string]any
	for range 600 {
		if _, order = d.call(t, http.MethodGet, "/api/flash-sales/orders/"+orderID, token, ""); order[field] == want {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("order: got %v, want %s %v; stderr: %s", order, field, want, d.stderr)
}

// pays lets the provider pay and checks what the webhook was answered.
func (d *till) pays(t *testing.T, call string, want int) {
	t.Helper()
	status, answer := d.call(t, http.MethodPost, "/dev/pay/"+call, "", "")
	body, isText := answer["body"].(string)
	if status != http.StatusOK || answer["status"] != float64(want) || !isText || (want == http.StatusNoContent) != (body == "") || len(answer) != 2 {
		t.Errorf("pay %s: got %d %v, want the webhook's %d", call, status, answer, want)
	}
}

func (d *till) item(t *testing.T) map[string]any {
	t.Helper()
	report := fmt.Sprintf(`{"action":"report","saleId":%d}`, d.saleID)
	_, seen := d.call(t, http.MethodPost, "/2015-03-31/functions/saleadmin/invocations", "", report)
	items, _ := seen["items"].([]any)
	if len(items) != 1 {
		t.Fatalf("report: %v", seen)
	}
	item, _ := items[0].(map[string]any)
	return item
}

// Everything that /dev/pay can do, a cancel, and what the shop hears of it.
func TestPays(t *testing.T) {
	t.Parallel()
	events := servers.Topic(t, "dev-events", 2)
	file, saleID, itemID := saleFile(t)
	file = writeFile(t, strings.Replace(read(t, file), `"quantity":1,`, `"quantity":10,`, 1))
	d := &till{start(t, []string{
		"REDIS_URL=" + ownRedis(t),
		"KAFKA_BROKERS=" + strings.Join(servers.KafkaBrokers(t), ","),
		"DATABASE_URL=" + servers.Database(t, "dev-empty", func(context.Context, string) error { return nil }),
		"KAFKA_ORDERS_TOPIC=" + servers.Topic(t, "dev-orders", 1),
		"KAFKA_DEAD_LETTER_TOPIC=" + servers.Topic(t, "dev-letters", 1),
		"KAFKA_EVENTS_TOPIC=" + events,
		"KAFKA_GROUP=" + fmt.Sprintf("dev-%d", servers.SaleID()),
		"DEV_TICK=100ms",
	}, "-sale", file), saleID, itemID}
	want := map[string][]string{}

	id, token := d.buys(t, "payer")
	d.pays(t, id+"?type=payment.failed", 204)
	d.pays(t, id+"?amount=1.00", 204)
	d.pays(t, id+"?amount=19,99", 400)
	d.pays(t, id+"?type=payment.unheard", 400)
	d.becomes(t, id, token, "payable", true)
	d.pays(t, id, 204)
	d.becomes(t, id, token, "status", "PAID")
	d.pays(t, id, 204)
	if status, answer := d.call(t, http.MethodDelete, "/api/flash-sales/orders/"+id, token, ""); status != http.StatusConflict || answer["error"] != "ORDER_NOT_CANCELLABLE" {
		t.Errorf("cancel a paid order: got %d %v, want 409", status, answer)
	}
	want[id] = []string{"order.placed", "order.refund_due", "order.paid", "order.refund_due"}

	id, token = d.buys(t, "twice")
	d.pays(t, id+"?twice=1", 204)
	d.becomes(t, id, token, "status", "PAID")
	want[id] = []string{"order.placed", "order.paid"}

	id, token = d.buys(t, "late")
	d.pays(t, id+"?late=1", 204)
	d.becomes(t, id, token, "status", "EXPIRED")
	want[id] = []string{"order.placed", "order.expired", "order.refund_due"}
	id, _ = d.buys(t, "late")
	want[id] = []string{"order.placed"}

	id, token = d.buys(t, "fickle")
	for range 2 {
		status, answer := d.call(t, http.MethodDelete, "/api/flash-sales/orders/"+id, token, "")
		if status != http.StatusOK || answer["status"] != "CANCELLED" || answer["orderId"] != id {
			t.Errorf("cancel: got %d %v, want 200 CANCELLED", status, answer)
		}
	}
	want[id] = []string{"order.placed", "order.cancelled"}
	id, _ = d.buys(t, "fickle")
	want[id] = []string{"order.placed"}

	d.pays(t, "x", 400)
	d.pays(t, unwritten(time.Now(), saleID), 503)
	old := unwritten(time.Now().Add(-time.Hour), saleID)
	d.pays(t, old, 204)
	want[old] = []string{"order.refund_due"}
	if status, answer := d.call(t, http.MethodGet, "/dev/pay/"+old, "", ""); status != http.StatusNotFound {
		t.Errorf("GET: got %d %v, want 404", status, answer)
	}
	if item := d.item(t); item["refundsDue"] != 3.0 || item["sold"] != 4.0 || item["stock"] != 6.0 || item["conserved"] != true {
		t.Errorf("report: got %v, want 3 refunds due, 4 sold, 6 left", item)
	}
	hears(t, events, want)
	d.stop(t, syscall.SIGTERM)
}

// unwritten is the id of an order that nobody placed.
func unwritten(at time.Time, saleID uint32) string {
	ms := at.UnixMilli()
	return fmt.Sprintf("%08x-%04x-8abc-%04x-%012x", ms>>16, ms&0xffff, 1<<15|saleID>>18, uint64(saleID)&0x3ffff<<30)
}

// hears reads the topic until every order's types have come as they should.
func hears(t *testing.T, topic string, want map[string][]string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(servers.KafkaBrokers(t)...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	missing := 0
	for _, types := range want {
		missing += len(types)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen, got := map[string]bool{}, map[string][]string{}
	for missing > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("events: %v, got %v, want %v", err, got, want)
		}
		for _, record := range fetches.Records() {
			var e struct{ EventID, OrderID, Type string }
			if err := json.Unmarshal(record.Value, &e); err != nil || seen[e.EventID] {
				continue
			}
			seen[e.EventID] = true
			got[e.OrderID] = append(got[e.OrderID], e.Type)
			missing--
		}
	}
	for id, types := range want {
		if !slices.Equal(got[id], types) {
			t.Errorf("events of %s: got %v, want %v", id, got[id], types)
		}
	}
}
