// Package liar is a small flash sale that lies on demand: what tests hold the verdict
// of a stampede against.
//
// It promises to tell exactly the lie that it was made for, and otherwise the truth.
package liar

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The sale that is on.
const (
	Sale = 7
	Item = 1001
)

// A Lie is what the sale does wrong.
type Lie string

// The lies.
const (
	Honest         Lie = "honest"
	OneTooMany     Lie = "sells one too many"
	LosesOrder     Lie = "loses an order"
	ShowsAnother   Lie = "shows another's order"
	SecondOrder    Lie = "answers a double click with a second order"
	SameOrder      Lie = "gives two shoppers the same order"
	KeepsUnit      Lie = "keeps a unit back"
	Rejects        Lie = "takes a 202 back"
	ForgetsPayment Lie = "forgets a payment"
	ForgetsCancel  Lie = "forgets a cancel"
	NeverWrites    Lie = "never writes an order"
	Breaks         Lie = "breaks now and then"
	OnlyBusy       Lie = "never answers anything but try again"
	HadBefore      Lie = "refuses all for orders that they do not have"
	AdmitsEarly    Lie = "sells before a shopper's turn"
	NeverAdmits    Lie = "takes no pass for good"

	// No lies: networks and overloaded systems do so.
	Flaky   Lie = "does the work and loses the answer"
	GivesUp Lie = "gives a purchase up and shows it as rejected"
	Late    Lie = "has a cancelled unit on sale again only after a while"

	// Draws is honest, and draws lots as the two that lie about passes do.
	Draws Lie = "draws lots"
)

// late is that while.
const late = 1500 * time.Millisecond

// turns is when the last shopper's begins, after asking for a pass.
const turns = 4 * time.Second

// A Shop is the sale. The bearer token is the shopper's name.
type Shop struct {
	lie   Lie
	units int

	mu     sync.Mutex
	orders map[string]*order // by shopper
	ids    int
	calls  int
	turns  map[string]time.Time // by shopper, who has asked for a pass
}

type order struct {
	id, key, status string
	cancelled       time.Time
	asked           int
	odd             bool // the one that is lied about
}

// New puts units on sale.
func New(lie Lie, units int) *Shop {
	return &Shop{lie: lie, units: units, orders: map[string]*order{}, turns: map[string]time.Time{}}
}

// Held counts orders that hold a unit.
func (s *Shop) Held() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held()
}

func (s *Shop) held() (n int) {
	for _, o := range s.orders {
		if o.status == "PENDING" || o.status == "PAID" || s.lie == Late && time.Since(o.cancelled) < late {
			n++
		}
	}
	return n
}

// Shoppers counts who pressed.
func (s *Shop) Shoppers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.orders)
}

