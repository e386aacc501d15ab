// Package forecast says what a sale needs of an AWS account: a simulation of its
// crowd, second by second, from the page to the last row.
//
// It promises that every figure in an answer comes from one of four places, and
// says from which: what was asked, what `make bench` measured, a quota or price
// with its source, or an assumption of this package. The simulation has no
// randomness, so the same question has the same answer.
package forecast

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// A Question is the sale that is planned.
type Question struct {
	Peak     float64       `json:"peak"`     // shoppers who press in the first second if nothing holds them back
	Shoppers float64       `json:"shoppers"` // all who come
	Items    float64       `json:"items"`    // units on sale
	Spread   time.Duration `json:"spreadNs"` // of the lottery; 0 is first come, first served
	Shards   float64       `json:"shards"`   // of the sale, each on a Redis node of its own
	Warm     float64       `json:"warm"`     // environments of purchase on Lambda that are there before the opening
	Have     Having        `json:"have"`     // quotas and parameters that were raised already

	Instances bool `json:"-"` // purchase on Managed Instances, many calls at once in an environment
}

// crowdPerPeak is how many come if only the peak is known: 500,000 for a peak of 300,000.
const crowdPerPeak = 5.0 / 3

// most of anything: more than there are people.
const most = 10_000_000_000

// Complete sets what was not asked, and refuses what cannot be.
func (q Question) Complete() (Question, error) {
	if q.Shoppers == 0 {
		q.Shoppers = math.Round(q.Peak * crowdPerPeak)
	}
	if q.Shards == 0 {
		q.Shards = 1
	}
	sensible := func(n float64) bool { return n >= 1 && n <= most } // not so of NaN
	switch {
	case !sensible(q.Peak) || !sensible(q.Items) || !sensible(q.Shoppers):
		return q, fmt.Errorf("peak, shoppers and items must be from 1 to %.0f", float64(most))
	case q.Peak >= q.Shoppers:
		return q, fmt.Errorf("a peak of %.0f needs more shoppers than %.0f", q.Peak, q.Shoppers)
	case q.Spread < time.Second || q.Spread > time.Hour:
		return q, errors.New("spread must be from a second to an hour")
	case q.Shards < 1 || q.Shards > mostShards || q.Shards != math.Trunc(q.Shards):
		return q, fmt.Errorf("shards must be a whole number from 1 to %d", mostShards)
	case !(q.Warm >= 0 && q.Warm <= most):
		return q, fmt.Errorf("warm must be from 0 to %.0f", float64(most))
	}
	return q, nil
}

// mostShards is what a sale file takes.
const mostShards = 64

// shards is 1 where none are named, as in a sale file.
func (q Question) shards() float64 { return max(1, q.Shards) }

// A Forecast is the answer.
type Forecast struct {
	Question Question   `json:"question"`
	Measured Measured   `json:"measured"`
	Prices   string     `json:"prices"` // which list
	Ways     []Scenario `json:"ways"`   // first-come and lottery, each on Lambda and on Managed Instances
}

// A Scenario is the sale held in one way.
type Scenario struct {
	Name       string  `json:"name"`
	Needs      []Need  `json:"needs"`      // in the order of a request's way
	Bottleneck string  `json:"bottleneck"` // the need that is furthest above what an account has; empty if none is
	Ample      Outcome `json:"ample"`      // with all that is needed
	Default    Outcome `json:"default"`    // with what a new account has
	Bill       Bill    `json:"bill"`       // of what is needed
	Preflight  float64 `json:"preflight"`  // what saleadmin's preflight is asked for as "peak": purchase calls a second
}

// New answers the question. It takes less than a second.
func New(q Question, m Measured, prices Prices) (Forecast, error) {
	q, err := q.Complete()
	if err != nil {
		return Forecast{}, fmt.Errorf("forecast: %w", err)
	}
	first := q
	first.Spread = 0
	f := Forecast{Question: q, Measured: m, Prices: prices.Name()}
	for _, way := range []struct {
		name string
		q    Question
	}{{"first-come", first}, {"lottery", q}} {
		f.Ways = append(f.Ways, scenario(way.name, way.q, m, prices))
		way.q.Instances = true
		f.Ways = append(f.Ways, scenario(way.name+", instances", way.q, m, prices))
	}
	return f, nil
}

func scenario(name string, q Question, m Measured, prices Prices) Scenario {
	ample := Simulate(q, m, Unlimited())
	needs := Needs(q, m, ample)
	return Scenario{
		Name: name, Needs: needs, Bottleneck: Bottleneck(needs),
		Ample: ample, Default: Simulate(q, m, Defaults(q, m)),
		Bill: NewBill(q, m, prices, needs, ample), Preflight: whole(ample.Peak.Presses),
	}
}
