package orderwriter_test

import (
	"fmt"
	"sync"
	"testing"

	"flashsale/functions/orderwriter"
	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// TestTwoWritersAtOnce hands one batch to two invocations at the same time, as when one is taken for dead
// and is not. Between them they write each order once, and end it once.
func TestTwoWritersAtOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	for round := range 20 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			sl := d.Open(t, 6, 1, 3)
			var placed []sale.Placed
			for i := range 6 {
				placed = append(placed, d.Reserve(t, sl, 0, fmt.Sprint("u", i)))
			}
			// Two 202s for one unit, after a failover: one of them is rejected, and both writers must mean the same.
			placed = append(placed, d.Place(sl, 1, "first"), d.Place(sl, 1, "second"))
			again := d.Place(sl, 2, "u0") // who has a hold already
			given := d.Reserve(t, sl, 2, "given up")
			d.release(t, sl, stock.Unclaimed, given, stock.Released)
			placed = append(placed, again, given)
			event := orderlog.EncodeBatch(append(d.records(placed...), d.record([]byte("bad"))))

			other := *d.h
			var both sync.WaitGroup
			both.Go(func() { twice(t, &other, event) })
			both.Go(func() { twice(t, d.h, event) })
			both.Wait()

			for _, p := range placed[:6] {
				d.WantRow(t, p.OrderID, order.Pending, "")
			}
			d.WantRow(t, again.OrderID, order.Rejected, "superseded")
			d.WantRow(t, given.OrderID, order.Rejected, "dropped")
			if a, b := d.Row(t, placed[6].OrderID).State, d.Row(t, placed[7].OrderID).State; (a == order.Pending) == (b == order.Pending) {
				t.Errorf("two orders for one unit: got %v and %v, want one of them PENDING", a, b)
			}
			for item, want := range [][4]int64{{0, 0, 0, 6}, {0, 0, 0, 1}, {3, 0, 0, 0}} {
				d.WantUnits(t, sl, item, want)
				d.WantSold(t, sl, item, int(want[3]))
			}
		})
	}
}

// twice delivers a batch that must be done with, and then once more.
func twice(t *testing.T, h *orderwriter.Handler, event []byte) {
	for range 2 {
		text, err := h.Invoke(t.Context(), event)
		if err != nil || string(text) != `{"batchItemFailures":[]}` {
			t.Errorf("answer: got %s, %v, want no failures", text, err)
		}
	}
}
