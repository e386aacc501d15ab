package stock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/shared/sale"
)

// ErrNoCatalog says that it is not known which sales there are: a 503, never a 404.
var ErrNoCatalog = errors.New("stock: no catalog")

const (
	// catalogAge is how long a copy is good, and how often at most an unknown item or sale is looked up anew.
	catalogAge = time.Second
	// catalogWait bounds one fetch: purchases may be waiting for it.
	catalogWait = 500 * time.Millisecond
	// clockMargin covers what is not known of Redis' time: the way of the answer that
	// told it, and how far the clocks of a cluster's nodes are apart.
	clockMargin = 250 * time.Millisecond
)

// PutCatalog makes a catalog known to all environments. Older ones must not
// overwrite newer ones: the caller takes and puts it under one lock.
func (s *Store) PutCatalog(ctx context.Context, c *sale.Catalog) error {
	text, err := c.JSON()
	if err != nil {
		return fmt.Errorf("stock: put catalog: %w", err)
	}
	if err := s.rdb.Set(ctx, catalogKey, text, 0).Err(); err != nil {
		return fmt.Errorf("stock: put catalog: %w", err)
	}
	return nil
}

// A Catalog is an environment's copy of the catalog. It is kept for a second
// and looked up again at most once a second for an item it does not know, one
// fetch at a time. When the key is missing or Redis is away, the last copy is
// used for what it knows; that it does not know something is then no proof. It
// is safe for concurrent use.
type Catalog struct {
	store *Store
	now   func() time.Time
	last  atomic.Pointer[copied]

	mu       sync.Mutex
	fetch    chan struct{} // closed when the fetch under way is over; nil without one
	looked   time.Time     // last fetch because of age
	lookedUp time.Time     // last fetch because of something unknown
	fault    error         // why the last fetch failed

	unknown atomic.Int64 // as lookedUp, in nanoseconds, once that fetch has succeeded: for [Catalog.Peek]
}

type copied struct {
	catalog *sale.Catalog
	at      time.Time

	redis, local time.Time // the same moment by Redis' clock and by ours; zero if not known
}

// NewCatalog makes a copy that is empty until it is first asked.
func NewCatalog(s *Store, now func() time.Time) *Catalog { return &Catalog{store: s, now: now} }

// ByItem returns the listing of the sale that offers the item, and whether there
// is one. Its error is [ErrNoCatalog], or the context's while it waits.
func (c *Catalog) ByItem(ctx context.Context, id sale.ItemID) (*sale.Listing, bool, error) {
	return c.find(ctx, func(s *sale.Catalog) (*sale.Listing, bool) { return s.ByItem(id) })
}

// Sale returns the listing of a sale, as [Catalog.ByItem] does.
func (c *Catalog) Sale(ctx context.Context, id sale.ID) (*sale.Listing, bool, error) {
	return c.find(ctx, func(s *sale.Catalog) (*sale.Listing, bool) { return s.Sale(id) })
}

func (c *Catalog) find(ctx context.Context, in func(*sale.Catalog) (*sale.Listing, bool)) (*sale.Listing, bool, error) {
	now := c.now()
	last := c.last.Load()
	known := false
	if last != nil {
		var l *sale.Listing
		if l, known = in(last.catalog); known && now.Sub(last.at) < catalogAge {
			return l, true, nil
		}
	}
	if err := c.refresh(ctx, now, known); err != nil {
		return nil, false, err
	}
	if last = c.last.Load(); last != nil {
		// What an old copy does not know may have been created since.
		if l, ok := in(last.catalog); ok || now.Sub(last.at) < catalogAge {
			return l, ok, nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return nil, false, fmt.Errorf("%w: %w", ErrNoCatalog, c.fault)
}

// refresh fetches the catalog if it is time to. While another call does that,
// whoever finds the wanted thing in the last copy goes on with it.
func (c *Catalog) refresh(ctx context.Context, now time.Time, known bool) error {
	c.mu.Lock()
	if fetch := c.fetch; fetch != nil {
		c.mu.Unlock()
		if known {
			return nil
		}
		select {
		case <-fetch:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("stock: catalog: %w", ctx.Err())
		}
	}
	old := now.Sub(c.looked) >= catalogAge
	if !old && (known || now.Sub(c.lookedUp) < catalogAge) {
		c.mu.Unlock()
		return nil
	}
	if old {
		c.looked = now
	} else {
		c.lookedUp = now
	}
	fetch := make(chan struct{})
	c.fetch = fetch
	c.mu.Unlock()

	// Others wait for this one too, so it does not end with the caller that happened to start it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), catalogWait)
	defer cancel()
	catalog, err := c.store.catalog(ctx)
	if err == nil {
		c.last.Store(c.copy(ctx, catalog, now))
		if !old {
			c.unknown.Store(now.UnixNano())
		}
	}
	c.mu.Lock()
	c.fetch, c.fault = nil, err
	c.mu.Unlock()
	close(fetch)
	return nil
}

// copy reads Redis' clock too. A slow answer tells too little: then the former one counts.
func (c *Catalog) copy(ctx context.Context, catalog *sale.Catalog, at time.Time) *copied {
	next := &copied{catalog: catalog, at: at}
	if last := c.last.Load(); last != nil {
		next.redis, next.local = last.redis, last.local
	}
	sent := c.now()
	if redis, err := c.store.rdb.Time(ctx).Result(); err == nil {
		if took := c.now().Sub(sent); took < clockMargin {
			next.redis, next.local = redis.Add(took/2), c.now()
		}
	}
	return next
}

// Peek returns the listing of the sale that offers the item if the copy at hand now
// tells for sure, and nil for sure if no sale does. Unless sure, ask [Catalog.ByItem].
func (c *Catalog) Peek(now time.Time, id sale.ItemID) (l *sale.Listing, sure bool) {
	last := c.last.Load()
	if last == nil || now.Sub(last.at) >= catalogAge {
		return nil, false
	}
	if l, ok := last.catalog.ByItem(id); ok {
		return l, true
	}
	return nil, now.UnixNano()-c.unknown.Load() < int64(catalogAge)
}

// window tells whether a sale is not open yet or closed for sure, by its listing
// and by what is known of Redis' clock, which it also returns; else 0. Now is by ours.
func (c *Catalog) window(sl *sale.Sale, now time.Time) (Outcome, time.Time) {
	last := c.last.Load()
	if last == nil || last.redis.IsZero() {
		return 0, time.Time{}
	}
	clock := last.redis.Add(now.Sub(last.local))
	switch {
	case !clock.Add(-clockMargin).Before(sl.ClosesAt):
		return Closed, clock
	case clock.Add(clockMargin).Before(sl.OpensAt):
		return NotOpen, clock
	}
	return 0, clock
}

func (s *Store) catalog(ctx context.Context) (*sale.Catalog, error) {
	text, err := s.rdb.Get(ctx, catalogKey).Bytes()
	if err != nil {
		return nil, err
	}
	return sale.ParseCatalog(text)
}
