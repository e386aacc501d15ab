package forecast

import (
	"math"
	"time"
)

// What the page does; web/purchase.js, web/order.js and web/api.js are where it is written.
const (
	tries       = 12                     // of one press
	retryAfter  = time.Second            // what the API and API Gateway ask for
	askSpread   = time.Second            // each waiting page asks for the sale at the opening; with a lottery at its turn
	askStale    = time.Second            // how long the CDN may say that it is not open yet
	askAgain    = 400 * time.Millisecond // over which pages ask again once that is over
	pollUnpaid  = time.Second            // of an order that is not written
	pollPayable = 2 * time.Second        // and of one that can be paid
)

var askOpen = span{1500 * time.Millisecond, 2500 * time.Millisecond}

// What shoppers do; assumptions.
const (
	stays    = 10 * time.Second // on the page after a refusal
	pays     = 30 * time.Second // until the winner's order is paid
	eager    = 0.05             // of a lottery's crowd are scripts that press each second before their turn
	passTime = 9 * time.Minute  // over which the page spreads the fetching of passes
)

type span struct{ from, to time.Duration }

// backoff is the page's wait after so many tries.
func backoff(try int) span {
	step := time.Second << min(try, 3)
	from := max(retryAfter, step/2)
	return span{from, from + step/2}
}

// pressed is the share of the crowd that has pressed for the first time by t after the opening.
//
// Coming is exponential: the share in the first second is peak/shoppers. A lottery
// makes who comes wait for a turn that is uniform over the spread and knows
// nothing of the coming, so the shares multiply.
func (q Question) pressed(t time.Duration) float64 {
	if t <= 0 {
		return 0
	}
	share := 1 - math.Pow(1-q.Peak/q.Shoppers, t.Seconds())
	return share * q.turned(t)
}

// turned is the share whose turn has begun.
func (q Question) turned(t time.Duration) float64 {
	if q.Spread == 0 {
		return 1
	}
	return min(1, t.Seconds()/q.Spread.Seconds())
}

// A calendar holds how many of a crowd do something at a later step.
type calendar struct {
	ring []float64
	all  float64
}

// newCalendar makes one for what is put off by at most so long.
func newCalendar(longest time.Duration) *calendar {
	return &calendar{ring: make([]float64, int(longest/step)+1)}
}

// take returns what is due at a step and forgets it.
func (c *calendar) take(now int) float64 {
	i := now % len(c.ring)
	n := c.ring[i]
	c.ring[i] = 0
	c.all -= n
	return n
}

// put spreads n evenly over the steps of a span from now on.
func (c *calendar) put(now int, n float64, in span) {
	if n <= 0 {
		return
	}
	first, last := max(1, int(in.from/step)), max(1, int(in.to/step))
	for i := first; i <= last; i++ {
		c.ring[(now+i)%len(c.ring)] += n / float64(last-first+1)
	}
	c.all += n
}

// thin lets only a share of all stay.
func (c *calendar) thin(share float64) {
	for i := range c.ring {
		c.ring[i] *= share
	}
	c.all *= share
}
