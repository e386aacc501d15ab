package shop

import (
	"time"

	"flashsale/localstack/dev/gateway"
)

// Routes is the API, as the template deploys it. Fixed segments come first.
var Routes = []gateway.Route{
	{Method: "POST", Resource: "/api/flash-sales/items/{itemId}/purchase", Function: "purchase", Timeout: 3 * time.Second},
	{Method: "GET", Resource: "/api/flash-sales/orders/{orderId}", Function: "orderstatus"},
	{Method: "DELETE", Resource: "/api/flash-sales/orders/{orderId}", Function: "orderstatus"},
	{Method: "GET", Resource: "/api/flash-sales/{saleId}/my-order", Function: "orderstatus"},
	{Method: "POST", Resource: "/api/flash-sales/{saleId}/admission", Function: "saleinfo"},
	{Method: "POST", Resource: "/api/flash-sales/payments", Function: "payment", NoPage: true},
	{Method: "GET", Resource: "/api/flash-sales/{saleId}", Function: "saleinfo"},
}
