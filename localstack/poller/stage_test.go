package poller_test

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/poller"
	"flashsale/localstack/servers"
	"flashsale/shared/orderlog"
)

// A function records its invocations and answers as the test says.
type function struct {
	answer func(call int, batch []orderlog.Record) ([]byte, error)

	mu    sync.Mutex
	calls [][]orderlog.Record
}

func (f *function) invoke(_ context.Context, event []byte) ([]byte, error) {
	batch, err := orderlog.ParseBatch(event)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.calls = append(f.calls, batch)
	call := len(f.calls)
	f.mu.Unlock()
	if f.answer == nil {
		return nil, nil
	}
	return f.answer(call, batch)
}

// sizes are the numbers of records of the invocations so far.
func (f *function) sizes() (sizes []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		sizes = append(sizes, len(c))
	}
	return sizes
}

// values are the records of all invocations, in order, with repetitions.
func (f *function) values(partition int32) (values []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		for _, r := range c {
			if r.Partition == partition {
				values = append(values, string(r.Value))
			}
		}
	}
	return values
}

func (f *function) count() (n int) {
	for _, size := range f.sizes() {
		n += size
	}
	return n
}

// A stage is a topic with a poller's settings.
type stage struct {
	poller.Config
	client *kgo.Client
}

func newStage(t *testing.T, partitions int32) *stage {
	t.Helper()
	s := &stage{Config: poller.Config{
		Brokers: servers.KafkaBrokers(t), Topic: servers.Topic(t, "orders", partitions),
		BatchSize: 10, Window: 200 * time.Millisecond, RetryAttempts: -1, ReportFailures: true,
		Backoff: 5 * time.Millisecond, MaxBackoff: 20 * time.Millisecond,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}}
	s.Group = s.Topic + "-writer"
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(100*time.Millisecond), kgo.UnknownTopicRetries(-1)) // a fresh topic
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	s.client = client
	return s
}

// put writes the numbers from to to-1 as records into a partition.
func (s *stage) put(t *testing.T, partition int32, from, to int) {
	t.Helper()
	var records []*kgo.Record
	for i := from; i < to; i++ {
		records = append(records, &kgo.Record{Topic: s.Topic, Partition: partition, Value: []byte(strconv.Itoa(i))})
	}
	if err := s.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatalf("put: %v", err)
	}
}

// run starts a poller; stop ends it and waits until it has left the group.
func (s *stage) run(t *testing.T, invoke poller.Invoke) (p *poller.Poller, stop func()) {
	t.Helper()
	p = poller.New(s.Config, invoke)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return p, stop
}

func (s *stage) lag(t *testing.T) int64 {
	t.Helper()
	lag, err := orderlog.Backlog(s.client, s.Group, s.Topic)(t.Context())
	if err != nil {
		t.Fatalf("lag: %v", err)
	}
	return lag
}

// eventually waits for what the poller does in its own time.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never came true: %s", what)
}
