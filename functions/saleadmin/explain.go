package saleadmin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// An explanation answers "why was this shopper refused?": by what the shopper
// holds and has ordered, and else by the sale's own state. A refusal itself
// leaves no trace; there are hundreds of thousands of them.
type explanation struct {
	SaleID sale.ID     `json:"saleId"`
	UserID string      `json:"userId"`
	Hold   *holdView   `json:"hold"`
	Orders []orderView `json:"orders"`
	Story  []chapter   `json:"story"` // oldest first
	Sale   saleView    `json:"sale"`  // as it stands now, for a shopper who holds nothing
}

type saleView struct {
	State    sale.State            `json:"state"`
	OpensAt  time.Time             `json:"opensAt"`
	ClosesAt time.Time             `json:"closesAt"`
	Paused   []sale.PauseReason    `json:"paused"`
	Doubts   []sale.ItemID         `json:"doubts"`
	Left     map[sale.ItemID]int64 `json:"left"` // units that can be bought; null if that is not known
}

type holdView struct {
	OrderID     sale.OrderID `json:"orderId"`
	ItemID      sale.ItemID  `json:"itemId"`
	Claimed     bool         `json:"claimed"`
	Unconfirmed bool         `json:"unconfirmed"`
	ReservedAt  time.Time    `json:"reservedAt"`
	PayBy       *time.Time   `json:"payBy,omitempty"`
}

type orderView struct {
	OrderID sale.OrderID `json:"orderId"`
	ItemID  sale.ItemID  `json:"itemId"`
	Status  order.State  `json:"status"`
	Reason  string       `json:"reason,omitempty"`
}

type chapter struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
}

func (h *Handler) explain(ctx context.Context, r request) (any, error) {
	if r.OrderID == "" && !sale.ValidUserID(r.UserID) {
		return nil, refusal{"BAD_REQUEST", "userId is missing or cannot be one, and there is no orderId."}
	}
	l, err := h.Orders.Listing(ctx, r.id)
	if err != nil {
		return nil, err
	}
	if r.OrderID != "" {
		if r.UserID, err = h.owner(ctx, r, &l); err != nil {
			return nil, err
		}
	}
	answer := explanation{SaleID: r.id, UserID: r.UserID, Orders: []orderView{}, Story: []chapter{}}
	tell := func(at time.Time, format string, args ...any) {
		if !at.IsZero() {
			answer.Story = append(answer.Story, chapter{at.UTC(), fmt.Sprintf(format, args...)})
		}
	}
	var hold stock.Hold
	held := false
	if !l.Archived {
		if hold, held, err = h.Stock.Hold(ctx, stock.Of(&l.Sale), r.UserID); err != nil {
			return nil, err
		}
	}
	orders, events, err := h.Orders.History(ctx, r.id, r.UserID)
	if err != nil {
		return nil, err
	}
	written := map[sale.OrderID]bool{}
	for _, o := range orders {
		written[o.ID] = true
		answer.Orders = append(answer.Orders, orderView{o.ID, o.ItemID, o.State, o.Reason})
		tell(o.ReservedAt, "reserved item %d as %s", o.ItemID, o.ID)
	}
	for _, e := range events {
		tell(e.At, "%s %s%s", e.OrderID, strings.ReplaceAll(e.Kind, "_", " "), because(e))
	}
	if held {
		view := holdView{OrderID: hold.OrderID, ItemID: hold.ItemID, Claimed: hold.Claimed, Unconfirmed: hold.Unconfirmed, ReservedAt: hold.ReservedAt}
		if !hold.PayBy.IsZero() {
			view.PayBy = &hold.PayBy
		}
		answer.Hold = &view
		if !written[hold.OrderID] {
			tell(hold.ReservedAt, "reserved item %d as %s, not written yet", hold.ItemID, hold.OrderID)
		}
	}
	slices.SortStableFunc(answer.Story, func(a, b chapter) int { return a.At.Compare(b.At) })
	answer.Sale, err = h.stands(ctx, &l)
	return answer, err
}

// owner tells whose order it is: its row says so, and until that is written its hold.
func (h *Handler) owner(ctx context.Context, r request, l *sale.Listing) (userID string, err error) {
	id, err := sale.ParseOrderID(r.OrderID)
	if err != nil || id.SaleID() != r.id || r.UserID != "" {
		return "", refusal{"BAD_REQUEST", "orderId is none of this sale, or there is a userId too."}
	}
	rows, err := h.Orders.Orders(ctx, []sale.OrderID{id})
	if row, ok := rows[id]; err != nil || ok {
		return row.UserID, err
	}
	if l.Loaded && !l.Archived {
		shards := stock.Of(&l.Sale)
		for shard := range shards.N {
			holds, err := h.Stock.Holds(ctx, shards, shard)
			if err != nil {
				return "", err
			}
			for _, hold := range holds {
				if hold.OrderID == id {
					return hold.UserID, nil
				}
			}
		}
	}
	return "", refusal{"UNKNOWN_ORDER", "No row and no hold has this order."}
}

// because is what an event says besides its kind: the reason of a rejection,
// the payment that is due back.
func because(e order.Event) string {
	var payload struct{ Reason, PaymentID string }
	if err := json.Unmarshal(e.Payload, &payload); err != nil {
		return ""
	}
	switch {
	case payload.Reason != "":
		return ": " + payload.Reason
	case payload.PaymentID != "":
		return " by payment " + payload.PaymentID
	}
	return ""
}

func (h *Handler) stands(ctx context.Context, l *sale.Listing) (saleView, error) {
	settings, err := h.Orders.Settings(ctx, l.ID)
	if err != nil {
		return saleView{}, err
	}
	v := saleView{
		State: l.StateAt(h.Now(), l.Standing), OpensAt: l.OpensAt, ClosesAt: l.ClosesAt,
		Paused: settings.Paused, Doubts: settings.Doubts,
	}
	if l.Loaded && !l.Archived {
		// A shard that is lost or damaged is being mended; the rest still explains.
		if v.Left, err = h.Stock.Left(ctx, &l.Sale); err != nil {
			h.Log.WarnContext(ctx, "units left are not known", "saleId", l.ID, "error", err)
		}
	}
	return v, nil
}
