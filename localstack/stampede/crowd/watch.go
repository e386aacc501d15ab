package crowd

import (
	"context"
	"fmt"
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
		c.say("arrived %d  202 %d  sold out %d  in flight %d  waiting %d  polls %d  paid %d  rows %d",
			p.Arrived, p.Accepted, p.Refused, len(c.presses)+len(c.others), c.waiting.Load(), p.Polls, p.Paid, p.Rows)
	}
}

func (c *crowd) say(format string, args ...any) {
	if c.Out != nil {
		_, _ = fmt.Fprintf(c.Out, "%+6.1f s  %s\n", time.Since(c.Opens).Seconds(), fmt.Sprintf(format, args...))
	}
}
