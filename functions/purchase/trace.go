package purchase

import (
	"context"
	"time"

	"flashsale/shared/apigw"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
	"flashsale/shared/tracing"
)

// traced is publish, told to the collector. Winners alone are traced: an order is
// what has a way to follow, and a refusal must cost nothing.
func (h *Handler) traced(ctx context.Context, r *apigw.Request, shards stock.Shards, p sale.Placed, start time.Time) (apigw.Response, error) {
	parent := ""
	if values := r.Header(tracing.Header); len(values) == 1 {
		parent = values[0]
	}
	purchase := h.Tracer.Begin("purchase", tracing.Server, parent, start)
	publish := purchase.Child("publish order", tracing.Producer)
	response, err := h.publish(tracing.With(ctx, publish), shards, p)
	publish.End()
	purchase.Set("flashsale.sale.id", p.SaleID)
	purchase.Set("flashsale.order.id", p.OrderID)
	purchase.Set("http.route", r.Resource)
	purchase.Set("flashsale.accepted", err == nil)
	purchase.End()
	h.Tracer.Send(ctx, purchase, publish)
	return response, err
}
