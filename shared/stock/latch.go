package stock

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"flashsale/shared/sale"
)

const (
	// latchTime is how old at most the knowledge may be by which an environment
	// refuses without asking Redis: so long at most is a unit that came back
	// refused, or a winner whose answer was lost.
	latchTime = 300 * time.Millisecond
	// latchRenew is the age from which on one caller looks again. The others go on
	// being refused until the latch time is over: a crowd never turns to Redis as a whole.
	latchRenew = 200 * time.Millisecond
	// maxLatched bounds the sales that are remembered.
	maxLatched = 256
)

// A Latch is an environment's knowledge of sales that have nothing more to
// give: what all shards have left, and who has won. It is looked up at most
// some times a second for a sale, one look at a time, whatever the crowd, and
// only after Redis has refused a shopper or the sale is over by the catalog. It
// is safe for concurrent use.
//
// Why a winner is never refused for longer than the latch time: a refusal needs
// a look that began less than latchTime ago, and filters are read after their
// look began. A hold that was made before that is in them (see [Store.winners]),
// so the refused shopper's is younger than the look, and the look is about to
// end. An environment's own winners are added to its copy at once ([Latch.Won]).
type Latch struct {
	store   *Store
	catalog *Catalog
	now     func() time.Time

	mu    sync.Mutex
	sales atomic.Pointer[map[sale.ID]*latched] // replaced as a whole, so that refusals read without a lock
}

type latched struct {
	last atomic.Pointer[look]

	mu     sync.Mutex
	flight *flight     // the look under way; nil without one
	fault  error       // why the last look failed
	own    []ownWinner // of this environment, since the look under way began
}

type ownWinner struct {
	shard int
	probe probe
}

// NewLatch makes a Latch that knows nothing yet. Windows are judged by the catalog.
func NewLatch(s *Store, c *Catalog, now func() time.Time) *Latch {
	l := &Latch{store: s, catalog: c, now: now}
	l.sales.Store(&map[sale.ID]*latched{})
	return l
}

// SoldOut tells whether all shards are, once a shopper's own shard is: that of
// a sale with one shard is all. It also sees to it that the latch closes. After
// an error it is not known.
func (l *Latch) SoldOut(ctx context.Context, sl *sale.Sale, item sale.ItemID) (bool, error) {
	st := l.of(sl.ID)
	found := st.last.Load()
	fresh := found.fresh(l.age(found))
	if sl.Shards == 1 {
		// What Redis has just said needs no proof; a look that does not know it is too old.
		if !fresh || found.says[item] == 0 && l.age(found) >= fillPause {
			_, _ = l.look(ctx, st, sl, false, map[sale.ItemID]Outcome{item: SoldOut})
		}
		return true, nil
	}
	if fresh {
		return found.left[item] == 0, nil
	}
	found, err := l.lookOrWait(ctx, st, sl)
	if err != nil {
		return false, fmt.Errorf("stock: sold out: %w", err)
	}
	return found.left[item] == 0, nil
}

// Await waits for the look under way, if one is and it will most likely tell that
// the item is not to be had. Then it is true, and [Latch.Refusal] is worth another
// question. A crowd that has no refusal yet would keep the cores from the look by
// checking signatures, one for each of them, and all for nothing. The wait is that
// for one look, and an environment with one invocation at a time never waits.
func (l *Latch) Await(ctx context.Context, id sale.ID, item sale.ItemID) bool {
	st := (*l.sales.Load())[id]
	if st == nil {
		return false
	}
	st.mu.Lock()
	f := st.flight
	awaited := f != nil && (f.says[item] != 0 || st.last.Load().said(item))
	st.mu.Unlock()
	if !awaited {
		return false
	}
	select {
	case <-f.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// Won adds a winner of this environment to its copy of the filter.
func (l *Latch) Won(sh Shards, userID string) {
	st := (*l.sales.Load())[sh.Sale]
	if st == nil {
		return // no copy yet; the first one will have the hold
	}
	own := ownWinner{sh.Home(userID), probeOf([]byte(userID))}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.flight != nil {
		st.own = append(st.own, own) // the look may have read the filter before
	}
	st.last.Load().add(own)
}

// A Refusal is what an environment may answer by itself. The zero one is none.
type Refusal struct {
	Outcome Outcome   // SoldOut, Closed or NotOpen
	Now     time.Time // NotOpen: Redis' clock, nearly
	winners []*filter
}

// Refusal tells what anybody but a winner would hear now of an item of that sale,
// without asking Redis; except that now and then a caller must look again. It
// allocates nothing then.
func (l *Latch) Refusal(ctx context.Context, now time.Time, listing *sale.Listing, item sale.ItemID) Refusal {
	outcome, clock := l.catalog.window(&listing.Sale, now)
	switch {
	case outcome == NotOpen: // so nobody has won
		return Refusal{Outcome: NotOpen, Now: clock}
	case outcome == Closed && !listing.Loaded: // nobody could win
		return Refusal{Outcome: Closed}
	}
	st := (*l.sales.Load())[listing.ID]
	if st == nil && outcome == Closed {
		st = l.of(listing.ID)
	}
	if st == nil {
		return Refusal{}
	}
	found := st.last.Load()
	age := found.age(now)
	refused := outcome == Closed || age < latchTime && found.says[item] != 0
	if refused && !found.fresh(age) {
		if renewed, other := l.look(ctx, st, &listing.Sale, outcome == Closed, nil); other == nil {
			found, age = renewed, l.age(renewed)
		}
	}
	if !refused || age >= latchTime || found.winners == nil {
		return Refusal{}
	}
	if outcome == 0 {
		outcome = found.says[item]
	}
	return Refusal{Outcome: outcome, winners: found.winners}
}

// ForAll tells whether nobody can have won: then the token does not matter.
func (r Refusal) ForAll() bool { return r.winners == nil }

// MayName tells whether that shopper may have won: then only Redis can tell. A
// few strangers are taken for winners.
func (r Refusal) MayName(userID []byte) bool {
	if r.ForAll() {
		return false
	}
	// The id is only read, and a copy would be garbage for each refusal.
	home := sale.HomeShard(unsafe.String(unsafe.SliceData(userID), len(userID)), len(r.winners))
	p := probeOf(userID)
	return r.winners[home].mayHave(&p)
}

func (l *Latch) age(found *look) time.Duration { return found.age(l.now()) }

// age is very large without a look.
func (k *look) age(now time.Time) time.Duration {
	if k == nil {
		return time.Hour
	}
	return now.Sub(k.at)
}

// of returns what is known of a sale, making room for it.
func (l *Latch) of(id sale.ID) *latched {
	if st := (*l.sales.Load())[id]; st != nil {
		return st
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	sales := *l.sales.Load()
	if st := sales[id]; st != nil {
		return st
	}
	more := make(map[sale.ID]*latched, len(sales)+1)
	if len(sales) < maxLatched {
		maps.Copy(more, sales)
	}
	st := &latched{}
	more[id] = st
	l.sales.Store(&more)
	return st
}
