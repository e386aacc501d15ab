// Package throttle limits how often one shopper may call.
//
// It promises that a shopper makes at most so many calls within any window, that
// nobody is ever limited by what others do, and that its memory is fixed however
// many shoppers come. It asks no server, so it counts what this process has seen:
// a shopper whom API Gateway leads to several execution environments has the limit
// in each. It takes the load of a loop off Redis; it is no quota.
package throttle

import (
	"hash/maphash"
	"sync"
	"time"

	"flashsale/shared/config"
)

// A shopper's slot is in the one set that the hash names. A full set forgets the
// shopper who has been away the longest, which can only let a call through.
const (
	sets = 1 << 12
	ways = 8 // 32,768 shoppers at a time
)

// A Limiter counts calls. It is safe for concurrent use; nil takes every call.
type Limiter struct {
	calls  int
	window time.Duration
	now    func() time.Time
	start  time.Time
	seeds  [2]maphash.Seed
	sets   []set
	taken  []time.Duration // for each slot a ring of its last calls
}

type set struct {
	mu    sync.Mutex
	slots [ways]slot
}

// A slot names its shopper by 128 bits of a keyed hash: two who share them do not
// happen, and nobody can look for one.
type slot struct {
	shopper [2]uint64
	next    int           // the ring's oldest entry
	last    time.Duration // the newest
}

// New makes a limiter. It keeps 8 bytes a call for each slot: 5 MB for 20 calls,
// most of which the system gives only once they are used.
func New(rate config.Rate, now func() time.Time) *Limiter {
	return &Limiter{
		calls: rate.Calls, window: rate.Window, now: now, start: now(),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		sets:  make([]set, sets), taken: make([]time.Duration, sets*ways*rate.Calls),
	}
}

// Take counts a call of that shopper. If it is one too many it is refused and not
// counted, and wait is when the next one will be taken.
func (l *Limiter) Take(userID string) (wait time.Duration, ok bool) {
	if l == nil {
		return 0, true
	}
	shopper := [2]uint64{maphash.String(l.seeds[0], userID), maphash.String(l.seeds[1], userID)}
	place := int(shopper[0] % sets) //nolint:gosec // below sets
	s := &l.sets[place]
	s.mu.Lock()
	defer s.mu.Unlock()

	// An empty entry is 0, and must lie a window back.
	now := l.now().Sub(l.start) + l.window
	way := s.find(shopper)
	mine := &s.slots[way]
	ring := l.taken[(place*ways+way)*l.calls:][:l.calls]
	if mine.shopper != shopper {
		clear(ring)
		*mine = slot{shopper: shopper}
	}
	if wait := ring[mine.next] + l.window - now; wait > 0 {
		return wait, false
	}
	ring[mine.next], mine.last = now, now
	mine.next = (mine.next + 1) % l.calls
	return 0, true
}

// find returns the shopper's way, else the one that has been unused the longest.
func (s *set) find(shopper [2]uint64) int {
	oldest := 0
	for way := range s.slots {
		if s.slots[way].shopper == shopper {
			return way
		}
		if s.slots[way].last < s.slots[oldest].last {
			oldest = way
		}
	}
	return oldest
}
