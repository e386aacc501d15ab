package recovery_test

import (
	"fmt"
	"testing"

	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// written makes n orders without a purchase: rows, and confirmed holds.
func (b *bench) written(t testing.TB, sl sale.Sale, n int) {
	t.Helper()
	placed := make([]sale.Placed, n)
	for i := range placed {
		placed[i] = b.Place(sl, 0, fmt.Sprintf("buyer-%d", i))
	}
	if _, err := b.Stock.Adopt(t.Context(), stock.Of(&sl), placed); err != nil {
		t.Fatal(err)
	}
	b.writes(t, sl, placed)
}

// TestReconcileTrips reconciles sales of different sizes, sound ones and ones that have
// lost all their holds. Nothing is asked order by order: only the scan of the holds, a
// thousand at a time, and the adoption, 4,000 at a time, take more trips for more.
func TestReconcileTrips(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	trips := b.Count(t)
	b.keeper.Orders = b.Orders
	type cost struct{ sql, redis int }
	costs := map[string][]cost{}
	for _, n := range []int{100, 5000} {
		sl := b.Open(t, n)
		b.written(t, sl, n)
		for _, state := range []string{"sound", "lost"} {
			adopted := 0
			if state == "lost" {
				b.Redis.Del(t.Context(), shoptest.Key(sl, "holds"))
				adopted = n
			}
			trips.Take()
			got, err := b.keeper.Reconcile(t.Context(), &sl)
			if err != nil || got.Adopted != adopted {
				t.Fatalf("%s: got %+v, %v, want %d adopted", state, got, err, adopted)
			}
			sql, redis := trips.Take()
			costs[state] = append(costs[state], cost{sql, redis})
			b.WantUnits(t, sl, 0, [4]int64{0, 0, 0, int64(n)})
		}
	}
	for state, c := range costs {
		t.Logf("%s: %+v", state, c)
		if c[1].sql != c[0].sql || c[1].redis > c[0].redis+20 {
			t.Errorf("%s: got %+v for 100 orders and %+v for 5,000, want the same but for scans", state, c[0], c[1])
		}
	}
}

// BenchmarkReconcile is a sale of a hundred thousand orders: a sound one, and one that
// has lost all holds.
func BenchmarkReconcile(b *testing.B) {
	const n = 100_000
	w := newBench(b)
	sl := w.Open(b, n)
	w.written(b, sl, n)
	for _, lost := range []bool{false, true} {
		b.Run(fmt.Sprint("lost=", lost), func(b *testing.B) {
			for b.Loop() {
				if lost {
					w.Redis.Del(b.Context(), shoptest.Key(sl, "holds"))
				}
				got, err := w.keeper.Reconcile(b.Context(), &sl)
				if err != nil || lost != (got.Adopted == n) {
					b.Fatalf("got %+v, %v", got, err)
				}
			}
		})
	}
}
