package orderlog_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"flashsale/localstack/servers"
	"flashsale/shared/orderlog"
)

func TestPublish(t *testing.T) {
	t.Parallel()

	t.Run("a success is in the log, once, under its item", func(t *testing.T) {
		t.Parallel()
		topic := newTopic(t, "orders", 3)
		producer := orderlog.NewProducer(newClient(t, servers.KafkaBrokers(t)), topic)
		const shoppers = 300
		var wg sync.WaitGroup
		for i := range shoppers {
			wg.Go(func() {
				if err := producer.Publish(t.Context(), purchase(strconv.Itoa(i))); err != nil {
					t.Errorf("Publish of %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		seen := make(map[string]int)
		for _, r := range contents(t, topic) {
			p, err := orderlog.Decode(r.Value)
			if err != nil || string(r.Key) != fmt.Sprint(p.ItemID) {
				t.Errorf("record: key %q, value %s, %v, want the item's id and a purchase", r.Key, r.Value, err)
			}
			seen[p.UserID]++
		}
		for i := range shoppers {
			if n := seen[strconv.Itoa(i)]; n != 1 {
				t.Errorf("records of shopper %d: got %d, want 1", i, n)
			}
		}
	})

	t.Run("an acknowledgement that is late: it returns in time, and the record is there", func(t *testing.T) {
		t.Parallel()
		topic := newTopic(t, "orders", 1)
		var net wire
		producer := orderlog.NewProducer(newClient(t, servers.KafkaBrokers(t), net.dialer()), topic)
		warm(t, producer)
		net.held.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		p := purchase("u1")
		if err := producer.Publish(ctx, p); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Publish: got %v, want the deadline's error", err)
		}
		landed := false
		for _, r := range contents(t, topic) {
			got, err := orderlog.Decode(r.Value)
			landed = landed || err == nil && got == p
		}
		if !landed {
			t.Error("the record is not in the log: this test shows nothing then")
		}
	})

	t.Run("a shopper who gives up takes nobody along", func(t *testing.T) {
		t.Parallel()
		topic := newTopic(t, "orders", 1)
		var net wire
		client := newClient(t, servers.KafkaBrokers(t), net.dialer())
		producer := orderlog.NewProducer(client, topic)
		warm(t, producer)
		net.held.Store(true)
		hasty, cancel := context.WithCancel(t.Context())
		patient := make(chan error, 2)
		given := make(chan error, 1)
		buffered := func(n int64) {
			for client.BufferedProduceRecords() < n {
				time.Sleep(time.Millisecond)
			}
		}
		go func() { given <- producer.Publish(hasty, purchase("hasty")) }()
		buffered(1) // the hasty one's record is the first of the request
		for i := range 2 {
			go func() { patient <- producer.Publish(t.Context(), purchase(strconv.Itoa(i))) }()
		}
		buffered(3)
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Errorf("Publish of the hasty: got %v, want cancelled", err)
		}
		time.Sleep(100 * time.Millisecond) // the client would notice the cancelled context by now
		net.held.Store(false)
		for range 2 {
			if err := <-patient; err != nil {
				t.Errorf("Publish of the patient: %v", err)
			}
		}
	})

	t.Run("without a deadline it gives up by itself, and works again later", func(t *testing.T) {
		t.Parallel()
		topic := newTopic(t, "orders", 1)
		var net wire
		client := newClient(t, servers.KafkaBrokers(t), net.dialer())
		producer := orderlog.NewProducer(client, topic)
		warm(t, producer)
		net.held.Store(true)
		if err := producer.Publish(context.WithoutCancel(t.Context()), purchase("u1")); err == nil {
			t.Error("Publish: got no error, want one without an acknowledgement")
		}
		if n := client.BufferedProduceRecords(); n != 0 {
			t.Errorf("buffered afterwards: got %d, want nothing that would be sent much later", n)
		}
		net.held.Store(false)
		warm(t, producer)
	})

	t.Run("no broker", func(t *testing.T) {
		t.Parallel()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = listener.Close() // nobody listens there now
		producer := orderlog.NewProducer(newClient(t, []string{listener.Addr().String()}), "orders")
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		for name, ctx := range map[string]context.Context{"short": short, "without a deadline": context.WithoutCancel(short)} {
			if err := producer.Publish(ctx, purchase("u1")); err == nil {
				t.Errorf("Publish, %s: got no error", name)
			}
		}
		if err := producer.Warm(short); err == nil {
			t.Error("Warm: got no error")
		}
	})

	t.Run("a full buffer refuses instead of waiting", func(t *testing.T) {
		t.Parallel()
		topic := newTopic(t, "orders", 1)
		var net wire
		producer := orderlog.NewProducer(newClient(t, servers.KafkaBrokers(t), net.dialer(), kgo.MaxBufferedRecords(1)), topic)
		warm(t, producer)
		net.held.Store(true)
		first := make(chan error, 1)
		go func() { first <- producer.Publish(t.Context(), purchase("u1")) }()
		var err error
		for err == nil || errors.Is(err, context.DeadlineExceeded) { // until the first one is in
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			err = producer.Publish(ctx, purchase("u2"))
			cancel()
		}
		if !errors.Is(err, kgo.ErrMaxBuffered) {
			t.Errorf("Publish: got %v, want a full buffer", err)
		}
		net.held.Store(false)
		<-first // which of the two was in is not the question
	})

	t.Run("a context that is over sends nothing", func(t *testing.T) {
		t.Parallel()
		topic := newTopic(t, "orders", 1)
		client := newClient(t, servers.KafkaBrokers(t))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := orderlog.NewProducer(client, topic).Publish(ctx, purchase("u1")); !errors.Is(err, context.Canceled) {
			t.Errorf("Publish: got %v, want cancelled", err)
		}
		if err := client.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(contents(t, topic)); got != 0 {
			t.Errorf("records: got %d, want none", got)
		}
	})

	t.Run("all in-sync replicas are asked for, and too few are no success", func(t *testing.T) {
		t.Parallel()
		var mu sync.Mutex
		acks := make(map[int16]int)
		brokers := fakeKafka(t, "orders", func(req *kmsg.ProduceRequest) (kmsg.Response, bool) {
			mu.Lock()
			defer mu.Unlock()
			acks[req.Acks]++
			resp := req.ResponseKind().(*kmsg.ProduceResponse)
			for _, topic := range req.Topics {
				rt := kmsg.NewProduceResponseTopic()
				rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
				for _, partition := range topic.Partitions {
					rp := kmsg.NewProduceResponseTopicPartition()
					rp.Partition, rp.ErrorCode = partition.Partition, kerr.NotEnoughReplicas.Code
					rt.Partitions = append(rt.Partitions, rp)
				}
				resp.Topics = append(resp.Topics, rt)
			}
			return resp, true
		})
		err := orderlog.NewProducer(newClient(t, brokers), "orders").Publish(t.Context(), purchase("u1"))
		if err == nil {
			t.Error("Publish: got no error, want one for too few replicas")
		}
		mu.Lock()
		defer mu.Unlock()
		if len(acks) != 1 || acks[-1] == 0 {
			t.Errorf("acks in the requests: got %v, want only -1", acks)
		}
	})

	t.Run("nothing is held back to fill a batch", func(t *testing.T) {
		t.Parallel()
		topic := newTopic(t, "orders", 1)
		duration := func(opts ...kgo.Opt) time.Duration {
			producer := orderlog.NewProducer(newClient(t, servers.KafkaBrokers(t), opts...), topic)
			warm(t, producer)
			start := time.Now()
			for range 10 {
				if err := producer.Publish(t.Context(), purchase("u1")); err != nil {
					t.Fatalf("Publish: %v", err)
				}
			}
			return time.Since(start)
		}
		ours, lingering := duration(), duration(kgo.ProducerLinger(200*time.Millisecond))
		if ours*2 > lingering {
			t.Errorf("ten records: %v, against %v with a linger of 200 ms; want less than half", ours, lingering)
		}
	})
}

func TestWarm(t *testing.T) {
	t.Parallel()
	topic := newTopic(t, "orders", 3)
	var net wire
	producer := orderlog.NewProducer(newClient(t, servers.KafkaBrokers(t), net.dialer()), topic)
	if err := producer.Warm(t.Context()); err != nil {
		t.Fatalf("Warm: %v", err)
	}
	before := net.dials.Load()
	if err := producer.Publish(t.Context(), purchase("u1")); err != nil {
		t.Fatalf("Publish: %v", err)
	}
	if after := net.dials.Load(); after != before {
		t.Errorf("connections: Publish opened %d after Warm, want none", after-before)
	}
	missing := orderlog.NewProducer(newClient(t, servers.KafkaBrokers(t)), "no-such-topic")
	if err := missing.Warm(t.Context()); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("Warm without the topic: got %v, want that it is unknown", err)
	}
}

// TestWarmConnections: make capacity counts three of an environment at each broker, and brokers
// take few.
func TestWarmConnections(t *testing.T) {
	t.Parallel()
	const brokers = 3
	cluster, err := kfake.NewCluster(kfake.NumBrokers(brokers), kfake.SeedTopics(6, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	var net wire
	if err := orderlog.NewProducer(newClient(t, cluster.ListenAddrs(), net.dialer()), "orders").Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := net.dials.Load(); n > 3*brokers || n <= 2*brokers {
		t.Errorf("connections: Warm opened %d to %d brokers, want two or three to each, and three to one of them", n, brokers)
	}
}

// warm publishes until it succeeds: a topic just made may not have its leader.
func warm(t *testing.T, producer *orderlog.Producer) {
	t.Helper()
	var err error
	for range 50 {
		if err = producer.Publish(t.Context(), purchase("warm")); err == nil {
			return
		}
	}
	t.Fatalf("Publish never succeeded: %v", err)
}
