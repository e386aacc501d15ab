// Package poller hands a topic's records to a function as Lambda's event source
// mapping for Kafka does, with the same event, answers and retries.
//
// It promises that every record is handled at least once and, within its
// partition, in order; that an offset is committed only when the record before
// it is done; and that it gives up on a record only if RetryAttempts says so.
//
// One loop makes one invocation at a time, of up to BatchSize records from all
// partitions together. That is the least that keeps a partition to one
// invocation, and it makes the same multi-partition events as the real mapping.
// More pollers in the group give more invocations at a time. What has failed
// once is retried alone, so a partition that cannot go on does not take part in
// the others' events.
package poller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/shared/orderlog"
)

// Invoke calls the function. An error is a function error: the whole batch failed.
type Invoke func(ctx context.Context, event []byte) ([]byte, error)

// Config has the mapping's settings under names close to Lambda's.
type Config struct {
	Brokers []string
	Topic   string
	Group   string

	BatchSize      int           // most records of an event; 0 is 500
	Window         time.Duration // how long an event waits to fill up; 0 sends what is there
	ReportFailures bool          // FunctionResponseTypes: ReportBatchItemFailures
	Bisect         bool          // BisectBatchOnFunctionError; splitting is no attempt
	RetryAttempts  int           // of a batch that makes no progress; -1 retries for ever, 0 never

	Backoff    time.Duration // before the first retry, doubled for each next one; 0 is 100 ms
	MaxBackoff time.Duration // 0 is 5 s

	Log *slog.Logger // nil is slog.Default()
}

// A Poller is one consumer of the group. Use it for one Run.
type Poller struct {
	cfg    Config
	invoke Invoke
	now    func() time.Time

	skipped atomic.Int64
	misses  int // polls in a row that brought nothing but errors

	// mu is held over each invocation and its commit, so that a partition is
	// given away only between two of them.
	mu      sync.Mutex
	lanes   map[partition]*lane
	retried bool // the last event was a retry
}

// New fills the defaults in.
func New(cfg Config, invoke Invoke) *Poller {
	if cfg.BatchSize == 0 {
		cfg.BatchSize = 500
	}
	if cfg.Backoff == 0 {
		cfg.Backoff = 100 * time.Millisecond
	}
	if cfg.MaxBackoff == 0 {
		cfg.MaxBackoff = 5 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	return &Poller{cfg: cfg, invoke: invoke, now: time.Now, lanes: make(map[partition]*lane)}
}

// backoff is how long to wait after that many failures before.
func (c Config) backoff(failures int) time.Duration {
	if failures >= 16 { // beyond that the shift could overflow
		return c.MaxBackoff
	}
	return min(c.MaxBackoff, c.Backoff<<failures)
}

// Skipped counts the records that were given up after RetryAttempts.
func (p *Poller) Skipped() int64 { return p.skipped.Load() }

// Run consumes until ctx ends. What is done by then is committed, and the group
// is left, so that the next consumer need not wait.
func (p *Poller) Run(ctx context.Context) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(p.cfg.Brokers...),
		kgo.ConsumerGroup(p.cfg.Group),
		kgo.ConsumeTopics(p.cfg.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		// Without it a partition could be lost between a poll's return and the
		// moment its records are in the lanes, and would be handled by two.
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsRevoked(p.drop),
		kgo.OnPartitionsLost(p.drop),
		// A killed development server should not keep its partitions for 45 s.
		kgo.SessionTimeout(10*time.Second),
		kgo.HeartbeatInterval(time.Second),
		// A resumed partition waits for the fetch that is under way.
		kgo.FetchMaxWait(500*time.Millisecond),
	)
	if err != nil {
		return fmt.Errorf("poller: %w", err)
	}
	defer client.CloseAllowingRebalance()
	for ctx.Err() == nil {
		p.receive(ctx, client)
		p.deliver(ctx, client)
	}
	return nil
}

