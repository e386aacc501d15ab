package orderstatus

import (
	"context"
	"errors"
	"time"

	"flashsale/shared/apigw"
	"flashsale/shared/giveback"
	"flashsale/shared/order"
	"flashsale/shared/sale"
)

// returning is how long the answer waits for Redis to take the unit back. If
// that fails, the expirer's next pass does it.
const returning = 500 * time.Millisecond

// cancel ends an unpaid order. The row alone decides, so it wins or loses
// against a payment and the expirer as a whole.
func (h *Handler) cancel(ctx context.Context, text, userID string) (view, error) {
	id, err := sale.ParseOrderID(text)
	if err != nil {
		return view{}, unknown()
	}
	ended, back, err := h.Orders.Cancel(ctx, id, userID)
	switch {
	case errors.Is(err, order.ErrNotCancellable):
		return view{}, apigw.Refuse(apigw.OrderNotCancellable, "This order cannot be cancelled any more.")
	case errors.Is(err, order.ErrUnknownOrder):
		return view{}, h.notThere(ctx, id, userID)
	case err != nil: // perhaps it is cancelled; asking again tells
		return view{}, apigw.Busy(time.Second, err)
	}
	h.giveBack(ctx, back)
	return h.written(ended), nil
}

// notThere tells an order that is about to be written from one that never will be.
func (h *Handler) notThere(ctx context.Context, id sale.OrderID, userID string) error {
	hold, held, err := h.unwritten(ctx, id.SaleID(), userID)
	if err != nil || held && hold.OrderID == id || h.mayBeInKafka(ctx, id, userID) {
		return apigw.Busy(time.Second, err)
	}
	return unknown()
}

// giveBack does not stop with the call: the order has ended, and its unit would
// only wait for the expirer.
func (h *Handler) giveBack(ctx context.Context, back []order.Release) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returning)
	defer cancel()
	for _, release := range back {
		if err := giveback.One(ctx, h.Orders, h.Stock, release); err != nil {
			h.Edge.Log.WarnContext(ctx, "a cancelled order's unit is left to the expirer", "orderId", release.OrderID, "error", err)
		}
	}
}
