package crowd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"flashsale/localstack/stampede/report"
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

// beside lets the rush pass and notes how the shop's other work went meanwhile.
func (c *crowd) beside(rush func()) {
	if c.Neighbour == nil {
		rush()
		return
	}
	c.Neighbour() // what was before is not the rush's
	rush()
	c.record.Neighbour(report.Neighbour{Quiet: c.Quiet, Rush: c.Neighbour()})
}

func (c *crowd) awaitFirst(ctx context.Context) {
	if len(c.due) > 0 {
		sleepUntil(ctx, c.Opens.Add(c.due[0]))
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
