package poller

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type partition struct {
	topic  string
	number int32
}

// A lane holds a partition's records between poll and commit, in order. Only
// its first chunk may be sent.
type lane struct {
	chunks []chunk
	due    time.Time // when the first chunk may be sent, if it has failed
}

// A chunk is sent as one.
type chunk struct {
	records []*kgo.Record
	failed  bool // was part of an event that failed
	retries int  // made since the last progress
}

// add appends what was polled; each partition's records are one chunk.
func (p *Poller) add(records []*kgo.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range records {
		place := partition{r.Topic, r.Partition}
		l := p.lanes[place]
		if l == nil {
			l = new(lane)
			p.lanes[place] = l
		}
		last := len(l.chunks) - 1
		if last < 0 || len(l.chunks[last].records) == p.cfg.BatchSize {
			l.chunks = append(l.chunks, chunk{})
			last++
		}
		l.chunks[last].records = append(l.chunks[last].records, r)
	}
}

// drop forgets the records of partitions that another consumer gets: that one
// begins at the last commit.
func (p *Poller) drop(_ context.Context, client *kgo.Client, gone map[string][]int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for topic, numbers := range gone {
		for _, n := range numbers {
			delete(p.lanes, partition{topic, n})
		}
	}
	client.ResumeFetchPartitions(gone)
}

// waiting tells how many fresh records could be sent now, and when the first
// retry is due; false without any retry.
func (p *Poller) waiting() (fresh int, due time.Time, retries bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lanes {
		head := l.chunks[0]
		switch {
		case !head.failed:
			fresh += len(head.records)
		case !retries || l.due.Before(due):
			due, retries = l.due, true
		}
	}
	return fresh, due, retries
}

// take picks the chunks of the next event: one that has failed goes alone, fresh
// ones together up to BatchSize. If there are both they take turns, so that
// neither waits for the other for ever. The chunks stay in their lanes.
func (p *Poller) take() map[partition]chunk {
	now := p.now()
	fresh := make(map[partition]chunk)
	var retry map[partition]chunk
	size := 0
	for place, l := range p.lanes {
		head := l.chunks[0]
		if head.failed {
			if !l.due.After(now) {
				retry = map[partition]chunk{place: head}
			}
			continue
		}
		if size+len(head.records) <= p.cfg.BatchSize {
			fresh[place] = head
			size += len(head.records)
		}
	}
	if retry != nil && (size == 0 || !p.retried) {
		p.retried = true
		return retry
	}
	p.retried = false
	return fresh
}

// settle moves the lanes on after an invocation. It returns the last finished
// record of each partition that got ahead.
func (p *Poller) settle(batch map[partition]chunk, failed map[partition]int64) (done []*kgo.Record) {
	for place, c := range batch {
		l := p.lanes[place]
		rest := l.chunks[1:]
		finished := len(c.records)
		if from, again := failed[place]; again {
			finished = slices.IndexFunc(c.records, func(r *kgo.Record) bool { return r.Offset >= from })
			left := p.retry(l, chunk{c.records[finished:], true, c.retries}, finished > 0)
			if left == nil {
				p.giveUp(place, c.records[finished:])
				finished = len(c.records)
			}
			rest = append(left, rest...)
		}
		if finished > 0 {
			done = append(done, c.records[finished-1])
		}
		if len(rest) == 0 {
			delete(p.lanes, place)
			continue
		}
		l.chunks = rest
	}
	return done
}

// retry says how the records of a failed chunk come again; nil is not at all.
// Halving a chunk is not counted as a retry, as in Lambda.
func (p *Poller) retry(l *lane, c chunk, progress bool) []chunk {
	if progress {
		c.retries = 0
	}
	l.due = p.now().Add(p.cfg.backoff(c.retries))
	if half := len(c.records) / 2; p.cfg.Bisect && half > 0 && !progress {
		return []chunk{{c.records[:half], true, c.retries}, {c.records[half:], true, c.retries}}
	}
	if p.cfg.RetryAttempts >= 0 && c.retries >= p.cfg.RetryAttempts {
		return nil
	}
	c.retries++
	return []chunk{c}
}

func (p *Poller) giveUp(place partition, records []*kgo.Record) {
	p.skipped.Add(int64(len(records)))
	p.cfg.Log.Error("poller: records skipped after the last attempt",
		"topic", place.topic, "partition", place.number,
		"from", records[0].Offset, "to", records[len(records)-1].Offset)
}

// pause stops fetching the event's partitions that have something left, so that
// it does not pile up behind a retry, and goes on with those that are done.
func (p *Poller) pause(client *kgo.Client, batch map[partition]chunk) {
	left, free := make(map[string][]int32), make(map[string][]int32)
	for place := range batch {
		if p.lanes[place] != nil {
			left[place.topic] = append(left[place.topic], place.number)
		} else {
			free[place.topic] = append(free[place.topic], place.number)
		}
	}
	client.ResumeFetchPartitions(free)
	if len(left) > 0 { // none at all would only list the paused ones
		client.PauseFetchPartitions(left)
	}
}
