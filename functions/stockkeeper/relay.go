package stockkeeper

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
)

// relayed bounds one transaction and its wait for Kafka.
const relayed = 500

// A pass waits for Kafka until it is kafkaWait old. By then the client has given up what it sent
// into a connection that died without a word, and the next pass gets through; waiting for longer
// would keep an answer after a freeze back for more than two seconds. If the sweep has waited
// already, the shop's topic still gets shopWait.
const (
	kafkaWait = 1300 * time.Millisecond
	shopWait  = 500 * time.Millisecond
)

// A Feed tells the shop what became of its orders.
type Feed interface {
	Publish(ctx context.Context, events []orderlog.Event) error
}

// relay publishes all events that wait. What fails waits for the next pass. age is the pass's.
func (h *Handler) relay(ctx context.Context, age time.Duration) error {
	wait := max(shopWait, kafkaWait-age)
	publish := func(ctx context.Context, events []order.Event) error { return h.publish(ctx, wait, events) }
	for {
		n, err := h.Orders.RelayEvents(ctx, relayed, publish)
		if err != nil || n < relayed {
			return err
		}
	}
}

func (h *Handler) publish(ctx context.Context, wait time.Duration, events []order.Event) error {
	out := make([]orderlog.Event, len(events))
	for i, e := range events {
		var said struct {
			ItemID     sale.ItemID `json:"itemId"`
			UserID     string      `json:"userId"`
			PriceMinor int64       `json:"priceMinor"`
			Currency   string      `json:"currency"`
			Reason     string      `json:"reason"`
			PaymentID  string      `json:"paymentId"`
		}
		if err := json.Unmarshal(e.Payload, &said); err != nil {
			return fmt.Errorf("stockkeeper: event %d: %w", e.ID, err)
		}
		out[i] = orderlog.Event{
			Number: e.ID, Kind: e.Kind, OrderID: e.OrderID, ItemID: said.ItemID, UserID: said.UserID, At: e.At,
			AmountMinor: said.PriceMinor, Currency: said.Currency, Reason: said.Reason, PaymentID: said.PaymentID,
		}
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return h.Feed.Publish(ctx, out)
}
