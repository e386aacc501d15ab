package stock

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"flashsale/shared/sale"
)

const (
	// lookWait bounds one look. Purchases may be waiting for it.
	lookWait = 400 * time.Millisecond
	// fillPause is how soon a look is repeated that found a filter being filled.
	fillPause = 20 * time.Millisecond
	// looksAtOnce bounds the shards whose filters one look reads at a time.
	looksAtOnce = 8
)

// A look is what was found in all shards of a sale.
type look struct {
	at      time.Time // before it began
	left    map[sale.ItemID]int64
	says    map[sale.ItemID]Outcome // SoldOut or Closed in every shard; others are not in it
	needs   bool                    // filters, since somebody may be refused
	winners []*filter               // by shard; nil if one is not complete, or not needed
}

// fresh tells whether it is too early for another look.
func (k *look) fresh(age time.Duration) bool {
	if k != nil && k.needs && k.winners == nil {
		return age < fillPause
	}
	return age < latchRenew
}

// said tells whether the item was refused then.
func (k *look) said(item sale.ItemID) bool { return k != nil && k.says[item] != 0 }

func (k *look) add(own ownWinner) {
	if k != nil && own.shard < len(k.winners) {
		k.winners[own.shard].add(&own.probe)
	}
}

// A flight is a look under way.
type flight struct {
	done chan struct{}           // closed when it is over
	says map[sale.ItemID]Outcome // what is known already while filters are read; under the sale's lock
}

// look makes a new look, unless one is under way: then the channel is closed when
// that is over. It is nil, nil after a fault. With closed the sale is known to be
// over; said is what Redis has just said of items, if that holds for all shards.
func (l *Latch) look(ctx context.Context, st *latched, sl *sale.Sale, closed bool, said map[sale.ItemID]Outcome) (found *look, other <-chan struct{}) {
	st.mu.Lock()
	if st.flight != nil {
		defer st.mu.Unlock()
		return nil, st.flight.done
	}
	f := &flight{make(chan struct{}), said}
	st.flight, st.own = f, nil
	at := l.now()
	st.mu.Unlock()

	// Others rely on this look too, so it does not end with the caller that happened to start it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWait)
	defer cancel()
	var err error
	defer func() { // also after a panic: others wait for it
		st.mu.Lock()
		defer st.mu.Unlock()
		if err == nil && found != nil {
			found.at = at
			for _, own := range st.own {
				found.add(own)
			}
			st.last.Store(found)
		}
		st.flight, st.own, st.fault = nil, nil, err
		close(f.done)
	}()
	found, err = l.store.count(ctx, sl, closed)
	if err == nil && found.needs {
		st.mu.Lock()
		f.says = found.says
		st.mu.Unlock()
		found.winners = l.store.filters(ctx, sl, st.last.Load())
	}
	return found, nil
}

// lookOrWait looks, or waits for the look that is under way.
func (l *Latch) lookOrWait(ctx context.Context, st *latched, sl *sale.Sale) (*look, error) {
	found, other := l.look(ctx, st, sl, false, nil)
	if other != nil {
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.fault != nil {
		return nil, st.fault
	}
	if found == nil {
		found = st.last.Load()
	}
	return found, nil
}

// count reads what all shards of a sale have left.
func (s *Store) count(ctx context.Context, sl *sale.Sale, closed bool) (*look, error) {
	clock, err := s.clock(ctx)
	if err != nil {
		return nil, err
	}
	levels, err := s.Levels(ctx, Of(sl))
	if err != nil {
		return nil, err
	}
	left, err := leftIn(levels, sl)
	if err != nil {
		return nil, err
	}
	found := &look{left: left, says: make(map[sale.ItemID]Outcome, len(left))}
	for item, units := range left {
		if outcome := refusal(levels, item, units, clock); outcome != 0 {
			found.says[item] = outcome
		}
	}
	// Not before: a filter would cost the winners of a sale that still sells.
	found.needs = closed || len(found.says) > 0
	return found, nil
}

// filters reads those of all shards. Nil, and so nobody is refused, if one cannot
// be had; that is no fault.
func (s *Store) filters(ctx context.Context, sl *sale.Sale, last *look) []*filter {
	winners := make([]*filter, len(s.keyring.of(Of(sl))))
	var group errgroup.Group // one that fails must not stop another that fills
	group.SetLimit(looksAtOnce)
	for shard := range winners {
		var former *filter
		if last != nil && shard < len(last.winners) {
			former = last.winners[shard]
		}
		group.Go(func() (err error) {
			winners[shard], err = s.winners(ctx, sl, shard, former)
			return err
		})
	}
	if group.Wait() != nil {
		return nil
	}
	return winners
}
