// Package saleinfo shows a sale to everybody, and gives its shoppers their
// admission passes.
//
// It promises an answer that a CDN may keep for a second, so that a crowd
// waiting for the opening costs one call a second, that the address to buy
// at appears only once the sale is open, and the same pass to the same shopper
// whenever it is asked for.
package saleinfo

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"flashsale/shared/admission"
	"flashsale/shared/apigw"
	"flashsale/shared/config"
	"flashsale/shared/identity"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

const budget = 2 * time.Second

// Config is what the function takes from its environment.
type Config struct {
	config.Redis
	config.Identity
	config.Admission
	config.HTTP
	config.Log
}

// A Handler shows sales. It is safe for concurrent use.
type Handler struct {
	Catalog  *stock.Catalog
	Stock    *stock.Store
	Shoppers *identity.Verifier
	Office   *admission.Office
	Edge     apigw.Edge
	Now      func() time.Time
}

type view struct {
	SaleID     sale.ID    `json:"saleId"`
	Name       string     `json:"name"`
	State      sale.State `json:"state"`
	OpensAt    time.Time  `json:"opensAt"`
	ClosesAt   time.Time  `json:"closesAt"`
	ServerTime time.Time  `json:"serverTime"`
	Admission  bool       `json:"admission,omitempty"` // a purchase needs a pass
	Items      []itemView `json:"items"`
}

type itemView struct {
	ItemID      sale.ItemID `json:"itemId"`
	Name        string      `json:"name"`
	Price       string      `json:"price"`
	Currency    string      `json:"currency"`
	SoldOut     bool        `json:"soldOut"`
	PurchaseURL string      `json:"purchaseUrl,omitempty"`
}

// Invoke answers one API Gateway event.
func (h *Handler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	return h.Edge.Serve(ctx, event, h.answer)
}

func (h *Handler) answer(ctx context.Context, r *apigw.Request) (apigw.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	if strings.HasSuffix(r.Resource, "/admission") {
		return h.admit(ctx, r)
	}
	return h.show(ctx, r)
}

// listing finds the sale that the path names.
func (h *Handler) listing(ctx context.Context, r *apigw.Request) (*sale.Listing, error) {
	unknown := apigw.Refuse(apigw.UnknownSale, "There is no such sale.")
	id, ok := sale.ParseID(r.Params["saleId"])
	if !ok {
		return nil, unknown
	}
	listing, ok, err := h.Catalog.Sale(ctx, id)
	switch {
	case err != nil:
		return nil, apigw.Busy(time.Second, err)
	case !ok:
		return nil, unknown
	}
	return listing, nil
}

func (h *Handler) show(ctx context.Context, r *apigw.Request) (apigw.Response, error) {
	if err := r.Only(http.MethodGet); err != nil {
		return apigw.Response{}, err
	}
	listing, err := h.listing(ctx, r)
	if err != nil {
		return apigw.Response{}, err
	}
	// Before the load there is nothing to count, and nothing is sold out.
	left, err := h.Stock.Left(ctx, &listing.Sale)
	counted := err == nil
	if err != nil && !errors.Is(err, stock.ErrNotLoaded) {
		return apigw.Response{}, apigw.Busy(time.Second, err)
	}
	now := h.Now()
	v := view{
		SaleID: listing.ID, Name: listing.Name, State: listing.StateAt(now, listing.Standing),
		OpensAt: listing.OpensAt, ClosesAt: listing.ClosesAt, ServerTime: now.UTC().Truncate(time.Millisecond),
		Admission: listing.Spread > 0,
	}
	for _, it := range listing.Items {
		iv := itemView{
			ItemID: it.ID, Name: it.Name, Currency: it.Currency, Price: sale.FormatPrice(it.PriceMinor, it.Currency),
			SoldOut: counted && left[it.ID] == 0,
		}
		if v.State == sale.Open {
			iv.PurchaseURL = "/api/flash-sales/items/" + strconv.FormatInt(int64(it.ID), 10) + "/purchase"
		}
		v.Items = append(v.Items, iv)
	}
	return apigw.Response{Status: 200, Headers: map[string]string{"Cache-Control": "public, max-age=1"}, Body: v}, nil
}
