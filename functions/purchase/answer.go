package purchase

import (
	"time"

	"flashsale/shared/apigw"
	"flashsale/shared/sale"
)

func accepted(id sale.OrderID) apigw.Response {
	return apigw.Response{
		Status: 202,
		Headers: map[string]string{
			"Location":    "/api/flash-sales/orders/" + id.String(),
			"Retry-After": "1",
		},
		Body: []byte(`{"orderId":"` + id.String() + `","status":"PENDING"}`),
	}
}

func alreadyPurchased(own sale.OrderID) error {
	return &apigw.Error{
		Code: apigw.AlreadyPurchased, Message: "You have already bought in this sale.",
		Fields: map[string]any{"orderId": own},
	}
}

// notOpen counts the wait by Redis' clock, which is the one that will open.
func notOpen(opensAt, now time.Time) *apigw.Error {
	return &apigw.Error{
		Code: apigw.SaleNotOpen, Message: "This sale has not opened yet.",
		Fields: map[string]any{"opensAt": opensAt.UTC()}, RetryAfter: opensAt.Sub(now),
	}
}

func unknownItem() *apigw.Error { return apigw.Refuse(apigw.UnknownItem, "There is no such item.") }
func soldOut() *apigw.Error     { return apigw.Refuse(apigw.SoldOut, "This item is sold out.") }
func saleClosed() *apigw.Error  { return apigw.Refuse(apigw.SaleClosed, "This sale has ended.") }
