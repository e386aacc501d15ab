package orderlog

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"flashsale/shared/sale"
	"flashsale/shared/tracing"
)

// ClientOptions are what a client needs for [Producer] and [DeadLetters];
// addresses, TLS and authentication come on top.
func ClientOptions() []kgo.Opt {
	return []kgo.Opt{
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(byKey),
		// A frozen environment sends nothing, so nothing is held back. Records
		// that come while a request is under way still share the next one.
		kgo.ProducerLinger(0),

		// Reserve, publish and release have two seconds together. After its share
		// a record is given up even if it is on the wire, which the client would
		// otherwise wait for; whoever publishes the order again may so make a
		// second record, and the writer knows orders by their id.
		kgo.RecordDeliveryTimeout(1200 * time.Millisecond),
		kgo.ProduceRequestTimeout(time.Second),
		kgo.RequestTimeoutOverhead(500 * time.Millisecond),
		kgo.AllowIdempotentProduceCancellation(),
		kgo.DialTimeout(time.Second),
		kgo.RetryTimeout(2 * time.Second),
		kgo.RetryBackoffFn(func(tries int) time.Duration { return min(time.Duration(tries)*25, 200) * time.Millisecond }),
		// After a failover the next look at the cluster must not wait for the usual 5 s.
		kgo.MetadataMinAge(100 * time.Millisecond),

		// MSK takes few new connections a second, so they are kept. The client may
		// double this, and Lambda's network forgets a silent one after 350 s.
		kgo.ConnIdleTimeout(170 * time.Second),
		kgo.MaxBufferedRecords(10_000),
		kgo.WithHooks(&recreated{}),
	}
}

// A Producer writes winning purchases to the order log. It is safe for
// concurrent use, and its client may be shared.
type Producer struct {
	client *kgo.Client
	topic  string
}

// NewProducer takes a client that was made with [ClientOptions].
func NewProducer(client *kgo.Client, topic string) *Producer {
	return &Producer{client, topic}
}

// Publish returns nil once all in-sync replicas have the record, and never
// later than ctx ends. After any error the record may still land.
func (p *Producer) Publish(ctx context.Context, pl sale.Placed) error {
	r := &kgo.Record{
		Topic: p.topic,
		Key:   itemKey(pl.ItemID),
		Value: Encode(pl),
	}
	if parent := tracing.Parent(ctx); parent != "" {
		r.Headers = []kgo.RecordHeader{{Key: tracing.Header, Value: []byte(parent)}}
	}
	err := produce(ctx, p.client, r)
	if err != nil {
		return fmt.Errorf("orderlog: publish: %w", err)
	}
	return nil
}

// itemKey leads an item's orders to one partition.
func itemKey(id sale.ItemID) []byte { return strconv.AppendInt(nil, int64(id), 10) }

// Warm opens what the first Publish would have to wait for: the producer's id
// and the connections to all brokers. It fails if there is no such topic.
func (p *Producer) Warm(ctx context.Context) error {
	if err := p.warm(ctx); err != nil {
		return fmt.Errorf("orderlog: warm: %w", err)
	}
	return nil
}

func (p *Producer) warm(ctx context.Context) error {
	if _, _, err := p.client.ProducerID(ctx); err != nil {
		return err
	}
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &p.topic
	look := kmsg.NewMetadataRequest()
	look.Topics = append(look.Topics, topic)
	cluster, err := look.RequestWith(ctx, p.client)
	if err != nil {
		return err
	}
	for _, t := range cluster.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return fmt.Errorf("topic %s: %w", p.topic, err)
		}
	}
	// The client has a connection for produce requests beside the usual one, and
	// an empty request opens it. Which broker the client will ask where the
	// partitions are is its own choice.
	empty := kmsg.NewProduceRequest()
	empty.Acks, empty.TimeoutMillis = -1, 1000
	for _, b := range cluster.Brokers {
		for _, req := range []kmsg.Request{&look, &empty} {
			if _, err := p.client.Broker(int(b.NodeID)).RetriableRequest(ctx, req); err != nil {
				return fmt.Errorf("broker %d: %w", b.NodeID, err)
			}
		}
	}
	return nil
}

// produce hands the record over without ctx: the client would abort the whole
// request, other shoppers' records included, when the first context ends. The
// waiting is ours, the record's own end is RecordDeliveryTimeout.
func produce(ctx context.Context, client *kgo.Client, rec *kgo.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	// Produce would block while the buffer is full, TryProduce refuses.
	client.TryProduce(context.WithoutCancel(ctx), rec, func(_ *kgo.Record, err error) { done <- err })
	return await(ctx, done)
}

func await(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