// receive fills the lanes until there are records for a full event, the window
// is over, or a retry is due.
func (p *Poller) receive(ctx context.Context, client *kgo.Client) {
	fresh, until, waits := p.waiting()
	if fresh > 0 { // left over from the last event: more may join, but need not
		until, waits = p.now(), true
	}
	for fresh < p.cfg.BatchSize {
		wait := forever
		if waits {
			wait = until.Sub(p.now())
		}
		failed := false
		fetches, over := poll(ctx, client, p.cfg.BatchSize-fresh, wait)
		fetches.EachError(func(topic string, n int32, err error) {
			if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
				p.cfg.Log.Warn("poller: fetch failed", "topic", topic, "partition", n, "error", err)
				failed = true
			}
		})
		p.add(fetches.Records())
		client.AllowRebalance()
		if over {
			return
		}
		if !failed || fetches.NumRecords() > 0 {
			p.misses = 0
		} else if !p.rest(ctx, until, waits) {
			return
		}
		if fresh == 0 && fetches.NumRecords() > 0 {
			if end := p.now().Add(p.cfg.Window); !waits || end.Before(until) {
				until, waits = end, true
			}
		}
		fresh += fetches.NumRecords()
	}
}

// rest waits after a poll that brought nothing but errors, each time longer: of a
// topic that was deleted the client tells at once, as often as it is asked. A retry
// that is due does not wait for it. It is false if the poll is over by then.
func (p *Poller) rest(ctx context.Context, until time.Time, waits bool) bool {
	pause := p.cfg.backoff(p.misses)
	p.misses++
	if waits {
		pause = min(pause, until.Sub(p.now()))
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

const forever = time.Duration(math.MaxInt64)

// poll also tells whether the wait is over.
func poll(ctx context.Context, client *kgo.Client, most int, wait time.Duration) (fetches kgo.Fetches, over bool) {
	if wait <= 0 {
		// A context that is over would get nothing, not even what is there; none does.
		var none context.Context
		return client.PollRecords(none, most), true
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	fetches = client.PollRecords(ctx, most)
	return fetches, ctx.Err() != nil
}

// deliver makes one invocation, if there is something to send, and settles it.
func (p *Poller) deliver(ctx context.Context, client *kgo.Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// A cancelled invocation would fail for no reason of its own.
	batch := p.take()
	if len(batch) == 0 || ctx.Err() != nil {
		return
	}
	done := p.settle(batch, p.call(ctx, batch))
	p.pause(client, batch)
	if len(done) == 0 {
		return
	}
	// Finished work is committed even if the shutdown has begun meanwhile.
	commit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := client.CommitRecords(commit, done...); err != nil {
		// The records will come again, here or elsewhere, unless a later commit covers them.
		p.cfg.Log.Warn("poller: commit failed", "error", err)
	}
}

// call invokes the function. It returns, by partition, the offset from which on
// records must come again; a partition without one is finished.
func (p *Poller) call(ctx context.Context, batch map[partition]chunk) map[partition]int64 {
	var records []orderlog.Record
	for _, c := range batch {
		for _, r := range c.records {
			records = append(records, orderlog.Record{
				Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp,
				Key: r.Key, Value: r.Value, Headers: headers(r),
			})
		}
	}
	answer, err := p.invoke(ctx, orderlog.EncodeBatch(records))
	var failed map[partition]int64
	if err == nil && p.cfg.ReportFailures {
		failed, err = parseAnswer(answer, batch)
	}
	if err == nil {
		return failed
	}
	p.cfg.Log.Warn("poller: function failed", "records", len(records), "error", err)
	failed = make(map[partition]int64)
	for place, c := range batch {
		failed[place] = c.records[0].Offset
	}
	return failed
}

func headers(r *kgo.Record) []orderlog.Header {
	list := make([]orderlog.Header, len(r.Headers))
	for i, h := range r.Headers {
		list[i] = orderlog.Header{Key: h.Key, Value: h.Value}
	}
	return list
}
