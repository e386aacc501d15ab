package orderlog

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/shared/sale"
)

// An Event is one change of an order, for the shop. docs/events.md describes
// its form in the topic.
type Event struct {
	Number      int64  // grows with each order's events; 0 for most that are placed
	Kind        string // placed, paid, expired, cancelled, rejected, refund_due
	OrderID     sale.OrderID
	ItemID      sale.ItemID // zero, as is UserID, if the order has no row
	UserID      string
	At          time.Time
	AmountMinor int64 // the order's price; of refund_due, the money to give back
	Currency    string
	Reason      string // of rejected and refund_due
	PaymentID   string // of paid and refund_due
}

type eventValue struct {
	Version   int          `json:"v"`
	EventID   string       `json:"eventId"`
	Type      string       `json:"type"`
	OrderID   sale.OrderID `json:"orderId"`
	SaleID    sale.ID      `json:"saleId"`
	ItemID    sale.ItemID  `json:"itemId,omitempty"`
	UserID    string       `json:"userId,omitempty"`
	At        string       `json:"at"`
	Amount    string       `json:"amount"`
	Currency  string       `json:"currency"`
	Reason    string       `json:"reason,omitempty"`
	PaymentID string       `json:"paymentId,omitempty"`
}

// EncodeEvent makes the record's value. The event's id starts with the order's: it
// is unique among orders that are placed, and where a restored database counts anew.
func EncodeEvent(e Event) []byte {
	return mustMarshal(eventValue{
		Version: Version, EventID: e.OrderID.String() + "." + strconv.FormatInt(e.Number, 10), Type: "order." + e.Kind,
		OrderID: e.OrderID, SaleID: e.OrderID.SaleID(), ItemID: e.ItemID, UserID: e.UserID,
		At: e.At.UTC().Format(moment), Amount: sale.FormatPrice(e.AmountMinor, e.Currency), Currency: e.Currency,
		Reason: e.Reason, PaymentID: e.PaymentID,
	})
}

// An EventFeed publishes orders' events to the shop. It is safe for concurrent use.
type EventFeed struct {
	client *kgo.Client
	topic  string
}

// NewEventFeed takes a client that was made with [ClientOptions].
func NewEventFeed(client *kgo.Client, topic string) *EventFeed {
	return &EventFeed{client, topic}
}

// Publish returns nil once all in-sync replicas have all events. After an error
// any of them may be there. An order's events share a partition, and each is
// sent only after the one before it has arrived: so no failure turns them round.
func (f *EventFeed) Publish(ctx context.Context, events []Event) error {
	for len(events) > 0 {
		var later []Event
		sent := make(map[sale.OrderID]bool, len(events))
		arrived := make(chan error, len(events))
		for _, e := range events {
			if sent[e.OrderID] {
				later = append(later, e)
				continue
			}
			sent[e.OrderID] = true
			f.client.TryProduce(context.WithoutCancel(ctx), &kgo.Record{
				Topic: f.topic, Key: []byte(e.OrderID.String()), Value: EncodeEvent(e),
			}, func(_ *kgo.Record, err error) { arrived <- err })
		}
		for range sent {
			if err := await(ctx, arrived); err != nil {
				return fmt.Errorf("orderlog: publish events: %w", err)
			}
		}
		events = later
	}
	return nil
}
