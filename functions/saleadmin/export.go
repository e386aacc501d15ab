package saleadmin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

const (
	pageLimit = 1_000  // entries of a page if nothing is said
	maxLimit  = 10_000 // entries of a page at the most

	// pageBytes ends a page early. Lambda answers 6 MB at the most, and one entry
	// can be as long as a record.
	pageBytes = 4 << 20
)

// A page is the answer to export: one of the lists, and where the next begins.
type page struct {
	SaleID  sale.ID            `json:"saleId"`
	Orders  *[]json.RawMessage `json:"orders,omitempty"`
	Refunds *[]json.RawMessage `json:"refunds,omitempty"`
	Next    *string            `json:"next"` // null after the last entry
}

type exportedOrder struct {
	OrderID    sale.OrderID `json:"orderId"`
	ItemID     sale.ItemID  `json:"itemId"`
	ProductID  int64        `json:"productId"`
	UserID     string       `json:"userId"`
	Status     order.State  `json:"status"`
	Reason     string       `json:"reason,omitempty"` // only of REJECTED
	Price      string       `json:"price"`
	Currency   string       `json:"currency"`
	ReservedAt time.Time    `json:"reservedAt"`
	CreatedAt  time.Time    `json:"createdAt"`
	PayBy      time.Time    `json:"payBy,omitzero"`
	SettledAt  time.Time    `json:"settledAt,omitzero"`  // when it left PENDING
	PaymentID  string       `json:"paymentId,omitempty"` // only of PAID
}

type exportedRefund struct {
	WebhookID  string       `json:"webhookId"`
	PaymentID  string       `json:"paymentId"`
	OrderID    sale.OrderID `json:"orderId"`
	ItemID     sale.ItemID  `json:"itemId,omitempty"` // absent, as what follows, if nobody knows the order
	UserID     string       `json:"userId,omitempty"`
	Status     order.State  `json:"status,omitempty"`
	Amount     string       `json:"amount"`
	Currency   string       `json:"currency"`
	ReceivedAt time.Time    `json:"receivedAt"`
}

// export lists a sale's orders or the refunds it owes, page by page.
func (h *Handler) export(ctx context.Context, r request) (any, error) {
	limit := pageLimit
	if r.Limit != nil {
		limit = *r.Limit
	}
	if limit < 1 || limit > maxLimit {
		return nil, refusal{"BAD_REQUEST", fmt.Sprintf("limit must be 1 to %d.", maxLimit)}
	}
	if _, err := h.Orders.Listing(ctx, r.id); err != nil {
		return nil, err
	}
	switch r.What {
	case "", "orders":
		return h.exportOrders(ctx, r, limit)
	case "refunds":
		return h.exportRefunds(ctx, r, limit)
	default:
		return nil, refusal{"BAD_REQUEST", "what must be orders or refunds."}
	}
}

func (h *Handler) exportOrders(ctx context.Context, r request, limit int) (any, error) {
	var after sale.OrderID
	if r.After != "" {
		var err error
		if after, err = sale.ParseOrderID(r.After); err != nil {
			return nil, refusal{"BAD_REQUEST", "after is no order id."}
		}
	}
	found, err := h.Orders.Export(ctx, r.id, after, limit+1)
	if err != nil {
		return nil, err
	}
	entries, next, err := fill(found, limit, func(o order.Export) (string, any) {
		return o.ID.String(), exportedOrder{
			OrderID: o.ID, ItemID: o.ItemID, ProductID: o.ProductID, UserID: o.UserID, Status: o.State, Reason: o.Reason,
			Price: sale.FormatPrice(o.PriceMinor, o.Currency), Currency: o.Currency, ReservedAt: o.ReservedAt,
			CreatedAt: o.CreatedAt, PayBy: o.PayBy, SettledAt: o.SettledAt, PaymentID: o.PaymentID,
		}
	})
	return page{SaleID: r.id, Orders: &entries, Next: next}, err
}

func (h *Handler) exportRefunds(ctx context.Context, r request, limit int) (any, error) {
	found, err := h.Orders.Refunds(ctx, r.id, r.After, limit+1)
	if err != nil {
		return nil, err
	}
	entries, next, err := fill(found, limit, func(d order.Refund) (string, any) {
		return d.WebhookID, exportedRefund{
			WebhookID: d.WebhookID, PaymentID: d.PaymentID, OrderID: d.OrderID, ItemID: d.ItemID, UserID: d.UserID,
			Status: d.State, Amount: sale.FormatPrice(d.AmountMinor, d.Currency), Currency: d.Currency, ReceivedAt: d.ReceivedAt,
		}
	})
	return page{SaleID: r.id, Refunds: &entries, Next: next}, err
}

// fill makes a page of found, which holds one entry more than the limit if there
// is another page. A page has at least one entry, however long.
func fill[T any](found []T, limit int, view func(T) (id string, entry any)) (entries []json.RawMessage, next *string, err error) {
	entries = make([]json.RawMessage, 0, len(found))
	size, last := 0, ""
	for _, f := range found {
		id, entry := view(f)
		text, err := json.Marshal(entry)
		if err != nil {
			return nil, nil, err
		}
		if len(entries) == limit || len(entries) > 0 && size+len(text) > pageBytes {
			return entries, &last, nil
		}
		entries, size, last = append(entries, text), size+len(text), id
	}
	return entries, nil, nil
}
