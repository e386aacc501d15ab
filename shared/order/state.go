package order

import (
	"time"

	"flashsale/shared/sale"
)

// A State is where an order stands. The database's chk_order_state lists the same.
//
//	           ┌─ pay ────────────────────► PAID
//	PENDING ───┼─ window and grace over ──► EXPIRED
//	           └─ cancel ─────────────────► CANCELLED
//	REJECTED   never was PENDING for anybody to see
//
// All but PENDING are final. PENDING and PAID are active: they count as sold and
// keep the shopper from a second order in the sale.
type State string

// The states of an order.
const (
	Pending   State = "PENDING"
	Paid      State = "PAID"
	Expired   State = "EXPIRED"
	Cancelled State = "CANCELLED"
	Rejected  State = "REJECTED"
)

// Why WriteBatch rejects an order, as its row says. [Store.Reject] is told its reason.
const (
	ReasonGuard       = "guard"               // the rows were full although Redis had a unit
	ReasonSecondOrder = "second active order" // the shopper has another one in the sale
)

// Active tells whether an order in this state counts as sold.
func (s State) Active() bool { return s == Pending || s == Paid }

// An Order is one row. Times are UTC; a time that does not apply is zero.
type Order struct {
	ID         sale.OrderID
	SaleID     sale.ID
	ItemID     sale.ItemID
	UserID     string
	State      State
	Reason     string // only of REJECTED
	PriceMinor int64  // in the currency's smallest unit
	Currency   string // ISO 4217
	ReservedAt time.Time
	CreatedAt  time.Time // when the row was written: the payment window starts here
	PayBy      time.Time // zero for REJECTED
	SettledAt  time.Time // when it left PENDING, or was rejected; zero while PENDING
}

// Payable tells whether the shopper should pay now. A payment that arrives
// later, within the grace, is still accepted.
func (o Order) Payable(now time.Time) bool { return o.State == Pending && now.Before(o.PayBy) }
