package crowd

import (
	"context"
	"encoding/json"
	"time"
)

// A Target is a flash sale that answers shoppers.
type Target interface {
	// Answer makes one call. Whatever goes wrong on the way is an answer with code 0.
	Answer(ctx context.Context, c Call) Answer
}

// An Action is what a shopper can do.
type Action int

// The actions, and what a call's ID is.
const (
	Purchase  Action = iota // an item's
	Status                  // an order's
	Cancel                  // an order's
	MyOrder                 // a sale's
	Admission               // a sale's
)

// Method is the action's HTTP method.
func (a Action) Method() string { return [...]string{"POST", "GET", "DELETE", "GET", "POST"}[a] }

// Path is where the action is, for an id.
func (a Action) Path(id string) string {
	switch a {
	case Purchase:
		return "/api/flash-sales/items/" + id + "/purchase"
	case MyOrder:
		return "/api/flash-sales/" + id + "/my-order"
	case Admission:
		return "/api/flash-sales/" + id + "/admission"
	default:
		return "/api/flash-sales/orders/" + id
	}
}

// A Call is one request of a shopper.
type Call struct {
	Action Action
	ID     string
	Token  string
	Key    string // Idempotency-Key; "" sends none
	Pass   string // X-Admission-Pass; "" sends none
}

// An Answer is what a shopper's page reads.
type Answer struct {
	Code       int // 0: none came
	RetryAfter time.Duration

	Error   string    `json:"error"`
	OrderID string    `json:"orderId"`
	Status  string    `json:"status"`
	ItemID  int64     `json:"itemId"`
	SaleID  int64     `json:"saleId"`
	Payable bool      `json:"payable"`
	OpensAt time.Time `json:"opensAt"`

	Pass      string    `json:"pass"`
	NotBefore time.Time `json:"notBefore"` // the shopper's turn
}

// ReadAnswer reads a body. One that is not the API's JSON leaves the code alone.
func ReadAnswer(code int, retryAfter time.Duration, body []byte) Answer {
	var a Answer
	if json.Unmarshal(body, &a) != nil {
		a = Answer{}
	}
	a.Code, a.RetryAfter = code, retryAfter
	return a
}

// busy says nothing about a purchase except "again".
func (a Answer) busy() bool { return a.Code == 0 || a.Code == 429 || a.Code >= 500 }

// unknown tells that the call may have had its effect: all but a 429, which comes
// before anything is done.
func (a Answer) unknown() bool { return a.Code == 0 || a.Code >= 500 }

// named tells that the answer names an order of the shopper.
func (a Answer) named() bool {
	return a.OrderID != "" && (a.Code == 202 || a.Code == 409 && a.Error == "ALREADY_PURCHASED")
}
