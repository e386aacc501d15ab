package report

import (
	"fmt"
	"time"
)

// A Neighbour is the shop's other work on the same PostgreSQL: baskets that are filled, read and
// changed, one round after the other.
type Neighbour struct {
	Quiet Rounds `json:"quiet"` // before the sale was made
	Rush  Rounds `json:"rush"`  // from the first arrival until all have had their turn
}

// Rounds is how that work went for a while.
type Rounds struct {
	Done    int      `json:"done"`
	Failed  int      `json:"failed"`
	P95     Duration `json:"p95"`
	Longest Duration `json:"longest"`
}

func (r Rounds) String() string {
	if r.Done == 0 {
		return fmt.Sprintf("no round, %d failed", r.Failed)
	}
	return fmt.Sprintf("%s, the longest of %s %s, %d failed", short(time.Duration(r.P95)), grouped(r.Done), short(time.Duration(r.Longest)), r.Failed)
}
