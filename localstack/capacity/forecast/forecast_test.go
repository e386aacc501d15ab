package forecast_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"flashsale/localstack/capacity/forecast"
)

// measured are unit costs of no machine in particular.
var measured = forecast.Measured{From: "a test", Refusal: 400_000, Full: 4_000, Reserve: 40_000, Writer: 20_000}

func ask(t *testing.T, q forecast.Question) forecast.Question {
	t.Helper()
	full, err := q.Complete()
	if err != nil {
		t.Fatal(err)
	}
	return full
}

func needs(q forecast.Question, m forecast.Measured) map[string]forecast.Need {
	byName := map[string]forecast.Need{}
	for _, n := range forecast.Needs(q, m, forecast.Simulate(q, m, forecast.Unlimited())) {
		byName[n.Name] = n
	}
	return byName
}

// TestMoreNeverNeedsLess: a larger peak, with the crowd that comes with it, or more units never lower a need.
func TestMoreNeverNeedsLess(t *testing.T) {
	t.Parallel()
	for _, spread := range []time.Duration{0, 10 * time.Second, 2 * time.Minute} {
		for _, peak := range []float64{500, 3_000, 20_000, 150_000} {
			for _, onInstances := range []bool{false, true} {
				q := forecast.Question{Peak: peak, Shoppers: 4 * peak, Items: peak / 25, Spread: spread, Instances: onInstances}
				before := needs(q, measured)
				atLeast := func(what string, q forecast.Question, share float64) {
					for name, after := range needs(q, measured) {
						if after.Need < math.Floor(share*before[name].Need) {
							t.Errorf("%s of %+v: %s falls from %.0f to %.0f", what, q, name, before[name].Need, after.Need)
						}
					}
				}
				more := q
				more.Peak, more.Shoppers = 2*q.Peak, 2*q.Shoppers
				atLeast("twice the peak", more, 1)
				more = q
				more.Items *= 2
				atLeast("twice the items", more, 1)
				// Of the same crowd fewer come after their turn if more come at once: that makes
				// the stream of a lottery a little more even, and their pages leave sooner.
				more = q
				more.Peak *= 2
				atLeast("twice the peak of the same crowd", more, 0.96)
			}
		}
	}
}

func TestTwiceTheSpreadHalvesTheRate(t *testing.T) {
	t.Parallel()
	for _, spread := range []time.Duration{20 * time.Second, time.Minute, 5 * time.Minute} {
		once := forecast.Simulate(question(spread), measured, forecast.Unlimited()).Peak.Presses
		twice := forecast.Simulate(question(2*spread), measured, forecast.Unlimited()).Peak.Presses
		if ratio := twice / once; ratio < 0.45 || ratio > 0.55 {
			t.Errorf("spread %v: %.0f presses in the worst second, twice of it: %.0f; want about half", spread, once, twice)
		}
	}
}

func question(spread time.Duration) forecast.Question {
	return forecast.Question{Peak: 30_000, Shoppers: 50_000, Items: 1_000, Spread: spread}
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within*math.Abs(want) {
		t.Errorf("%s: %.3f, want %.3f within %.0f %%", what, got, want, 100*within)
	}
}

