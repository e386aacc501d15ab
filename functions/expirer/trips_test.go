package expirer_test

import (
	"testing"

	"flashsale/functions/expirer"
)

// TestTrips expires one order and many: up to a batch of 500 they cost the same.
func TestTrips(t *testing.T) {
	t.Parallel()
	d := open(t)
	trips := d.Count(t)
	d.h.Orders = d.Orders
	var costs [][2]int
	for _, n := range []int{1, 400} {
		sl := d.Open(t, n)
		d.sold(t, sl, n)
		d.Passes(sl.PaymentWindow + sl.Grace)
		trips.Take()
		d.passes(t, once, expirer.Result{Expired: n, Released: n})
		sql, redis := trips.Take()
		costs = append(costs, [2]int{sql, redis})
	}
	if costs[0] != costs[1] {
		t.Errorf("trips to PostgreSQL and Redis: got %v for 1 order and %v for 400, want the same", costs[0], costs[1])
	}
}
