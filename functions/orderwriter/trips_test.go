package orderwriter_test

import (
	"crypto/rand"
	"slices"
	"testing"

	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// held are n orders of as many new shoppers, with their holds.
func (d *desk) held(t *testing.T, sl sale.Sale, n int) []sale.Placed {
	t.Helper()
	placed := make([]sale.Placed, n)
	for i := range placed {
		placed[i] = d.Place(sl, 0, "u"+rand.Text())
	}
	if _, err := d.Stock.Adopt(t.Context(), stock.Of(&sl), placed); err != nil {
		t.Fatal(err)
	}
	return placed
}

// TestTrips writes batches of different sizes: a batch takes as many round trips as one
// order does.
func TestTrips(t *testing.T) {
	t.Parallel()
	d := open(t)
	trips := d.Count(t)
	d.h.Orders = d.Orders
	sl := d.Open(t, 1000)
	for _, n := range []int{1, 500} {
		event := orderlog.EncodeBatch(d.records(d.held(t, sl, n)...))
		trips.Take()
		if again := deliver(t, d.h, event); len(again) != 0 {
			t.Fatalf("got %v again, want none", again)
		}
		// Homes; rows, guard and what the shop is told. Claim and confirm.
		if sql, redis := trips.Take(); sql != 2 || redis != 2 {
			t.Errorf("%d orders: got %d trips to PostgreSQL and %d to Redis, want 2 and 2", n, sql, redis)
		}
	}
	d.WantSold(t, sl, 0, 501)
}

// TestDoubleClicks writes a batch in which some records came before and some come twice:
// the others are as cheap as without those.
func TestDoubleClicks(t *testing.T) {
	t.Parallel()
	d := open(t)
	trips := d.Count(t)
	d.h.Orders = d.Orders
	sl := d.Open(t, 100)
	before, fresh := d.held(t, sl, 20), d.held(t, sl, 20)
	d.writes(t, d.records(before...)...)
	event := orderlog.EncodeBatch(d.records(slices.Concat(fresh, before[:5], fresh[:5])...))
	trips.Take()
	if again := deliver(t, d.h, event); len(again) != 0 {
		t.Fatalf("got %v again, want none", again)
	}
	// On top of the trips of a batch of new ones: begin, rows, what they are, commit; confirm.
	if sql, redis := trips.Take(); sql != 6 || redis != 3 {
		t.Errorf("got %d trips to PostgreSQL and %d to Redis, want 6 and 3", sql, redis)
	}
	d.WantSold(t, sl, 0, 40)
}
