package orderlog_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/servers"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
)

// A marked topic has orders of several items, and a group that commits what the test says.
type marked struct {
	topic, group string
	client       *kgo.Client
	producer     *orderlog.Producer
}

func markedTopic(t *testing.T, partitions int32) *marked {
	t.Helper()
	m := &marked{topic: newTopic(t, "orders", partitions)}
	m.group = m.topic + "-writer"
	m.client = newClient(t, servers.KafkaBrokers(t), kgo.RetryTimeout(time.Minute))
	m.producer = orderlog.NewProducer(m.client, m.topic)
	return m
}

// publish writes n orders of one item.
func (m *marked) publish(t *testing.T, item sale.ItemID, n int) {
	t.Helper()
	for range n {
		p := purchase("u")
		p.ItemID = item
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := m.producer.Publish(ctx, p)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// ends are where the partitions end.
func (m *marked) ends(t *testing.T) kadm.Offsets {
	t.Helper()
	ends, err := kadm.NewClient(m.client).ListEndOffsets(t.Context(), m.topic)
	if err != nil {
		t.Fatal(err)
	}
	return ends.Offsets()
}

func (m *marked) commit(t *testing.T, partition int32, at int64) {
	t.Helper()
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: m.topic, Partition: partition, At: at, LeaderEpoch: -1})
	if err := kadm.NewClient(m.client).CommitAllOffsets(t.Context(), m.group, offsets); err != nil {
		t.Fatal(err)
	}
}

func (m *marked) mark(t *testing.T, items ...sale.ItemID) (want func(bool)) {
	t.Helper()
	written, err := orderlog.Marker(m.client, m.group, m.topic)(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	return func(want bool) {
		t.Helper()
		if got, err := written(t.Context()); got != want || err != nil {
			t.Errorf("written until the mark: got %v, %v, want %v", got, err, want)
		}
	}
}

// TestMarkerKnowsThePartition asks of many items where the producer puts them.
func TestMarkerKnowsThePartition(t *testing.T) {
	t.Parallel()
	m := markedTopic(t, 5)
	used := map[int32]bool{}
	for range 20 {
		before, item := m.ends(t), sale.ItemID(servers.ItemID())
		m.publish(t, item, 1)
		wrote := int32(-1)
		m.ends(t).Each(func(end kadm.Offset) {
			if was, _ := before.Lookup(m.topic, end.Partition); was.At < end.At {
				wrote = end.Partition
			}
		})
		used[wrote] = true
		want := m.mark(t, item)
		end, _ := m.ends(t).Lookup(m.topic, wrote)
		m.commit(t, wrote, end.At-1)
		want(false)
		m.commit(t, wrote, end.At)
		want(true)
	}
	if len(used) < 2 {
		t.Errorf("partitions: got %v, want several", used)
	}
}

func TestMarker(t *testing.T) {
	t.Parallel()
	t.Run("what comes after the mark does not count", func(t *testing.T) {
		t.Parallel()
		m := markedTopic(t, 1)
		m.publish(t, 7, 2)
		want := m.mark(t, 7)
		want(false) // the group has never committed
		m.publish(t, 7, 3)
		m.commit(t, 0, 1)
		want(false)
		m.commit(t, 0, 2)
		want(true)
	})
	t.Run("all the items count", func(t *testing.T) {
		t.Parallel()
		m := markedTopic(t, 2)
		m.publish(t, 1, 1)
		other := sale.ItemID(2)
		for m.publish(t, other, 1); countUsed(m.ends(t)) < 2; other++ {
			m.publish(t, other+1, 1)
		}
		both := m.mark(t, 1, other)
		m.ends(t).Each(func(end kadm.Offset) {
			both(false)
			m.commit(t, end.Partition, end.At)
		})
		both(true)
	})
	t.Run("what retention removed is written as far as can be", func(t *testing.T) {
		t.Parallel()
		m := markedTopic(t, 1)
		m.publish(t, 7, 2)
		want := m.mark(t, 7)
		want(false)
		var gone kadm.Offsets
		gone.Add(kadm.Offset{Topic: m.topic, Partition: 0, At: 2})
		if _, err := kadm.NewClient(m.client).DeleteRecords(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		want(true)
	})
	t.Run("no topic", func(t *testing.T) {
		t.Parallel()
		m := markedTopic(t, 1)
		if _, err := orderlog.Marker(m.client, m.group, "no-such-topic")(t.Context(), nil); err == nil {
			t.Error("mark: got no error")
		}
	})
}

func countUsed(ends kadm.Offsets) (used int) {
	ends.Each(func(end kadm.Offset) {
		if end.At > 0 {
			used++
		}
	})
	return used
}
