package drill

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// A ledger has what the shoppers were told.
type ledger struct {
	mu sync.Mutex
	told
}

// told is that.
type told struct {
	accepted   map[string]receipt   // by order id
	unexpected map[string]int       // answers that a shopper should never get
	gaveUp     int                  // shoppers without a final answer
	refused    []time.Time          // when somebody heard SOLD_OUT
	maybe      map[string]time.Time // who was sold a unit, or was not told whether, and second orders: since when
	paid       map[string]money     // by order id: what was taken with 204
	doubted    int                  // answers of 401 to payments
	busy       int                  // answers of 503
	slowest    time.Duration
	unhindered time.Duration // the slowest, less what the machine was late meanwhile
	crowds     int
}

// A receipt is a 202.
type receipt struct {
	name, token string
	pressed, at time.Time
}

func (l *ledger) accept(orderID string, r receipt) {
	l.note(func(l *ledger) {
		if l.accepted == nil {
			l.accepted = map[string]receipt{}
		}
		l.accepted[orderID] = r
	})
}

// perhaps notes that the shopper has, or may have, a unit since then.
func (l *ledger) perhaps(name string, since time.Time) {
	l.note(func(l *ledger) {
		if l.maybe == nil {
			l.maybe = map[string]time.Time{}
		}
		if _, ok := l.maybe[name]; !ok {
			l.maybe[name] = since
		}
	})
}

// early counts who heard SOLD_OUT while there was a unit for certain: fewer shoppers than there are
// units had been sold one, or did not know.
func (l *told) early() (n int) {
	begun := slices.SortedFunc(maps.Values(l.maybe), time.Time.Compare)
	for _, at := range l.refused {
		if len(begun) < units || at.Before(begun[units-1]) {
			n++
		}
	}
	return n
}

func (l *ledger) surprise(answer string) {
	l.note(func(l *ledger) {
		if l.unexpected == nil {
			l.unexpected = map[string]int{}
		}
		l.unexpected[answer]++
	})
}

// sofar is what it has now.
func (l *ledger) sofar() (t told) {
	l.note(func(l *ledger) {
		t = l.told
		t.maybe = maps.Clone(t.maybe)
	})
	return t
}

func (l *ledger) note(do func(*ledger)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do(l)
}
