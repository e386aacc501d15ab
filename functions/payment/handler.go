// Package payment takes the payment provider's webhook.
//
// It promises that only signed events count, that each counts once however
// often and in whatever sequence it comes, that an order is paid by exactly its
// price in its currency, and that money which pays nothing is noted as due back.
// 204 means stored for good; a provider that hears anything else sends again.
package payment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"flashsale/shared/apigw"
	"flashsale/shared/config"
	"flashsale/shared/order"
	"flashsale/shared/sale"
	"flashsale/shared/webhook"
)

// budget is less than any provider waits.
const budget = 5 * time.Second

// retry is what a provider is asked to wait while the order is being written.
const retry = 5 * time.Second

// Config is what the function takes from its environment.
type Config struct {
	config.Postgres
	config.Webhook
	config.Log
}

// A Handler takes payment events. It is safe for concurrent use.
type Handler struct {
	Orders *order.Store
	Scheme *webhook.Scheme
	Edge   apigw.Edge
	Now    func() time.Time
}

// event is the body: {"type","timestamp","data":{"paymentId","orderId","amount","currency"}}.
type event struct {
	Type      string     `json:"type"`
	Timestamp *time.Time `json:"timestamp"` // when it happened, RFC 3339; without it, when it was sent
	Data      struct {
		PaymentID string       `json:"paymentId"`
		OrderID   sale.OrderID `json:"orderId"`
		Amount    string       `json:"amount"` // such as "19.99": a JSON number is not exact
		Currency  string       `json:"currency"`
	} `json:"data"`
}

// Invoke answers one API Gateway event.
func (h *Handler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	return h.Edge.Serve(ctx, event, h.take)
}

func (h *Handler) take(ctx context.Context, r *apigw.Request) (apigw.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	if err := r.Only(http.MethodPost); err != nil {
		return apigw.Response{}, err
	}
	body, err := r.Body()
	if err != nil {
		return apigw.Response{}, err
	}
	id, sent, err := h.Scheme.Verify(r.Header, body, h.Now())
	if err != nil {
		return apigw.Response{}, &apigw.Error{
			Code: apigw.Unauthenticated, Message: "The event is not signed as it should be.", Cause: err,
		}
	}
	p, err := read(id, sent, body)
	if err != nil {
		return apigw.Response{}, &apigw.Error{Code: apigw.BadRequest, Message: "The event could not be read.", Cause: err}
	}
	outcome, err := h.Orders.Pay(ctx, p)
	if err != nil { // not written yet, or the database is away: the provider comes again
		return apigw.Response{}, apigw.Busy(retry, err)
	}
	if outcome == order.OutcomeRefundDue {
		h.Edge.Log.WarnContext(ctx, "refund due", "orderId", p.OrderID, "paymentId", p.PaymentID)
	}
	return apigw.Response{Status: http.StatusNoContent}, nil
}

// read takes a verified event apart. What it cannot read is refused, since it
// could stand for money: the provider's list of failures then shows it.
func read(id string, sent time.Time, body []byte) (order.Payment, error) {
	// encoding/json would replace wrong bytes and so change a payment's id.
	if !utf8.Valid(body) {
		return order.Payment{}, errors.New("payment: event: not UTF-8")
	}
	e := event{Timestamp: &sent}
	if err := json.Unmarshal(body, &e); err != nil {
		return order.Payment{}, fmt.Errorf("payment: event: %w", err)
	}
	if e.Timestamp == nil { // null
		e.Timestamp = &sent
	}
	minor, err := sale.ParsePrice(e.Data.Amount, e.Data.Currency)
	if e.Type == order.PaymentFailed && e.Data.Amount == "" && e.Data.Currency == "" {
		err = nil // no money has moved, so none need be named
	}
	switch {
	case e.Type != order.PaymentSucceeded && e.Type != order.PaymentFailed:
		return order.Payment{}, fmt.Errorf("payment: event: unknown type %q", e.Type)
	case !sale.ValidUserID(id) || !sale.ValidUserID(e.Data.PaymentID): // what is no key for a shopper is none here
		return order.Payment{}, errors.New("payment: event: an id is missing or no text of 1 to 255 bytes")
	case e.Data.OrderID == sale.OrderID{}:
		return order.Payment{}, errors.New("payment: event: orderId is missing")
	case err != nil:
		return order.Payment{}, fmt.Errorf("payment: event: %w", err)
	case minor == 0 && e.Type == order.PaymentSucceeded:
		return order.Payment{}, errors.New("payment: event: the amount is zero")
	}
	return order.Payment{
		WebhookID: id, PaymentID: e.Data.PaymentID, OrderID: e.Data.OrderID, Type: e.Type,
		AmountMinor: minor, Currency: e.Data.Currency, At: *e.Timestamp,
	}, nil
}
