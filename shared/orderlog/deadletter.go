package orderlog

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// headerPrefix marks what [DeadLetters.Put] adds to a record.
const headerPrefix = "fs-"

// DeadLetters is the topic for records that no retry can mend.
type DeadLetters struct {
	client *kgo.Client
	topic  string
}

// NewDeadLetters takes a client that was made with [ClientOptions].
func NewDeadLetters(client *kgo.Client, topic string) *DeadLetters {
	return &DeadLetters{client, topic}
}

// Put stores the record with its own key, value and headers. The headers
// fs-reason, fs-topic, fs-partition, fs-offset and fs-timestamp (RFC 3339) tell
// why and from where. It returns nil once all in-sync replicas have it; after
// an error it may be there, and a retry may store it twice.
func (d *DeadLetters) Put(ctx context.Context, rec Record, reason string) error {
	letter := &kgo.Record{Topic: d.topic, Key: rec.Key, Value: rec.Value}
	add := func(name, text string) {
		letter.Headers = append(letter.Headers, kgo.RecordHeader{Key: name, Value: []byte(text)})
	}
	for _, h := range rec.Headers {
		// A letter that was sent again and came back tells its last fate only.
		if !strings.HasPrefix(h.Key, headerPrefix) {
			letter.Headers = append(letter.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
	}
	add(headerPrefix+"reason", reason)
	add(headerPrefix+"topic", rec.Topic)
	add(headerPrefix+"partition", strconv.Itoa(int(rec.Partition)))
	add(headerPrefix+"offset", strconv.FormatInt(rec.Offset, 10))
	add(headerPrefix+"timestamp", rec.Timestamp.UTC().Format(time.RFC3339Nano))
	if err := produce(ctx, d.client, letter); err != nil {
		return fmt.Errorf("orderlog: dead letter: %w", err)
	}
	return nil
}
