// Package saleadmin is the operator's hand: it describes, loads, stops and
// explains sales. It is invoked directly, never through the API.
//
// It promises that a refusal is a normal answer with a code, that only
// surprises are errors, and that saying the same thing twice does nothing the
// second time.
package saleadmin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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
	config.Log
}

// A Handler runs an operator's actions.
type Handler struct {
	Orders *order.Store
	Stock  *stock.Store
	Keeper *recovery.Keeper
	Log    *slog.Logger
	Now    func() time.Time

	Kafka           *kgo.Client
	DeadLetterTopic string
}

// A request is what the operator says.
type request struct {
	Action string          `json:"action"`
	SaleID json.Number     `json:"saleId"`
	Sale   json.RawMessage `json:"sale"`
	UserID string          `json:"userId"`
	By     string          `json:"by"` // who says it, for the audit

	id sale.ID
}

// A refusal is an answer that says no, and why.
type refusal struct {
	Code    string `json:"error"`
	Message string `json:"message"`
}

func (r refusal) Error() string { return r.Code + ": " + r.Message }

// standing is the answer to an action that changes a sale.
type standing struct {
	SaleID  sale.ID    `json:"saleId"`
	State   sale.State `json:"state"`
	Created *bool      `json:"created,omitempty"` // by this call
	Loaded  *bool      `json:"loaded,omitempty"`  // by this call
	*mended
}

// mended counts what a reconcile found.
type mended struct {
	Adopted  int `json:"adopted"`
	Released int `json:"released"`
	Repaired int `json:"repaired"`
}

// Invoke runs one action.
func (h *Handler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	r, err := parse(event)
	var answer any
	if err == nil {
		answer, err = h.run(ctx, r)
	}
	var no refusal
	switch {
	case errors.As(err, &no):
		answer = no
	case errors.Is(err, order.ErrUnknownSale):
		answer = refusal{"UNKNOWN_SALE", fmt.Sprintf("There is no sale %d.", r.id)}
	case err != nil:
		h.Log.ErrorContext(ctx, "action failed", "action", r.Action, "sale_id", r.id, "error", err)
		return nil, fmt.Errorf("saleadmin: %s: %w", r.Action, err)
	default:
		h.Log.InfoContext(ctx, "action", "action", r.Action, "sale_id", r.id, "by", r.By)
	}
	return json.Marshal(answer)
}

func parse(event []byte) (request, error) {
	var r request
	dec := json.NewDecoder(bytes.NewReader(event))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return r, refusal{"BAD_REQUEST", "The request is not of the form {\"action\":…,\"saleId\":…}: " + err.Error()}
	}
	if r.By == "" {
		r.By = "saleadmin"
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
		"create": h.create, "load": h.load, "pause": h.pause, "resume": h.resume,
		"close": h.close, "report": h.report, "explain": h.explain, "reconcile": h.reconcile,
	}
	action, ok := actions[r.Action]
	switch {
	case !ok:
		return nil, refusal{"UNKNOWN_ACTION", fmt.Sprintf("There is no action %q.", r.Action)}
	case r.Action != "create" && r.id == 0:
		return nil, refusal{"BAD_REQUEST", "saleId is missing."}
	}
	return action(ctx, r)
}

// create describes a sale. The same text again is no news; a sale's relative
// times were resolved when it was first seen.
func (h *Handler) create(ctx context.Context, r request) (any, error) {
	described, err := sale.ParseFile(r.Sale, h.Now())
	if err != nil {
		return nil, refusal{"BAD_REQUEST", err.Error()}
	}
	created, err := h.Orders.CreateSale(ctx, described, r.Sale, r.By)
	switch {
	case errors.Is(err, order.ErrSaleExists):
		return nil, refusal{"SALE_EXISTS", fmt.Sprintf("Sale %d was described differently.", described.ID)}
	case errors.Is(err, order.ErrItemExists):
		return nil, refusal{"ITEM_EXISTS", "An item id belongs to another sale: item ids are unique over all sales."}
	case err != nil:
		return nil, err
	}
	return h.standing(ctx, described.ID, standing{Created: &created})
}

func (h *Handler) load(ctx context.Context, r request) (any, error) {
	first, err := h.Keeper.Load(ctx, r.id)
	if err != nil {
		return nil, err
	}
	return h.standing(ctx, r.id, standing{Loaded: &first})
}

func (h *Handler) pause(ctx context.Context, r request) (any, error) {
	if err := h.Orders.Pause(ctx, r.id, sale.PausedByOperator, r.By); err != nil {
		return nil, err
	}
	return h.govern(ctx, r.id)
}

func (h *Handler) resume(ctx context.Context, r request) (any, error) {
	if err := h.Orders.Resume(ctx, r.id, sale.PausedByOperator, r.By); err != nil {
		return nil, err
	}
	return h.govern(ctx, r.id)
}

// close stops purchases. Unpaid orders keep their window.
func (h *Handler) close(ctx context.Context, r request) (any, error) {
	if err := h.Orders.Close(ctx, r.id, r.By); err != nil {
		return nil, err
	}
	return h.govern(ctx, r.id)
}

// reconcile compares both sides at once instead of with the next pass.
func (h *Handler) reconcile(ctx context.Context, r request) (any, error) {
	l, err := h.Orders.Listing(ctx, r.id)
	if err != nil {
		return nil, err
	}
	if !l.Loaded || l.Archived {
		return h.standing(ctx, r.id, standing{mended: &mended{}})
	}
	done, err := h.Keeper.Reconcile(ctx, &l.Sale)
	switch {
	case errors.Is(err, recovery.ErrLost):
		return nil, refusal{"SALE_BUSY", "Redis has lost this sale; the stockkeeper rebuilds it."}
	case err != nil:
		return nil, err
	}
	return h.standing(ctx, r.id, standing{mended: &mended{done.Adopted, done.Released, done.Repaired}})
}

// govern asserts the settings on Redis even when nothing changed: an operator
// who says "pause" again means it.
func (h *Handler) govern(ctx context.Context, id sale.ID) (any, error) {
	if err := h.Keeper.Govern(ctx, id); err != nil {
		return nil, err
	}
	return h.standing(ctx, id, standing{})
}

// standing completes an answer, after the catalog has heard of the change.
func (h *Handler) standing(ctx context.Context, id sale.ID, s standing) (any, error) {
	if err := h.Orders.PublishCatalog(ctx, h.Stock.PutCatalog); err != nil {
		return nil, err
	}
	l, err := h.Orders.Listing(ctx, id)
	if err != nil {
		return nil, err
	}
	s.SaleID, s.State = id, l.StateAt(h.Now(), l.Standing)
	return s, nil
}