// ServeHTTP answers as the API does.
func (s *Shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	code, body := s.answer(r)
	s.calls++
	lost := s.lie == Flaky && s.calls%4 == 0
	s.mu.Unlock()
	if lost {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Retry-After", "0")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

type fields = map[string]any

func (s *Shop) answer(r *http.Request) (int, fields) {
	shopper, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	path, _ := strings.CutPrefix(r.URL.Path, "/api/flash-sales/")
	id, isOrder := strings.CutPrefix(path, "orders/")
	paid, isPay := strings.CutPrefix(path, "/pay/")
	switch {
	case isPay:
		return s.pay(paid)
	case path == fmt.Sprint(Sale):
		return 200, fields{"opensAt": time.Now().Add(-time.Minute), "admission": s.draws(), "items": []fields{{"itemId": Item}}}
	case s.lie == OnlyBusy:
		return 503, fields{"error": "TRY_AGAIN"}
	case path == fmt.Sprintf("%d/admission", Sale):
		if s.turns[shopper].IsZero() {
			s.turns[shopper] = time.Now().Add(turns * time.Duration(1+len(s.turns)%5) / 5)
		}
		return 200, fields{"pass": "pass-of-" + shopper, "notBefore": s.turns[shopper]}
	case path == fmt.Sprintf("items/%d/purchase", Item) && !s.admitted(shopper, r.Header.Get("X-Admission-Pass")):
		if turn := s.turns[shopper]; turn.After(time.Now()) {
			return 403, fields{"error": "ADMISSION_REQUIRED", "notBefore": turn}
		}
		return 403, fields{"error": "ADMISSION_REQUIRED"}
	case path == fmt.Sprintf("items/%d/purchase", Item):
		return s.purchase(shopper, r.Header.Get("Idempotency-Key"))
	case path == fmt.Sprintf("%d/my-order", Sale):
		if o := s.orders[shopper]; o != nil && o.status != "" {
			return s.show(o)
		}
		return 404, fields{"error": "NO_ORDER"}
	case isOrder && r.Method == http.MethodDelete:
		return s.cancel(shopper, id)
	case isOrder:
		if o := s.orders[shopper]; o != nil && o.id == id && !(s.lie == LosesOrder && o.odd) {
			return s.show(o)
		}
		return 404, fields{"error": "UNKNOWN_ORDER"}
	}
	return 404, fields{"error": "NOT_FOUND"}
}

func (s *Shop) draws() bool { return s.lie == Draws || s.lie == AdmitsEarly || s.lie == NeverAdmits }

func (s *Shop) admitted(shopper, pass string) bool {
	switch {
	case !s.draws(), s.lie == AdmitsEarly:
		return true
	case s.lie == NeverAdmits:
		return false
	}
	return pass == "pass-of-"+shopper && !s.turns[shopper].After(time.Now())
}

func (s *Shop) purchase(shopper, key string) (int, fields) {
	if s.lie == Breaks && s.calls%50 == 49 {
		return 500, fields{"error": "INTERNAL"}
	}
	if s.lie == HadBefore {
		return 409, fields{"error": "ALREADY_PURCHASED", "orderId": "order-of-" + shopper}
	}
	own := s.orders[shopper]
	if own == nil {
		own = &order{}
		s.orders[shopper] = own
	}
	if own.status != "" && own.status != "REJECTED" {
		if s.lie == SecondOrder {
			own.id = s.newID()
		} else if own.key != key {
			return 409, fields{"error": "ALREADY_PURCHASED", "orderId": own.id}
		}
		return 202, fields{"orderId": own.id, "status": "PENDING"}
	}
	most := s.units
	switch s.lie {
	case OneTooMany:
		most++
	case KeepsUnit:
		most--
	}
	if s.held() >= most {
		return 410, fields{"error": "SOLD_OUT"}
	}
	id := s.newID()
	if s.lie == GivesUp && own.id == "" && s.ids%2 == 0 {
		*own = order{id: id, status: "REJECTED"}
		return 503, fields{"error": "TRY_AGAIN"}
	}
	if s.lie == SameOrder && s.ids == 3 {
		id = "order-2"
	}
	*own = order{id: id, key: key, status: "PENDING", odd: s.ids == 4}
	return 202, fields{"orderId": own.id, "status": "PENDING"}
}

func (s *Shop) newID() string {
	s.ids++
	return fmt.Sprintf("order-%d", s.ids)
}

// show writes an order the second time it is asked for.
func (s *Shop) show(o *order) (int, fields) {
	o.asked++
	id, status := o.id, o.status
	written := o.asked > 1
	switch {
	case s.lie == ShowsAnother && o.odd:
		id = "order-1"
	case s.lie == NeverWrites && o.odd:
		written = false
	case s.lie == Rejects && o.odd && written:
		status = "REJECTED"
	}
	return 200, fields{"orderId": id, "status": status, "itemId": Item, "saleId": Sale, "payable": written && status == "PENDING"}
}

func (s *Shop) pay(id string) (int, fields) {
	for _, o := range s.orders {
		if o.id == id && o.status == "PENDING" {
			if s.lie != ForgetsPayment {
				o.status = "PAID"
			}
			return 200, fields{"status": 204}
		}
	}
	return 200, fields{"status": 400}
}

func (s *Shop) cancel(shopper, id string) (int, fields) {
	o := s.orders[shopper]
	if o == nil || o.id != id || o.status != "PENDING" {
		return 409, fields{"error": "ORDER_NOT_CANCELLABLE"}
	}
	if s.lie != ForgetsCancel {
		o.status, o.cancelled = "CANCELLED", time.Now()
	}
	return 200, fields{"orderId": id, "status": "CANCELLED", "itemId": Item, "saleId": Sale}
}
