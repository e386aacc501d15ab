package recovery_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"flashsale/localstack/servers"
	"flashsale/shared/orderlog"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
)

// TestRebuildBesideAnotherSale loses one sale while the other's records come faster than they are
// written, and its partition is stuck. The lost one must be on sale again all the same.
func TestRebuildBesideAnotherSale(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	lost := b.Open(t, 10)
	topic := servers.Topic(t, "orders", 16)
	kafka := shoptest.Kafka(t, servers.KafkaBrokers(t), topic)
	log, admin := orderlog.NewProducer(kafka, topic), kadm.NewClient(kafka)
	keeper := &recovery.Keeper{
		Orders: b.Orders, Stock: b.Stock, UnderWay: time.Second, Mark: orderlog.Marker(kafka, "group-of-"+topic, topic),
	}
	ends := func() kadm.Offsets {
		ends, err := admin.ListEndOffsets(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		return ends.Offsets()
	}
	sold := b.Reserve(t, lost, 0, "ann")
	if err := log.Publish(t.Context(), sold); err != nil {
		t.Fatal(err)
	}
	first := ends()
	busy := b.Open(t, 10)
	for b.publish(t, log, busy); used(ends()) < 2; b.publish(t, log, busy) {
		busy = b.Open(t, 10) // its records lie in the lost sale's partition
	}
	var mine kadm.Offsets // of the lost sale's partition, with what the loop above put there
	first.Each(func(was kadm.Offset) {
		if was.At > 0 {
			end, _ := ends().Lookup(topic, was.Partition)
			mine.Add(end)
		}
	})
	b.wipe(t, lost)

	over, selling := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-over:
				selling <- nil
				return
			case <-time.After(10 * time.Millisecond):
			}
			if err := log.Publish(t.Context(), b.Place(busy, 0, "bob")); err != nil {
				selling <- err
				return
			}
		}
	}()
	defer func() {
		close(over)
		if err := <-selling; err != nil {
			t.Error(err)
		}
	}()
	if _, err := keeper.Rebuild(t.Context(), &lost); err == nil {
		t.Fatal("rebuilt before the sale's own record was written")
	}
	b.Write(t, sold)
	if err := admin.CommitAllOffsets(t.Context(), "group-of-"+topic, mine); err != nil {
		t.Fatal(err)
	}
	if got, err := keeper.Rebuild(t.Context(), &lost); err != nil || got.Adopted != 1 {
		t.Fatalf("rebuild: got %+v, %v, want 1 adopted", got, err)
	}
	b.WantUnits(t, lost, 0, [4]int64{9, 0, 0, 1})
}

func (b *bench) publish(t *testing.T, log recovery.Log, sl sale.Sale) {
	t.Helper()
	if err := log.Publish(t.Context(), b.Place(sl, 0, "eve")); err != nil {
		t.Fatal(err)
	}
}

// used counts the partitions that have records.
func used(ends kadm.Offsets) (n int) {
	ends.Each(func(end kadm.Offset) {
		if end.At > 0 {
			n++
		}
	})
	return n
}
