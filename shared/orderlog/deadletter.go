package orderlog

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
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
//
// A record that is too large for the topic is cut, rather than failing for ever:
// its own headers go, then all but the first 64 KiB of key and value, then those.
// A letter that was cut has fs-truncated, the bytes that the value had, and
// fs-sha256, the whole value's hash in hex. The reason is cut to 500 bytes.
func (d *DeadLetters) Put(ctx context.Context, rec Record, reason string) error {
	letter := d.letter(rec, reason)
	err := produce(ctx, d.client, letter)
	for _, keep := range []int{math.MaxInt, 64 << 10, 0} {
		// The client has a limit of its own; neither will ever think better of it.
		if !errors.Is(err, kerr.MessageTooLarge) && !errors.Is(err, kerr.RecordListTooLarge) {
			break
		}
		err = produce(ctx, d.client, cut(letter, keep))
	}
	if err != nil {
		return fmt.Errorf("orderlog: dead letter: %w", err)
	}
	return nil
}

func (d *DeadLetters) letter(rec Record, reason string) *kgo.Record {
	letter := &kgo.Record{Topic: d.topic, Key: rec.Key, Value: rec.Value}
	for _, h := range rec.Headers {
		// A letter that was sent again and came back tells its last fate only.
		if !strings.HasPrefix(h.Key, headerPrefix) {
			letter.Headers = append(letter.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
	}
	mark(letter, "reason", clip(reason))
	mark(letter, "topic", rec.Topic)
	mark(letter, "partition", strconv.Itoa(int(rec.Partition)))
	mark(letter, "offset", strconv.FormatInt(rec.Offset, 10))
	mark(letter, "timestamp", rec.Timestamp.UTC().Format(time.RFC3339Nano))
	return letter
}

// cut makes a smaller letter: without headers but ours, and with the first bytes
// of key and value.
func cut(letter *kgo.Record, keep int) *kgo.Record {
	small := &kgo.Record{
		Topic: letter.Topic,
		Key:   letter.Key[:min(keep, len(letter.Key))],
		Value: letter.Value[:min(keep, len(letter.Value))],
	}
	for _, h := range letter.Headers {
		if strings.HasPrefix(h.Key, headerPrefix) {
			small.Headers = append(small.Headers, h)
		}
	}
	mark(small, "truncated", strconv.Itoa(len(letter.Value)))
	mark(small, "sha256", hash(letter.Value))
	return small
}

// partial tells whether a letter has lost some of its value. What is left may
// well read as a good record.
func partial(letter *kgo.Record) bool {
	for _, h := range letter.Headers {
		if h.Key == headerPrefix+"sha256" {
			return string(h.Value) != hash(letter.Value)
		}
	}
	return false
}

func mark(letter *kgo.Record, name, text string) {
	letter.Headers = append(letter.Headers, kgo.RecordHeader{Key: headerPrefix + name, Value: []byte(text)})
}

func hash(value []byte) string { return fmt.Sprintf("%x", sha256.Sum256(value)) }

// clip bounds a reason: it may quote what somebody wrote into a record.
func clip(reason string) string { return strings.ToValidUTF8(reason[:min(len(reason), 500)], "") }
