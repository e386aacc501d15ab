package stock

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"flashsale/shared/sale"
)

const (
	// leftAge is how long a count of all shards is good: after sell-out it is all
	// that an environment asks of the other shards, whatever the crowd.
	leftAge = 200 * time.Millisecond
	// leftWait bounds one count. Purchases are waiting for it.
	leftWait = 400 * time.Millisecond
	// maxCounted bounds the sales whose counts are kept.
	maxCounted = 256
)

// A Remainder is an environment's copy of what all shards of a sale have left,
// for shoppers whose own shard is sold out. It is counted anew at most five
// times a second for a sale, one count at a time, by [Store.Left]. It is safe
// for concurrent use.
type Remainder struct {
	store  *Store
	now    func() time.Time
	flight singleflight.Group

	mu     sync.Mutex
	counts map[sale.ID]counted
}

type counted struct {
	left map[sale.ItemID]int64
	at   time.Time // when the count began
}

// NewRemainder makes a copy that is empty until it is first asked.
func NewRemainder(s *Store, now func() time.Time) *Remainder { return &Remainder{store: s, now: now} }

// SoldOut tells whether all shards are, once a shopper's own shard is: that of
// a sale with one shard needs no count. After an error it is not known.
func (r *Remainder) SoldOut(ctx context.Context, sl *sale.Sale, item sale.ItemID) (bool, error) {
	if sl.Shards == 1 {
		return true, nil
	}
	r.mu.Lock()
	last, ok := r.counts[sl.ID]
	r.mu.Unlock()
	if ok && r.now().Sub(last.at) < leftAge {
		return last.left[item] == 0, nil
	}
	// Others wait for this count too, so it does not end with the caller that happened to start it.
	counting := r.flight.DoChan(strconv.FormatUint(uint64(sl.ID), 10), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leftWait)
		defer cancel()
		return r.count(ctx, sl)
	})
	select {
	case <-ctx.Done():
		return false, fmt.Errorf("stock: sold out: %w", ctx.Err())
	case result := <-counting:
		if result.Err != nil {
			return false, result.Err
		}
		left, _ := result.Val.(map[sale.ItemID]int64) // count answers nothing else
		return left[item] == 0, nil
	}
}

func (r *Remainder) count(ctx context.Context, sl *sale.Sale) (map[sale.ItemID]int64, error) {
	at := r.now()
	left, err := r.store.Left(ctx, sl)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil || len(r.counts) >= maxCounted {
		r.counts = make(map[sale.ID]counted)
	}
	r.counts[sl.ID] = counted{left, at}
	return left, nil
}
