package stockkeeper_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/functions/stockkeeper"
	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
)

// A shop that hears events, as often as they are told, or is away.
type listener struct {
	away   error
	events []orderlog.Event
}

func (l *listener) Publish(_ context.Context, events []orderlog.Event) error {
	l.events = append(l.events, events...)
	return l.away
}

func TestTellsTheShop(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	sl := d.Open(t, 600)
	shop := &listener{away: errors.New("kafka is away")}
	d.h.Feed = shop
	// One more than fits into a transaction.
	var placed []sale.Placed
	for i := range 501 {
		placed = append(placed, d.Place(sl, 0, fmt.Sprintf("u%d", i)))
	}
	d.Write(t, placed...)
	if answer, err := d.h.Invoke(t.Context(), []byte(once)); !errors.Is(err, shop.away) {
		t.Fatalf("kafka away: got %s, %v, want its error", answer, err)
	}
	shop.away, shop.events = nil, nil
	last := placed[500].OrderID
	paid := order.Payment{
		WebhookID: "m1", PaymentID: "p1", OrderID: last, Type: order.PaymentSucceeded, AmountMinor: 1999, Currency: "EUR", At: d.Now(),
	}
	late := paid
	late.WebhookID, late.PaymentID, late.AmountMinor = "m2", "p2", 500
	for _, p := range []order.Payment{paid, late} {
		if _, err := d.Orders.Pay(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	d.invoke(t, once)
	if len(shop.events) != 503 {
		t.Errorf("events: got %d, want 503", len(shop.events))
	}
	var own []orderlog.Event
	for _, e := range shop.events {
		if e.OrderID == last {
			e.Number, e.At = 0, sl.OpensAt
			own = append(own, e)
		}
	}
	event := func(kind string, minor int64, reason, paymentID string) orderlog.Event {
		return orderlog.Event{
			Kind: kind, OrderID: last, ItemID: sl.Items[0].ID, UserID: "u500", At: sl.OpensAt,
			AmountMinor: minor, Currency: "EUR", Reason: reason, PaymentID: paymentID,
		}
	}
	want := []orderlog.Event{
		event("placed", 1999, "", ""), event("paid", 1999, "", "p1"), event("refund_due", 500, "order is PAID", "p2"),
	}
	if !slices.Equal(own, want) {
		t.Errorf("the last order's events: got %+v, want %+v", own, want)
	}
	d.invoke(t, once)
	if len(shop.events) != 503 {
		t.Errorf("events after another pass: got %d, want 503", len(shop.events))
	}
}

// patient is a shop that notes how long it is waited for.
type patient struct{ wait time.Duration }

func (p *patient) Publish(ctx context.Context, _ []orderlog.Event) error {
	end, _ := ctx.Deadline()
	p.wait = time.Until(end)
	return nil
}

// TestWaitsForTheShop has events only, whose wait must outlast what the client sent into a dead
// connection (1.2 s): else the next pass would fail too.
func TestWaitsForTheShop(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	d.Write(t, d.Place(d.Open(t, 5), 0, "u"))
	shop := &patient{}
	d.h.Feed = shop
	began := time.Now()
	d.invoke(t, once)
	if took := time.Since(began); shop.wait+took < 1200*time.Millisecond || shop.wait > 1300*time.Millisecond {
		t.Errorf("waited for %s of a pass of %s, want together 1.2 s, and at most 1.3 s", shop.wait, took)
	}
}

// hanging is Kafka behind a connection that died without a word.
type hanging struct{}

func (hanging) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Second):
		return errors.New("waited for too long")
	}
}

// hangingShop is there for the shop's events, hangingLog for records.
type (
	hangingShop struct{ hanging }
	hangingLog  struct{ hanging }
)

func (h hangingShop) Publish(ctx context.Context, _ []orderlog.Event) error { return h.wait(ctx) }
func (h hangingLog) Publish(ctx context.Context, _ sale.Placed) error       { return h.wait(ctx) }

// TestKafkaHangs has all that a pass wants of Kafka, and no answer: it ends within the design's two
// seconds, and the next pass does the work.
func TestKafkaHangs(t *testing.T) {
	t.Parallel()
	d := open(t, hangingLog{})
	sl := d.Open(t, 5)
	stuck := d.Reserve(t, sl, 0, "stuck")
	d.Redis.ZAdd(t.Context(), shoptest.Key(sl, "unconfirmed"), redis.Z{Score: 1, Member: "stuck"})
	d.Write(t, d.Place(sl, 0, "u"))
	pass := d.figures(t)
	d.h.Feed = hangingShop{}
	d.h.Keeper.Backlog = func(ctx context.Context) (int64, error) { return 0, hanging{}.wait(ctx) }
	began := time.Now()
	told := pass(true)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the pass took %s, want at most 2 s", took)
	}
	if _, ok := told["WriterLag"]; ok || told["DeadLetters"] != 3 {
		t.Errorf("told %v, want all but WriterLag", told)
	}
	shop, log := &listener{}, &heard{}
	d.h.Feed, d.h.Keeper.Log = shop, log
	d.Redis.ZAdd(t.Context(), shoptest.Key(sl, "unconfirmed"), redis.Z{Score: 1, Member: "stuck"})
	d.h.Keeper.Backlog = func(context.Context) (int64, error) { return 0, nil }
	pass(false)
	if len(shop.events) != 1 || len(log.placed) != 1 || log.placed[0].OrderID != stuck.OrderID {
		t.Errorf("the next pass: told the shop %v and published %v, want one of each", shop.events, log.placed)
	}
}

// heard is a log that keeps what it was told.
type heard struct{ placed []sale.Placed }

func (h *heard) Publish(_ context.Context, p sale.Placed) error {
	h.placed = append(h.placed, p)
	return nil
}

var _ stockkeeper.Feed = (*orderlog.EventFeed)(nil)
