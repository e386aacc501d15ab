package stock_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/localstack/servers"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// BenchmarkReserve lets 256 callers win, each call for a new shopper. Compare it
// with redis-benchmark -P 16 on the same server and script.
func BenchmarkReserve(b *testing.B) {
	rdb, err := connect.Redis(config.Redis{URL: config.Secret(servers.RedisURL(b)), PoolSize: 64})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = rdb.Close() })
	mint, err := sale.NewMint([]byte("a secret of the tests"), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	for _, pipelined := range []bool{false, true} {
		b.Run(fmt.Sprint("pipelined=", pipelined), func(b *testing.B) {
			const callers = 256
			s := stock.New(rdb, stock.Pipelined(pipelined))
			sh, item := stock.Shards{Sale: sale.ID(servers.SaleID()), N: 1}, sale.ItemID(servers.ItemID())
			b.Cleanup(func() { _ = s.Drop(context.WithoutCancel(b.Context()), sh) })
			if _, err := s.SetQuota(b.Context(), sh, 0, 1, map[sale.ItemID]int{item: b.N}, true); err != nil {
				b.Fatal(err)
			}
			set := sale.Settings{Version: 1, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(time.Hour)}
			if _, err := s.Steer(b.Context(), sh, 0, set); err != nil {
				b.Fatal(err)
			}
			var next atomic.Int64
			var wg sync.WaitGroup
			took := make([][]time.Duration, callers)
			b.ReportAllocs()
			b.ResetTimer()
			for caller := range callers {
				wg.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						user, start := fmt.Sprint("shopper-", i), time.Now()
						got, err := s.Reserve(b.Context(), sh, stock.Attempt{OrderID: mint.New(sh.Sale, user), UserID: user, ItemID: item})
						if err != nil || got.Outcome != stock.Reserved {
							b.Errorf("shopper %d: %v, %v", i, got.Outcome, err)
							return
						}
						took[caller] = append(took[caller], time.Since(start))
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			all := slices.Concat(took...)
			slices.Sort(all)
			b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
