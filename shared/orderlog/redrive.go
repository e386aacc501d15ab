package orderlog

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"flashsale/shared/sale"
)

// republishers is how many letters are published at once.
const republishers = 64

// Redriven counts what became of dead letters.
type Redriven struct {
	Published  int // readable ones of the sale; the same record twice counts once
	Unreadable int // those that nobody can read, unless they name another sale, or whose value was cut
}

// Redrive publishes a sale's dead letters to the topic orders again: their keys,
// values and own headers, byte for byte. It reads the topic letters from its first
// record to what is then its last, and joins no group, so nothing moves and it may
// be run as often as one likes: the writer knows an order by its id. Letters of
// other sales are passed over. client must be made with [ClientOptions].
func Redrive(ctx context.Context, client *kgo.Client, letters, orders string, id sale.ID) (Redriven, error) {
	var done Redriven
	seen := map[[sha256.Size]byte]bool{}
	err := readAll(ctx, client, letters, func(batch []*kgo.Record) error {
		var group errgroup.Group
		group.SetLimit(republishers)
		for _, letter := range batch {
			if partial(letter) {
				done.Unreadable++
				continue
			}
			placed, err := Decode(letter.Value)
			if poison, ok := errors.AsType[*Poison](err); ok {
				if poison.Placed == nil || poison.Placed.SaleID == id {
					done.Unreadable++
				}
				continue
			}
			sum := sha256.Sum256(letter.Value)
			if placed.SaleID != id || seen[sum] {
				continue
			}
			seen[sum] = true
			done.Published++
			group.Go(func() error { return produce(ctx, client, again(letter, orders)) })
		}
		return group.Wait()
	})
	if err != nil {
		return done, fmt.Errorf("orderlog: redrive: %w", err)
	}
	return done, nil
}

// again is the record that a letter was made from.
func again(letter *kgo.Record, topic string) *kgo.Record {
	rec := &kgo.Record{Topic: topic, Key: letter.Key, Value: letter.Value}
	for _, h := range letter.Headers {
		if !strings.HasPrefix(h.Key, headerPrefix) {
			rec.Headers = append(rec.Headers, h)
		}
	}
	return rec
}

// readAll hands out what a topic has now, by a client of its own: one that
// produces cannot begin to read.
func readAll(ctx context.Context, client *kgo.Client, topic string, take func([]*kgo.Record) error) error {
	from, ends, err := span(ctx, client, topic)
	if err != nil || len(from) == 0 {
		return err
	}
	reader, err := kgo.NewClient(append(slices.Clone(client.Opts()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))...)
	if err != nil {
		return err
	}
	defer reader.Close()
	for len(ends) > 0 {
		fetches := reader.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return errs[0].Err
		}
		var batch []*kgo.Record
		fetches.EachRecord(func(r *kgo.Record) {
			end, reading := ends[r.Partition]
			if !reading {
				return
			}
			batch = append(batch, r)
			if r.Offset >= end-1 {
				delete(ends, r.Partition)
			}
		})
		if err := take(batch); err != nil {
			return err
		}
	}
	return nil
}

// span tells, for each partition that is not empty, where it begins and ends.
func span(ctx context.Context, client *kgo.Client, topic string) (from map[int32]kgo.Offset, ends map[int32]int64, err error) {
	starts, last, err := bounds(ctx, client, topic)
	if err != nil {
		return nil, nil, err
	}
	from, ends = make(map[int32]kgo.Offset), make(map[int32]int64)
	last.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(topic, end.Partition)
		if start.Offset < end.Offset {
			from[end.Partition] = kgo.NewOffset().At(start.Offset)
			ends[end.Partition] = end.Offset
		}
	})
	return from, ends, nil
}
