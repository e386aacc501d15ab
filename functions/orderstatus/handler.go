// Package orderstatus tells a shopper how the own order stands, and cancels it.
//
// It promises that an order answered with 202 is never unknown to its shopper
// from that moment on, that nobody sees or ends anyone else's order, that "pay
// now" is said only of an order that is written, and that a cancelled order's
// unit can be bought again when the answer arrives, by its shopper too.
package orderstatus

import (
	"context"
	"errors"
	"net/http"
	"time"

	"flashsale/shared/apigw"
	"flashsale/shared/config"
	"flashsale/shared/identity"
	"flashsale/shared/order"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// budget keeps a page's poll short: it asks again anyway.
const budget = 2 * time.Second

// young is how long an order that is neither in Redis nor in PostgreSQL may
// still be on its way through Kafka after a failover.
const young = 10 * time.Minute

// Config is what the function takes from its environment.
type Config struct {
	config.Redis
	config.Postgres
	config.Identity
	config.OrderIDs
	config.HTTP
	config.Log
}

// A Handler answers for orders. It is safe for concurrent use.
type Handler struct {
	Catalog  *stock.Catalog
	Stock    *stock.Store
	Orders   *order.Store
	Shoppers *identity.Verifier
	Mint     *sale.Mint
	Edge     apigw.Edge
	Now      func() time.Time
}

// A view is what a shopper sees of an order.
type view struct {
	OrderID sale.OrderID `json:"orderId"`
	Status  order.State  `json:"status"`
	ItemID  sale.ItemID  `json:"itemId,omitempty"`
	SaleID  sale.ID      `json:"saleId"`
	PayBy   *time.Time   `json:"payBy,omitempty"`
	Payable bool         `json:"payable"`
}

// Invoke answers one API Gateway event.
func (h *Handler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	return h.Edge.Serve(ctx, event, h.answer)
}

func (h *Handler) answer(ctx context.Context, r *apigw.Request) (apigw.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	saleText, mine := r.Params["saleId"]
	allowed := []string{http.MethodGet, http.MethodDelete}
	if mine {
		allowed = allowed[:1]
	}
	if err := r.Only(allowed...); err != nil {
		return apigw.Response{}, err
	}
	token, err := identity.Bearer(r.Header("Authorization"))
	if err != nil {
		return apigw.Response{}, apigw.Unauthorized(err)
	}
	userID, err := h.Shoppers.Shopper(ctx, token)
	switch {
	case errors.Is(err, identity.ErrUnauthenticated):
		return apigw.Response{}, apigw.Unauthorized(err)
	case err != nil:
		return apigw.Response{}, apigw.Busy(time.Second, err)
	}
	var v view
	switch {
	case mine:
		v, err = h.mine(ctx, saleText, userID)
	case r.Method == http.MethodDelete:
		v, err = h.cancel(ctx, r.Params["orderId"], userID)
	default:
		v, err = h.byID(ctx, r.Params["orderId"], userID)
	}
	if err != nil {
		return apigw.Response{}, err
	}
	return apigw.Response{Status: 200, Body: v}, nil
}

// byID asks Redis first: an order in its outbox is being written, and its row
// may be a moment away. Everything else is the row.
func (h *Handler) byID(ctx context.Context, text, userID string) (view, error) {
	id, err := sale.ParseOrderID(text)
	if err != nil {
		return view{}, unknown()
	}
	hold, held, holdErr := h.unwritten(ctx, id.SaleID(), userID)
	if held && hold.OrderID == id {
		return beingWritten(hold.OrderID, hold.ItemID), nil
	}
	row, err := h.Orders.Order(ctx, id, userID)
	switch {
	case err == nil:
		return h.written(row), nil
	case !errors.Is(err, order.ErrUnknownOrder):
		return view{}, apigw.Busy(time.Second, err)
	case h.mayBeInKafka(ctx, id, userID):
		return beingWritten(id, 0), nil
	case holdErr != nil:
		return view{}, apigw.Busy(time.Second, holdErr)
	}
	return view{}, unknown()
}

func unknown() error { return apigw.Refuse(apigw.UnknownOrder, "There is no such order of yours.") }

// mine finds the shopper's order in a sale: the active one, else the newest.
func (h *Handler) mine(ctx context.Context, text, userID string) (view, error) {
	saleID, ok := sale.ParseID(text)
	if !ok {
		return view{}, apigw.Refuse(apigw.UnknownSale, "There is no such sale.")
	}
	hold, held, holdErr := h.unwritten(ctx, saleID, userID)
	if held {
		return beingWritten(hold.OrderID, hold.ItemID), nil
	}
	row, err := h.Orders.MyOrder(ctx, saleID, userID)
	switch {
	case err == nil:
		return h.written(row), nil
	case !errors.Is(err, order.ErrUnknownOrder):
		return view{}, apigw.Busy(time.Second, err)
	case holdErr != nil: // the answer would be a guess
		return view{}, apigw.Busy(time.Second, holdErr)
	}
	return view{}, apigw.Refuse(apigw.NoOrder, "You have no order in this sale.")
}

// unwritten returns the shopper's hold while the writer has not confirmed it.
// A sale that the catalog does not list has no holds.
func (h *Handler) unwritten(ctx context.Context, id sale.ID, userID string) (stock.Hold, bool, error) {
	listing, ok, err := h.Catalog.Sale(ctx, id)
	if err != nil || !ok {
		return stock.Hold{}, false, err
	}
	hold, ok, err := h.Stock.Hold(ctx, stock.Of(&listing.Sale), userID)
	return hold, ok && hold.Unconfirmed, err
}

func (h *Handler) mayBeInKafka(ctx context.Context, id sale.OrderID, userID string) bool {
	if !h.Mint.Owns(id, userID) {
		return false
	}
	_, known, err := h.Catalog.Sale(ctx, id.SaleID())
	return (known || err != nil) && h.Now().Sub(id.Time()) < young
}

func (h *Handler) written(o order.Order) view {
	v := view{OrderID: o.ID, Status: o.State, ItemID: o.ItemID, SaleID: o.SaleID, Payable: o.Payable(h.Now())}
	if o.State == order.Pending {
		payBy := o.PayBy.UTC()
		v.PayBy = &payBy
	}
	return v
}

// beingWritten has no payBy: the window starts when the row is written.
func beingWritten(id sale.OrderID, item sale.ItemID) view {
	return view{OrderID: id, Status: order.Pending, ItemID: item, SaleID: id.SaleID()}
}
