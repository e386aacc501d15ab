package stock_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// BenchmarkReserve lets 256 callers win, each call for a new shopper, each alone, by
// go-redis' own pipeline and by ours. Of a busy machine the processors' time tells
// more than the clock. Compare it with redis-benchmark -P 16 on the same server and script.
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
	single, ok := rdb.(*redis.Client)
	if !ok {
		b.Skip("left out: it reads the processor's time of one server")
	}
	auto, err := single.AutoPipeline()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = auto.Close() })
	for name, s := range map[string]*stock.Store{
		"alone": stock.New(rdb), "autopipeline": stock.New(auto), "pipe": stock.New(rdb, stock.Pipelined(true)),
	} {
		b.Run(name, func(b *testing.B) {
			const callers = 256
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
			ours, theirs := clientTime(), serverTime(b, single)
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
			ours, theirs = clientTime()-ours, serverTime(b, single)-theirs
			b.ReportMetric(float64(ours.Nanoseconds())/1000/float64(b.N), "client-us/op")
			b.ReportMetric(float64(theirs.Nanoseconds())/1000/float64(b.N), "redis-us/op")
			all := slices.Concat(took...)
			slices.Sort(all)
			b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// clientTime is what this process has used of the processors.
func clientTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// serverTime is what Redis has used.
func serverTime(b *testing.B, rdb *redis.Client) (used time.Duration) {
	text, err := rdb.Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"used_cpu_sys:", "used_cpu_user:"} {
		_, rest, _ := strings.Cut(text, name)
		seconds, _, _ := strings.Cut(rest, "\r\n")
		part, err := time.ParseDuration(seconds + "s")
		if err != nil {
			b.Fatal(err)
		}
		used += part
	}
	return used
}
