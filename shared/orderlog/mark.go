package orderlog

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/shared/sale"
)

// byKey leads a record to its partition. Producers and [Marker] share it: a mark looks only where
// an item's records can be.
var byKey = kgo.StickyKeyPartitioner(nil)

// Marker makes what notes where the topic ends now, in the partitions of these items alone; what that
// answers tells whether the consumer group has committed all until there. However fast others' records
// come after the mark, it is reached, and one partition that is stuck keeps no other's items.
func Marker(client *kgo.Client, group, topic string) func(context.Context, []sale.ItemID) (func(context.Context) (bool, error), error) {
	return func(ctx context.Context, items []sale.ItemID) (func(context.Context) (bool, error), error) {
		_, ends, err := bounds(ctx, client, topic)
		if err != nil {
			return nil, fmt.Errorf("orderlog: %w", err)
		}
		mark := map[int32]int64{}
		for _, item := range items {
			partition := int32(byKey.ForTopic(topic).Partition(&kgo.Record{Key: itemKey(item)}, len(ends[topic])))
			end, _ := ends.Lookup(topic, partition)
			mark[partition] = end.Offset
		}
		return func(ctx context.Context) (bool, error) { return reached(ctx, client, group, topic, mark) }, nil
	}
}

func reached(ctx context.Context, client *kgo.Client, group, topic string, mark map[int32]int64) (bool, error) {
	committed, err := offsets(ctx, client, group)
	if err != nil {
		return false, err
	}
	starts, ends, err := bounds(ctx, client, topic)
	if err != nil {
		return false, fmt.Errorf("orderlog: %w", err)
	}
	for partition, until := range mark {
		at, _ := committed.Lookup(topic, partition)
		// What retention has removed nobody can read, and a topic that was made again may never get so far.
		start, end := offsetOf(starts, topic, partition), offsetOf(ends, topic, partition)
		if max(at.At, start) < min(until, end) {
			return false, nil
		}
	}
	return true, nil
}

func offsetOf(listed kadm.ListedOffsets, topic string, partition int32) int64 {
	o, _ := listed.Lookup(topic, partition)
	return o.Offset
}
