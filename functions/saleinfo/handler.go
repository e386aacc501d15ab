// Package saleinfo shows a sale to everybody.
//
// It promises an answer that a CDN may keep for a second, so that a crowd
// waiting for the opening costs one call a second, and that the address to buy
// at appears only once the sale is open.
package saleinfo

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"flashsale/shared/apigw"
	"flashsale/shared/config"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

const budget = 2 * time.Second

// Config is what the function takes from its environment.
type Config struct {
	config.Redis
	config.HTTP
	config.Log
}

// A Handler shows sales. It is safe for concurrent use.
type Handler struct {
	Catalog *stock.Catalog
	Stock   *stock.Store
	Edge    apigw.Edge
	Now     func() time.Time
}

type view struct {
	SaleID     sale.ID    `json:"saleId"`
	Name       string     `json:"name"`
	State      sale.State `json:"state"`
	OpensAt    time.Time  `json:"opensAt"`
	ClosesAt   time.Time  `json:"closesAt"`
	ServerTime time.Time  `json:"serverTime"`
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
	return h.Edge.Serve(ctx, event, h.show)
}

func (h *Handler) show(ctx context.Context, r *apigw.Request) (apigw.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	if err := r.Only(http.MethodGet); err != nil {
		return apigw.Response{}, err
	}
	unknown := apigw.Refuse(apigw.UnknownSale, "There is no such sale.")
	id, ok := sale.ParseID(r.Params["saleId"])
	if !ok {
		return apigw.Response{}, unknown
	}
	listing, ok, err := h.Catalog.Sale(ctx, id)
	switch {
	case err != nil:
		return apigw.Response{}, apigw.Busy(time.Second, err)
	case !ok:
		return apigw.Response{}, unknown
	}
	// Before the load there is nothing to count, and nothing is sold out.
	left, err := h.Stock.Left(ctx, &listing.Sale)
	counted := err == nil
	if err != nil && !errors.Is(err, stock.ErrNotLoaded) {
		return apigw.Response{}, apigw.Busy(time.Second, err)
	}
	now := h.Now()
	v := view{
		SaleID: id, Name: listing.Name, State: listing.StateAt(now, listing.Standing),
		OpensAt: listing.OpensAt, ClosesAt: listing.ClosesAt, ServerTime: now.UTC().Truncate(time.Millisecond),
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
