package saleinfo

import (
	"context"
	"errors"
	"net/http"
	"time"

	"flashsale/shared/apigw"
	"flashsale/shared/identity"
	"flashsale/shared/sale"
)

// admitted is what a shopper brings along to buy, and from when on it is good.
type admitted struct {
	Pass      string    `json:"pass"`
	NotBefore time.Time `json:"notBefore"`
}

// admit gives a shopper the pass for a sale. It is the same each time, so asking
// early or often gains nothing.
func (h *Handler) admit(ctx context.Context, r *apigw.Request) (apigw.Response, error) {
	if err := r.Only(http.MethodPost); err != nil {
		return apigw.Response{}, err
	}
	token, err := identity.Bearer(r.Header("Authorization"))
	if err != nil {
		return apigw.Response{}, apigw.Unauthorized(err)
	}
	listing, err := h.listing(ctx, r)
	if err != nil {
		return apigw.Response{}, err
	}
	userID, err := h.Shoppers.Shopper(ctx, token)
	switch {
	case errors.Is(err, identity.ErrUnauthenticated):
		return apigw.Response{}, apigw.Unauthorized(err)
	case err != nil:
		return apigw.Response{}, apigw.Busy(time.Second, err)
	}
	if listing.StateAt(h.Now(), listing.Standing) == sale.Closed {
		return apigw.Response{}, apigw.Refuse(apigw.SaleClosed, "This sale has ended.")
	}
	pass, notBefore, err := h.Office.Issue(&listing.Sale, userID)
	if err != nil {
		return apigw.Response{}, apigw.Busy(time.Second, err)
	}
	return apigw.Response{Status: http.StatusOK, Body: admitted{pass, notBefore.UTC()}}, nil
}
