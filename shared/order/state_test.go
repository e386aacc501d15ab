package order_test

import (
	"testing"
	"time"

	"flashsale/shared/order"
)

var states = []order.State{order.Pending, order.Paid, order.Expired, order.Cancelled, order.Rejected}

func TestActive(t *testing.T) {
	t.Parallel()
	for _, state := range states {
		if want := state == order.Pending || state == order.Paid; state.Active() != want {
			t.Errorf("%s active: got %v, want %v", state, state.Active(), want)
		}
	}
}

func TestStatesAreTheDatabases(t *testing.T) {
	t.Parallel()
	s := open(t)
	insert := `INSERT INTO flash_sale_order (id, sale_id, item_id, user_id, status, reason, price_minor, currency,
		reserved_at, created_at, expires_at, settled_at)
		SELECT gen_random_uuid(), 1, 1, gen_random_uuid(), $1::text, CASE WHEN $1::text = 'REJECTED' THEN 'x' END, 1, 'EUR', now(), now(),
		CASE WHEN $1::text <> 'REJECTED' THEN now() END, CASE WHEN $1::text <> 'PENDING' THEN now() END`
	for _, state := range states {
		if _, err := s.pool.Exec(t.Context(), insert, string(state)); err != nil {
			t.Errorf("%s: got %v, want it accepted", state, err)
		}
	}
	if _, err := s.pool.Exec(t.Context(), insert, "RESERVED"); err == nil {
		t.Error("RESERVED: got accepted, want chk_order_state to refuse it")
	}
}

func TestPayable(t *testing.T) {
	t.Parallel()
	pending := order.Order{State: order.Pending, PayBy: start}
	paid := order.Order{State: order.Paid, PayBy: start}
	for _, c := range []struct {
		name string
		o    order.Order
		now  time.Time
		want bool
	}{
		{"before payBy", pending, start.Add(-time.Millisecond), true},
		{"at payBy", pending, start, false},
		{"after payBy", pending, start.Add(time.Millisecond), false},
		{"paid", paid, start.Add(-time.Millisecond), false},
	} {
		if got := c.o.Payable(c.now); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