// TestClosedForm compares with what can be written down without a simulation.
func TestClosedForm(t *testing.T) {
	t.Parallel()
	t.Run("first come", func(t *testing.T) {
		t.Parallel()
		q := question(0)
		q.Items = 25_000
		o := forecast.Simulate(q, measured, forecast.Unlimited())
		near(t, "presses in the first second", o.Peak.Presses, q.Peak, 0.001)
		near(t, "environments: ten requests a second each", o.Peak.Environments, q.Peak/10, 0.001)
		// The share that has come by t is 1 - (1 - peak/shoppers)^t.
		near(t, "sold out", o.SoldOut, math.Log(1-q.Items/q.Shoppers)/math.Log(1-q.Peak/q.Shoppers), 0.1)
		near(t, "last row", o.LastRow, o.SoldOut, 0.1)
	})
	t.Run("lottery", func(t *testing.T) {
		t.Parallel()
		q := question(100 * time.Second)
		q.Items = 25_000
		o := forecast.Simulate(q, measured, forecast.Unlimited())
		// A steady stream of shoppers / spread, and at first those who came after their turn.
		near(t, "presses in the worst second", o.Peak.Presses, q.Shoppers/100, 0.2)
		near(t, "sold out", o.SoldOut, 100*q.Items/q.Shoppers, 0.05)
		near(t, "wins in the worst second", o.Peak.Wins, o.Peak.Presses, 0.001)
	})
	t.Run("a gateway below the stream", func(t *testing.T) {
		t.Parallel()
		q := question(100 * time.Second)
		q.Items = q.Shoppers
		limits := forecast.Unlimited()
		limits.GatewayRate, limits.GatewayBurst, limits.Others = 250, 250, 1e-9
		o := forecast.Simulate(q, measured, limits)
		if most := 250 * (o.SoldOut + o.LastRow + 10); o.Served > most {
			t.Errorf("served %.0f in %.0f s through 250 a second", o.Served, o.LastRow)
		}
		// While the crowd is there the gateway is never idle: half of the crowd's time it takes its rate.
		if o.Served < 250*50 {
			t.Errorf("served %.0f; want at least half of the spread's 25,000", o.Served)
		}
	})
	t.Run("a writer below the winners", func(t *testing.T) {
		t.Parallel()
		q := question(0)
		q.Items = 25_000
		limits := forecast.Unlimited()
		limits.Writer = 1_000
		near(t, "last row", forecast.Simulate(q, measured, limits).LastRow, 25, 0.05)
	})
}

// TestNobodyIsLost: each shopper wins, hears that it is sold out, or gives up.
func TestNobodyIsLost(t *testing.T) {
	t.Parallel()
	for _, spread := range []time.Duration{0, 30 * time.Second} {
		for _, onInstances := range []bool{false, true} {
			q := forecast.Question{Peak: 100_000, Shoppers: 300_000, Items: 5_000, Spread: spread, Instances: onInstances}
			for name, limits := range map[string]forecast.Limits{"ample": forecast.Unlimited(), "default": forecast.Defaults(q, measured)} {
				t.Run(fmt.Sprint(spread, onInstances, name), func(t *testing.T) {
					t.Parallel()
					o := forecast.Simulate(q, measured, limits)
					near(t, "served and gone", o.Served+o.GaveUp, q.Shoppers, 0.001)
					near(t, "wins", o.Wins, q.Items, 1e-9)
				})
			}
		}
	}
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	q := ask(t, forecast.Question{Peak: 300_000, Items: 1, Spread: time.Minute})
	if q.Shoppers != 500_000 {
		t.Errorf("a peak of 300,000 makes %.0f shoppers, want 500,000", q.Shoppers)
	}
	for name, q := range map[string]forecast.Question{
		"no peak":                 {Items: 1, Spread: time.Second},
		"no items":                {Peak: 1, Spread: time.Second},
		"a peak of all":           {Peak: 10, Shoppers: 10, Items: 1, Spread: time.Second},
		"no spread":               {Peak: 10, Items: 1},
		"a spread of a day":       {Peak: 10, Items: 1, Spread: 24 * time.Hour},
		"fewer shoppers than all": {Peak: 10, Shoppers: 9, Items: 1, Spread: time.Second},
		"shards below one":        {Peak: 10, Items: 1, Spread: time.Second, Shards: -1},
		"half a shard":            {Peak: 10, Items: 1, Spread: time.Second, Shards: 1.5},
		"too many shards":         {Peak: 10, Items: 1, Spread: time.Second, Shards: 65},
		"fewer than none warm":    {Peak: 10, Items: 1, Spread: time.Second, Warm: -1},
		"warm without a number":   {Peak: 10, Items: 1, Spread: time.Second, Warm: math.NaN()},
	} {
		if _, err := q.Complete(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
