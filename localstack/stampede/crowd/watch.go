package crowd

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// look is how often rows are counted: the precision of the last row's time.
const look = 50 * time.Millisecond

// watch notes when rows appear.
func (c *crowd) watch(ctx context.Context) {
	seen := 0
	for next := time.Now(); sleepUntil(ctx, next); next = time.Now().Add(look) {
		rows, err := c.Rows(ctx)
		if err == nil && rows > seen {
			c.record.Written(rows-seen, time.Now())
			seen = rows
		}
	}
}

// tell prints a line a second.
func (c *crowd) tell(ctx context.Context) {
	for next := time.Now(); sleepUntil(ctx, next); next = next.Add(time.Second) {
		p := c.record.Progress()
		arrived, _ := slices.BinarySearch(c.due, time.Since(c.Opens))
		c.say("arrived %d  202 %d  sold out %d  in flight %d  waiting %d  polls %d  paid %d  rows %d",
			arrived, p.Accepted, p.Refused, c.presses.taken()+c.others.taken(), int64(arrived)-c.inside.Load()+c.waiting.Load(), p.Polls, p.Paid, p.Rows)
	}
}

func (c *crowd) say(format string, args ...any) {
	if c.Out != nil {
		_, _ = fmt.Fprintf(c.Out, "%+6.1f s  %s\n", time.Since(c.Opens).Seconds(), fmt.Sprintf(format, args...))
	}
}
