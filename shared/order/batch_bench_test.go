package order_test

import (
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

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

// BenchmarkOneUpdatePerOrder is the simple shop that this system replaces: each
// buyer is a transaction of two statements, over six connections at once. Where
// its orders a second are enough, nothing else is needed.
func BenchmarkOneUpdatePerOrder(b *testing.B) {
	s := open(b)
	sl := s.create(b, saleOf(1, 9_000_000))
	var buyers atomic.Int64
	b.SetParallelism(3) // of two cores: six buyers
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p := s.many(sl, 0, int(buyers.Add(1)), 1)[0]
			if err := s.oneUpdate(b, p); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(buyers.Load())/b.Elapsed().Seconds(), "orders/s")
}

func (s *shop) oneUpdate(b *testing.B, p sale.Placed) error {
	return pgx.BeginFunc(b.Context(), s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(b.Context(), `
			UPDATE flash_sale_item SET sold = sold + 1 WHERE id = $1 AND sold < quantity`, int64(p.ItemID)); err != nil {
			return err
		}
		_, err := tx.Exec(b.Context(), `
			INSERT INTO flash_sale_order (id, sale_id, item_id, user_id, status, price_minor, currency,
			                              reserved_at, created_at, expires_at)
			VALUES ($1, $2, $3, $4, 'PENDING', 1999, 'EUR', now(), now(), now())`,
			[16]byte(p.OrderID), int64(p.SaleID), int64(p.ItemID), p.UserID)
		return err
	})
}
