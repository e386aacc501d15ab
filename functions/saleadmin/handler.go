// Package saleadmin is the operator's hand: it describes, loads, changes, stops,
// explains and ends sales. It is invoked directly, never through the API.
//
// It promises that a refusal is a normal answer with a code, that only
// surprises are errors, that saying the same thing twice does nothing the second
// time, and that what was done is written down with who did it.
package saleadmin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/shared/config"
	"flashsale/shared/order"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// Config is what the function takes from its environment.
type Config struct {
	config.Redis
	config.Kafka
	config.Postgres
	config.Admission
	config.Log
	config.Warm
	config.AWS

	// For preflight alone.
	JWKSURL       string `env:"JWKS_URL"`
	JWKS          string `env:"JWKS"`
	KafkaInstance string `env:"KAFKA_INSTANCE_TYPE"` // of MSK's brokers, such as kafka.t3.small; "" is not known
	PurchaseOn    string `env:"PURCHASE_ON"`         // instances, or lambda
	PurchaseRate  int    `env:"PURCHASE_RATE"`       // what the stage lets through a second; 0 is not known
	OtherRate     int    `env:"OTHER_RATE"`          // the same, of calls that have no rate of their own
	AdmissionRate int    `env:"ADMISSION_RATE"`      // the same, of admission passes
}

// A Handler runs an operator's actions.
type Handler struct {
	Orders *order.Store
	Stock  *stock.Store
	Keeper *recovery.Keeper
	Admits bool // passes can be given out, so a sale may have a spread
	Log    *slog.Logger
	Now    func() time.Time
	Estate Estate  // for preflight
	Warmth *Warmth // nil: nothing is kept warm

	Kafka           *kgo.Client
	OrdersTopic     string
	DeadLetterTopic string
}

// A request is what the operator says.
type request struct {
	Action  string          `json:"action"`
	SaleID  json.Number     `json:"saleId"`
	Sale    json.RawMessage `json:"sale"`
	UserID  string          `json:"userId"`
	OrderID string          `json:"orderId"` // of explain, in place of userId
	What    string          `json:"what"`    // of export: orders or refunds
	After   string          `json:"after"`   // of export: the last page's next
	Limit   *int            `json:"limit"`   // of export
	Peak    int             `json:"peak"`    // of preflight: requests a second
	By      string          `json:"by"`      // who says it, for the audit

	id sale.ID
}

// A refusal is an answer that says no, and why.
type refusal struct {
	Code    string `json:"error"`
	Message string `json:"message"`
}

func (r refusal) Error() string { return r.Code + ": " + r.Message }

// Invoke runs one action.
func (h *Handler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	r, err := parse(event)
	var answer any
	if err == nil {
		answer, err = h.run(ctx, r)
	}
	no, refused := refusalOf(err, r.id)
	switch {
	case refused:
		answer = no
	case err != nil:
		h.Log.ErrorContext(ctx, "action failed", "action", r.Action, "saleId", r.id, "error", err)
		return nil, fmt.Errorf("saleadmin: %s: %w", r.Action, err)
	default:
		h.Log.InfoContext(ctx, "action", "action", r.Action, "saleId", r.id, "by", r.By)
	}
	return json.Marshal(answer)
}

// refusalOf tells a refusal from a surprise.
func refusalOf(err error, id sale.ID) (refusal, bool) {
	if no, ok := errors.AsType[refusal](err); ok {
		return no, true
	}
	if no, ok := errors.AsType[order.RefusedError](err); ok {
		return refusal{"BAD_REQUEST", no.Error()}, true
	}
	if busy, ok := errors.AsType[order.BusyError](err); ok {
		return refusal{"SALE_BUSY", fmt.Sprintf("Sale %d is busy: %s.", id, busy)}, true
	}
	switch {
	case errors.Is(err, recovery.ErrLost):
		return refusal{"SALE_BUSY", "Redis has lost this sale; the stockkeeper rebuilds it. What was said of it before holds from then on."}, true
	case errors.Is(err, order.ErrUnknownSale):
		return refusal{"UNKNOWN_SALE", fmt.Sprintf("There is no sale %d.", id)}, true
	case errors.Is(err, order.ErrArchived):
		return refusal{"BAD_REQUEST", fmt.Sprintf("Sale %d is archived.", id)}, true
	case errors.Is(err, order.ErrItemExists):
		return refusal{"ITEM_EXISTS", "An item id belongs to another sale: item ids are unique over all sales."}, true
	}
	return refusal{}, false
}

func parse(event []byte) (request, error) {
	var r request
	dec := json.NewDecoder(bytes.NewReader(event))
	dec.DisallowUnknownFields()
	err := dec.Decode(&r)
	if _, more := dec.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("text after the request")
	}
	if err != nil {
		return r, refusal{"BAD_REQUEST", "The request is not of the form {\"action\":…,\"saleId\":…}: " + err.Error()}
	}
	if r.By == "" {
		r.By = "saleadmin"
	}
	if !sale.ValidUserID(r.By) || (r.After != "" && !sale.ValidUserID(r.After)) {
		return r, refusal{"BAD_REQUEST", "by and after must be text of at most 255 bytes without control characters."}
	}
	if r.Action == "create" {
		return r, nil
	}
	id, ok := sale.ParseID(r.SaleID.String())
	if !ok && r.SaleID != "" {
		return r, refusal{"UNKNOWN_SALE", fmt.Sprintf("%s is no sale id.", r.SaleID)}
	}
	r.id = id
	return r, nil
}

func (h *Handler) run(ctx context.Context, r request) (any, error) {
	actions := map[string]func(context.Context, request) (any, error){
		"create": h.create, "update": h.update, "load": h.load, "pause": h.pause, "resume": h.resume,
		"close": h.close, "archive": h.archive, "reconcile": h.reconcile, "redrive": h.redrive,
		"report": h.report, "explain": h.explain, "export": h.export, "preflight": h.preflight,
	}
	action, ok := actions[r.Action]
	switch {
	case !ok:
		return nil, refusal{"UNKNOWN_ACTION", fmt.Sprintf("There is no action %q.", r.Action)}
	case r.Action != "create" && r.id == 0:
		return nil, refusal{"BAD_REQUEST", "saleId is missing."}
	}
	answer, err := action(ctx, r)
	if err == nil && h.Warmth != nil && slices.Contains([]string{"create", "update", "close", "archive"}, r.Action) {
		err = h.warm(ctx)
	}
	return answer, err
}

// warm follows each action that may move a sale's window. If it fails, the action
// is done, and the same request once more is the repair.
func (h *Handler) warm(ctx context.Context) error {
	sales, err := h.Orders.Listings(ctx)
	if err != nil {
		return err
	}
	return h.Warmth.Schedule(ctx, sales, h.Now())
}
