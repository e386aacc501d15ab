package orderlog_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
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
		if got, err := orderlog.Backlog(client, group, topic)(t.Context()); err != nil || got != want {
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

	if _, err := orderlog.Backlog(client, group, "no-such-topic")(t.Context()); err == nil {
		t.Error("lag of a missing topic: got no error")
	}
	if _, err := orderlog.DeadLetterCount(t.Context(), client, "no-such-topic"); err == nil {
		t.Error("dead letters of a missing topic: got no error")
	}
}

// noise is n bytes that no compression makes smaller.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

// limited makes a topic that takes records up to that size.
func limited(t *testing.T, size int) string {
	t.Helper()
	topic := newTopic(t, "limited", 1)
	client := newClient(t, servers.KafkaBrokers(t))
	limit := strconv.Itoa(size)
	if _, err := kadm.NewClient(client).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "max.message.bytes", Value: &limit}}, topic); err != nil {
		t.Fatal(err)
	}
	for { // the broker hears of it a little later; its topic keeps nothing of this
		err := client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: noise(size)}).FirstErr()
		if errors.Is(err, kerr.MessageTooLarge) {
			return topic
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestTooLargeLetters: what does not fit is cut, because a letter that can never
// be stored would stop its partition for good.
func TestTooLargeLetters(t *testing.T) {
	t.Parallel()
	const part = 64 << 10
	usual, small, tiny := newTopic(t, "letters", 1), limited(t, 100_000), limited(t, 2_000)
	client := newClient(t, servers.KafkaBrokers(t))
	for name, c := range map[string]struct {
		topic              string
		key, value, header int // sizes
		wantKey, wantValue int
		cut                bool
	}{
		"fits":                             {usual, 10, 900_000, 10, 10, 900_000, false},
		"too large with its own headers":   {usual, 10, 990_000, 20_000, 10, 990_000, true},
		"as large as its topic allows":     {usual, 10, 1_000_000, 0, 10, part, true},
		"larger than any":                  {usual, 10, 3_000_000, 10, 10, part, true},
		"a key that is too large":          {usual, 1_100_000, 100, 0, part, 100, true},
		"too large for the broker's topic": {small, 10, 200_000, 10, 10, part, true},
		"a topic for small records":        {tiny, 10, 200_000, 10, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			rec := orderlog.Record{Topic: "orders", Key: noise(c.key), Value: noise(c.value), Headers: []orderlog.Header{{Key: "trace", Value: noise(c.header)}}}
			before := len(contents(t, c.topic))
			if err := orderlog.NewDeadLetters(client, c.topic).Put(t.Context(), rec, "too large"); err != nil {
				t.Fatalf("Put: %v", err)
			}
			got := contents(t, c.topic)
			if len(got) != before+1 {
				t.Fatalf("letters: got %d, want one more than %d", len(got), before)
			}
			letter := got[before]
			if !bytes.Equal(letter.Key, rec.Key[:c.wantKey]) || !bytes.Equal(letter.Value, rec.Value[:c.wantValue]) {
				t.Errorf("letter: got %d bytes of key, %d of value, want the first %d and %d", len(letter.Key), len(letter.Value), c.wantKey, c.wantValue)
			}
			headers := map[string]string{}
			for _, h := range letter.Headers {
				headers[h.Key] = string(h.Value)
			}
			if headers["fs-reason"] != "too large" || headers["fs-topic"] != "orders" {
				t.Errorf("headers: got %v, want reason and place", headers)
			}
			var size, sum string
			if c.cut {
				size, sum = strconv.Itoa(c.value), fmt.Sprintf("%x", sha256.Sum256(rec.Value))
			}
			if _, own := headers["trace"]; own == c.cut || headers["fs-truncated"] != size || headers["fs-sha256"] != sum {
				t.Errorf("own header: got %t; fs-truncated %q, fs-sha256 %q, want %q, %q", own, headers["fs-truncated"], headers["fs-sha256"], size, sum)
			}
		})
	}
}

// TestLongReasons: a fault is told in words of the record, which may be endless.
func TestLongReasons(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("é", 225_000)
	value := fmt.Appendf(nil, `{"%s":1,"%s":2}`, key, key)
	_, err := orderlog.Decode(value)
	poison, ok := errors.AsType[*orderlog.Poison](err)
	if !ok || len(poison.Reason) > 500 || !utf8.ValidString(poison.Reason) || !strings.HasPrefix(poison.Reason, `"éé`) {
		t.Errorf("Decode: got a reason of %d bytes, %.20q, want a readable one of 500 at most", len(poison.Reason), poison.Reason)
	}
	topic := newTopic(t, "letters", 1)
	letters := orderlog.NewDeadLetters(newClient(t, servers.KafkaBrokers(t)), topic)
	if err := letters.Put(t.Context(), orderlog.Record{Topic: "orders", Value: value}, "a"+key+"\xff"); err != nil {
		t.Fatalf("Put: %v", err)
	}
	got := contents(t, topic)
	if len(got) != 1 || !bytes.Equal(got[0].Value, value) {
		t.Fatalf("letters: got %d, want the whole value in one", len(got))
	}
	if reason, want := string(got[0].Headers[0].Value), "a"+strings.Repeat("é", 249); reason != want {
		t.Errorf("reason: got %d bytes, want %d", len(reason), len(want))
	}
}
