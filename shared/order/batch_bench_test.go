package order_test

import "testing"

// BenchmarkWriteBatch writes 500 new orders per call over one connection at a time.
func BenchmarkWriteBatch(b *testing.B) {
	const size = 500
	s := open(b)
	sl := s.create(b, saleOf(1, 9_000_000))
	first := 0
	for b.Loop() {
		b.StopTimer()
		placed := s.many(sl, 0, first, size)
		first += size
		b.StartTimer()
		s.write(b, placed...)
	}
	b.ReportMetric(float64(first)/b.Elapsed().Seconds(), "orders/s")
}
