package orderlog_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/servers"
	"flashsale/shared/orderlog"
)

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	topic := newTopic(t, "orders-dlq", 1)
	letters := orderlog.NewDeadLetters(newClient(t, servers.KafkaBrokers(t)), topic)
	rec := orderlog.Record{
		Topic: "orders", Partition: 3, Offset: 42, Timestamp: time.Date(2026, 1, 1, 12, 0, 0, 5_000_000, time.UTC),
		Key: []byte("\x00key"), Value: []byte("\xff{broken"),
		Headers: []orderlog.Header{{Key: "trace", Value: []byte{0x80}}, {Key: "fs-reason", Value: []byte("of an earlier time")}, {Key: "trace", Value: nil}},
	}
	if err := letters.Put(t.Context(), rec, "not JSON"); err != nil {
		t.Fatalf("Put: %v", err)
	}
	if err := letters.Put(t.Context(), orderlog.Record{Topic: "orders"}, "empty"); err != nil {
		t.Fatalf("Put of a tombstone without a key: %v", err)
	}
	got := contents(t, topic)
	if len(got) != 2 {
		t.Fatalf("letters: got %d, want 2", len(got))
	}
	if string(got[0].Key) != "\x00key" || string(got[0].Value) != "\xff{broken" {
		t.Errorf("letter: got key %q, value %q, want the original bytes", got[0].Key, got[0].Value)
	}
	var headers string
	for _, h := range got[0].Headers {
		headers += fmt.Sprintf("%s=%q ", h.Key, h.Value)
	}
	const want = `trace="\x80" trace="" fs-reason="not JSON" fs-topic="orders" fs-partition="3" fs-offset="42" fs-timestamp="2026-01-01T12:00:00.005Z" `
	if headers != want {
		t.Errorf("headers:\n got %s\nwant %s", headers, want)
	}
	if got[1].Key != nil || len(got[1].Value) != 0 {
		t.Errorf("tombstone: got key %q, value %q, want neither", got[1].Key, got[1].Value)
	}

	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := letters.Put(over, rec, "x"); err == nil {
		t.Error("Put with a context that is over: got no error")
	}
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	topic := newTopic(t, "orders", 2)
	client := newClient(t, servers.KafkaBrokers(t), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RetryTimeout(time.Minute)) // a fresh broker takes its time for the first group
	lag := func(group string, want int64) {
		t.Helper()
		if got, err := orderlog.Lag(t.Context(), client, group, topic); err != nil || got != want {
			t.Errorf("lag of %s: got %d, %v, want %d", group, got, err, want)
		}
	}
	letters := func(want int64) {
		t.Helper()
		if got, err := orderlog.DeadLetterCount(t.Context(), client, topic); err != nil || got != want {
			t.Errorf("dead letters: got %d, %v, want %d", got, err, want)
		}
	}
	letters(0)
	for i := range 7 { // 4 in partition 0, 3 in partition 1
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Partition: int32(i % 2)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	letters(7)
	group := topic + "-writer"
	lag(group, 7)

	admin := kadm.NewClient(client)
	commit := func(partition int32, at int64) {
		t.Helper()
		var offsets kadm.Offsets
		offsets.Add(kadm.Offset{Topic: topic, Partition: partition, At: at, LeaderEpoch: -1})
		if err := admin.CommitAllOffsets(t.Context(), group, offsets); err != nil {
			t.Fatal(err)
		}
	}
	commit(0, 3)
	lag(group, 1+3)
	commit(1, 3)
	lag(group, 1)
	lag(group+"-of-nobody", 7)

	// What retention has removed is no backlog.
	var gone kadm.Offsets
	gone.Add(kadm.Offset{Topic: topic, Partition: 0, At: 4})
	if _, err := admin.DeleteRecords(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	lag(group, 0)
	letters(3)

	if _, err := orderlog.Lag(t.Context(), client, group, "no-such-topic"); err == nil {
		t.Error("lag of a missing topic: got no error")
	}
	if _, err := orderlog.DeadLetterCount(t.Context(), client, "no-such-topic"); err == nil {
		t.Error("dead letters of a missing topic: got no error")
	}
}
