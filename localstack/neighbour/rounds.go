package neighbour

import (
	"slices"
	"time"
)

// Rounds is how the business went for a while. The next round waits for the one before, so a
// server that hangs spoils one of them: it shows in the longest, hardly in P95.
type Rounds struct {
	Done, Failed int
	P95, Longest time.Duration
}

// Take is how it went since the last Take.
func (n *Business) Take() (r Rounds) {
	n.mu.Lock()
	times := n.times
	r.Done, r.Failed = len(times), n.away
	n.times, n.away = nil, 0
	n.mu.Unlock()
	if len(times) > 0 {
		slices.Sort(times)
		r.P95, r.Longest = times[len(times)*95/100], times[len(times)-1]
	}
	return r
}
