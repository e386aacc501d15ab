package orderlog_test

import (
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"flashsale/localstack/servers"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
)

var testMint = sync.OnceValue(func() *sale.Mint {
	mint, err := sale.NewMint([]byte("a secret of the test"), time.Now)
	if err != nil {
		panic(err)
	}
	return mint
})

// purchase is a fresh one of a random sale.
func purchase(user string) sale.Placed {
	id := sale.ID(servers.SaleID())
	return sale.Placed{
		OrderID: testMint().New(id, user), SaleID: id, ItemID: sale.ItemID(servers.ItemID()),
		UserID: user, ReservedAt: time.Now().UTC().Truncate(time.Millisecond),
	}
}

func newClient(t *testing.T, brokers []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	opts = append(append(orderlog.ClientOptions(), kgo.SeedBrokers(brokers...)), opts...)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatalf("client: %v", err)
	}
	t.Cleanup(client.Close)
	return client
}

// newTopic makes one and waits until its broker knows it too.
func newTopic(t *testing.T, prefix string, partitions int32) string {
	t.Helper()
	topic := servers.Topic(t, prefix, partitions)
	admin := kadm.NewClient(newClient(t, servers.KafkaBrokers(t)))
	var err error
	for range 100 {
		var ends kadm.ListedOffsets
		if ends, err = admin.ListEndOffsets(t.Context(), topic); err == nil {
			err = ends.Error()
		}
		if err == nil {
			return topic
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("topic %s: %v", topic, err)
	return ""
}

// fakeKafka is a broker whose answers to produce requests the test decides.
func fakeKafka(t *testing.T, topic string, onProduce func(*kmsg.ProduceRequest) (kmsg.Response, bool)) []string {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, topic))
	if err != nil {
		t.Fatalf("kfake: %v", err)
	}
	t.Cleanup(cluster.Close)
	cluster.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		resp, handled := onProduce(req.(*kmsg.ProduceRequest))
		return resp, nil, handled
	})
	return cluster.ListenAddrs()
}

// contents reads all that a topic has.
func contents(t *testing.T, topic string) []*kgo.Record {
	t.Helper()
	reader := newClient(t, servers.KafkaBrokers(t), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ends, err := kadm.NewClient(reader).ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatalf("end offsets: %v", err)
	}
	missing := int64(0)
	ends.Each(func(o kadm.ListedOffset) { missing += o.Offset })
	var records []*kgo.Record
	for int64(len(records)) < missing {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("read %s: %v", topic, err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}

// A wire is a client's network: it counts connections, and while it is held
// back no answer of a broker arrives.
type wire struct {
	dials atomic.Int64
	held  atomic.Bool
}

func (w *wire) dialer() kgo.Opt {
	return kgo.Dialer(func(ctx context.Context, network, host string) (net.Conn, error) {
		w.dials.Add(1)
		conn, err := new(net.Dialer).DialContext(ctx, network, host)
		return &wireConn{Conn: conn, wire: w}, err
	})
}

type wireConn struct {
	net.Conn
	wire     *wire
	deadline atomic.Int64
	closed   atomic.Bool
}

func (c *wireConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	for c.wire.held.Load() {
		if until := c.deadline.Load(); until != 0 && time.Now().UnixNano() > until {
			return 0, os.ErrDeadlineExceeded
		}
		if c.closed.Load() {
			return 0, net.ErrClosed
		}
		time.Sleep(time.Millisecond)
	}
	return n, err
}

func (c *wireConn) SetReadDeadline(at time.Time) error {
	c.deadline.Store(0)
	if !at.IsZero() {
		c.deadline.Store(at.UnixNano())
	}
	return c.Conn.SetReadDeadline(at)
}

func (c *wireConn) SetDeadline(at time.Time) error {
	_ = c.SetReadDeadline(at)
	return c.Conn.SetDeadline(at)
}

func (c *wireConn) Close() error {
	c.closed.Store(true)
	return c.Conn.Close()
}
