package stockkeeper_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"flashsale/functions/stockkeeper"
	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
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

// hanging is a shop behind a connection that died without a word.
type hanging struct{}

func (hanging) Publish(ctx context.Context, _ []orderlog.Event) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Second):
		return errors.New("waited for too long")
	}
}

// TestShopHangs has events for a shop that hears nothing: the pass does not wait for long, and the next one tells.
func TestShopHangs(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	sl := d.Open(t, 5)
	d.h.Feed = hanging{}
	d.Write(t, d.Place(sl, 0, "u"))
	if answer, err := d.h.Invoke(t.Context(), []byte(once)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %s, %v, want that the time for the shop was over", answer, err)
	}
	shop := &listener{}
	d.h.Feed = shop
	d.invoke(t, once)
	if len(shop.events) != 1 {
		t.Errorf("events of the next pass: got %d, want 1", len(shop.events))
	}
}

var _ stockkeeper.Feed = (*orderlog.EventFeed)(nil)
