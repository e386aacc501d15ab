package orderlog_test

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/servers"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/orderlog"
)

// BenchmarkPublish has 256 winners at a time, each waiting for its record. It
// compares what lingering would do to them.
func BenchmarkPublish(b *testing.B) {
	for _, linger := range []time.Duration{0, 2 * time.Millisecond, 5 * time.Millisecond} {
		b.Run("linger="+linger.String(), func(b *testing.B) {
			const callers = 256
			topic := servers.Topic(b, "bench", 4)
			options := append(orderlog.ClientOptions(), kgo.ProducerLinger(linger))
			client, err := connect.Kafka(config.Kafka{Brokers: servers.KafkaBrokers(b)}, options...)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(client.Close)
			producer := orderlog.NewProducer(client, topic)
			if err := producer.Warm(b.Context()); err != nil {
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
						start := time.Now()
						if err := producer.Publish(b.Context(), purchase(strconv.FormatInt(i, 10))); err != nil {
							b.Errorf("publish %d: %v", i, err)
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
			b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
