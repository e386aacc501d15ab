package crowd

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"flashsale/localstack/stampede/report"
)

// An ending is what a shopper does with an order.
type ending int

const (
	leaves ending = iota
	pays
	cancels
)

// A plan is what a shopper is going to do, drawn from the seed and the shopper's
// number alone: so it is the same in each run, in whatever part.
type plan struct {
	arrival time.Duration // after the opening
	double  bool
	dropOut bool
	ending  ending
}

// draw also returns the source for all that the shopper draws later.
func draw(seed uint64, number int, h report.Habits) (plan, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, uint64(number))) //nolint:gosec // reproducible on purpose
	var p plan
	early, when := r.Float64(), r.Float64()
	if early < h.EarlyShare {
		p.arrival = -time.Duration(when * float64(h.Early))
	} else {
		// Most come at once and the stream thins out evenly: a triangle.
		p.arrival = time.Duration((1 - math.Sqrt(1-when)) * float64(h.Spread))
	}
	p.double = r.Float64() < h.Double
	p.dropOut = r.Float64() < h.DropOut
	switch end := r.Float64(); {
	case end < h.Pay:
		p.ending = pays
	case end < h.Pay+h.Cancel:
		p.ending = cancels
	}
	return p, r
}

// schedule sorts the part's shoppers by their arrival.
func (c *Config) schedule() (numbers []int32, arrivals []time.Duration) {
	all := make([]time.Duration, c.Shoppers)
	for number := c.Part - 1; number < c.Shoppers; number += c.Parts {
		p, _ := draw(c.Seed, number, c.Habits)
		all[number] = p.arrival
		numbers = append(numbers, int32(number)) //nolint:gosec // far below 2^31
	}
	slices.SortStableFunc(numbers, func(a, b int32) int { return int(all[a] - all[b]) })
	arrivals = make([]time.Duration, len(numbers))
	for i, number := range numbers {
		arrivals[i] = all[number]
	}
	return numbers, arrivals
}
