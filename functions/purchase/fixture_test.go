package purchase_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"flashsale/functions/purchase"
	"flashsale/localstack/servers"
	"flashsale/shared/apigw"
	"flashsale/shared/identity/identitytest"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
	"flashsale/shared/telemetry"
)

var provider = identitytest.New()

// A counter is the handler under test with what stands behind it.
type counter struct {
	*shoptest.Shelf
	h *purchase.Handler
}

// open makes a handler that publishes by log. List its sales before it is asked.
func open(t testing.TB, log purchase.Log) *counter {
	t.Helper()
	shelf := shoptest.OpenShelf(t, servers.RedisURL(t))
	return &counter{shelf, handler(t, shelf, log)}
}

func handler(t testing.TB, shelf *shoptest.Shelf, log purchase.Log) *purchase.Handler {
	t.Helper()
	catalog := catalogOf(shelf.Stock)
	return &purchase.Handler{
		Catalog: catalog, Stock: shelf.Stock, Latch: stock.NewLatch(shelf.Stock, catalog, time.Now), Log: log,
		Shoppers: provider.Verifier(t), Mint: shelf.Mint, Gate: &purchase.Gate{Now: time.Now}, Now: time.Now, Edge: apigw.Edge{
			Log:      slog.New(slog.DiscardHandler),
			Outcomes: telemetry.NewMeter(io.Discard, "purchase", time.Now).Outcomes("Purchases"),
		},
	}
}

// onKafka is a real log on a topic of its own, and that topic.
func onKafka(t *testing.T) (purchase.Log, string) {
	t.Helper()
	topic := servers.Topic(t, "orders", 2)
	log := orderlog.NewProducer(shoptest.Kafka(t, servers.KafkaBrokers(t), topic), topic)
	if err := log.Warm(t.Context()); err != nil {
		t.Fatalf("warm: %v", err)
	}
	return log, topic
}

// A fault is a log that does what the test says.
type fault func(ctx context.Context, p sale.Placed) error

func (f fault) Publish(ctx context.Context, p sale.Placed) error { return f(ctx, p) }
func (fault) Warm(context.Context) error                         { return nil }

var errAway = errors.New("kafka is away")

// silent fails the test if anything is published: a refusal publishes nothing.
func silent(t *testing.T) fault {
	return func(context.Context, sale.Placed) error {
		t.Error("a refusal was published")
		return errAway
	}
}

// sells offers and lists one sale.
func (c *counter) sells(t *testing.T, quantities ...int) sale.Sale {
	t.Helper()
	sl := c.Sale(quantities...)
	c.Offer(t, sl, nil)
	c.List(t, sl)
	return sl
}

func catalogOf(s *stock.Store) *stock.Catalog { return stock.NewCatalog(s, time.Now) }

// A call is what a test varies of an event.
type call struct {
	item   string              // as in the path
	bearer string              // the token; empty for no header
	key    string              // Idempotency-Key; empty for no header
	extra  map[string]any      // fields of the event that replace the usual ones
	multi  map[string][]string // further headers
}

func (c call) event() []byte {
	headers := map[string][]string{"Content-Type": {"application/json"}}
	if c.bearer != "" {
		headers["Authorization"] = []string{"Bearer " + c.bearer}
	}
	if c.key != "" {
		headers["Idempotency-Key"] = []string{c.key}
	}
	maps.Copy(headers, c.multi)
	event := map[string]any{
		"httpMethod": "POST", "path": "/api/flash-sales/items/" + c.item + "/purchase",
		"resource":          "/api/flash-sales/items/{itemId}/purchase",
		"pathParameters":    map[string]string{"itemId": c.item},
		"multiValueHeaders": headers, "body": nil, "isBase64Encoded": false,
		"requestContext": map[string]any{"requestId": "r1", "identity": map[string]any{"sourceIp": "203.0.113.7"}},
	}
	maps.Copy(event, c.extra)
	text, err := json.Marshal(event)
	if err != nil {
		panic(err) // maps of strings
	}
	return text
}

// An answer is what API Gateway gets.
type answer struct {
	Status  int               `json:"statusCode"`
	Headers map[string]string `json:"headers"`
	Text    string            `json:"body"`
	Body    struct {
		OrderID   sale.OrderID `json:"orderId"`
		Status    string       `json:"status"`
		Error     string       `json:"error"`
		OpensAt   string       `json:"opensAt"`
		NotBefore string       `json:"notBefore"`
	} `json:"-"`
}

func (c *counter) answer(t *testing.T, made call) answer {
	t.Helper()
	text, err := c.h.Invoke(t.Context(), made.event())
	if err != nil {
		t.Fatalf("invoke: %v", err)
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("answer %s: %v", text, err)
	}
	if err := json.Unmarshal([]byte(a.Text), &a.Body); err != nil {
		t.Fatalf("body %s: %v", a.Text, err)
	}
	return a
}

// buy is a purchase by a good token.
func (c *counter) buy(t *testing.T, sl sale.Sale, item int, user, key string) answer {
	t.Helper()
	return c.answer(t, call{item: itemText(sl, item), bearer: provider.Token(user), key: key})
}

func (a answer) want(t *testing.T, status int, code string) {
	t.Helper()
	if a.Status != status || a.Body.Error != code {
		t.Errorf("answer: got %d %s, want %d %s", a.Status, a.Text, status, code)
	}
}

func itemText(sl sale.Sale, item int) string {
	return strconv.FormatInt(int64(sl.Items[item].ID), 10)
}

func metaOf(sl sale.Sale) string  { return shoptest.Key(sl, "meta") }
func stockOf(sl sale.Sale) string { return shoptest.Key(sl, "stock") }

func nothingWrong(context.Context, sale.Placed) error { return nil }

// openMini is open on an embedded Redis, whose clock the test sets.
func openMini(t testing.TB, log purchase.Log) (*counter, *miniredis.Miniredis) {
	t.Helper()
	mini := miniredis.RunT(t)
	shelf := shoptest.OpenShelf(t, "redis://"+mini.Addr())
	return &counter{shelf, handler(t, shelf, log)}, mini
}
