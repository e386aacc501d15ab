package orderlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Backlog makes what counts the topic's records that the consumer group has not
// committed. For a group that never committed these are all that the topic still has.
func Backlog(client *kgo.Client, group, topic string) func(context.Context) (int64, error) {
	return func(ctx context.Context) (int64, error) {
		committed, err := offsets(ctx, client, group)
		if err != nil {
			return 0, err
		}
		return count(ctx, client, topic, func(partition int32) int64 {
			at, _ := committed.Lookup(topic, partition)
			return at.At
		})
	}
}

// patience is how long a broker may take to make its group coordinator ready: a
// fresh one does so at the first question, and needs longer than the client's
// own retries, which are cut for the purchase's budget.
const patience = 20 * time.Second

// offsets are none for a group that never committed.
func offsets(ctx context.Context, client *kgo.Client, group string) (kadm.OffsetResponses, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		committed, err := kadm.NewClient(client).FetchOffsets(ctx, group)
		if err == nil {
			err = committed.Error()
		}
		switch {
		case err == nil || errors.Is(err, kerr.GroupIDNotFound):
			return committed, nil
		case !errors.Is(err, kerr.CoordinatorNotAvailable) && !errors.Is(err, kerr.CoordinatorLoadInProgress):
			return nil, fmt.Errorf("orderlog: offsets of group %s: %w", group, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("orderlog: offsets of group %s: %w", group, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// DeadLetterCount counts the records that the dead-letter topic still has.
func DeadLetterCount(ctx context.Context, client *kgo.Client, topic string) (int64, error) {
	return count(ctx, client, topic, func(int32) int64 { return 0 })
}

// Letters is [DeadLetterCount] for callers that need not know where it is counted.
func Letters(client *kgo.Client, topic string) func(context.Context) (int64, error) {
	return func(ctx context.Context) (int64, error) { return DeadLetterCount(ctx, client, topic) }
}

// count adds up, over the partitions, what lies behind from and behind the
// oldest record that retention has left.
func count(ctx context.Context, client *kgo.Client, topic string, from func(partition int32) int64) (int64, error) {
	starts, ends, err := bounds(ctx, client, topic)
	if err != nil {
		return 0, fmt.Errorf("orderlog: %w", err)
	}
	var sum int64
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(topic, end.Partition)
		sum += max(0, end.Offset-max(start.Offset, from(end.Partition)))
	})
	return sum, nil
}

// bounds tells where each partition of the topic begins and ends.
func bounds(ctx context.Context, client *kgo.Client, topic string) (starts, ends kadm.ListedOffsets, err error) {
	admin := kadm.NewClient(client)
	if starts, err = admin.ListStartOffsets(ctx, topic); err == nil {
		err = starts.Error()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("first offsets of %s: %w", topic, err)
	}
	if ends, err = admin.ListEndOffsets(ctx, topic); err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("last offsets of %s: %w", topic, err)
	}
	return starts, ends, nil
}
