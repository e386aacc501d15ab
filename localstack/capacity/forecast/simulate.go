package forecast

import (
	"math"
	"time"
)

// step is the simulation's clock. All that it counts is a flow: fractions of shoppers are fine.
const step = 50 * time.Millisecond

// tail is how long after the spread a run ends at the latest.
const tail = 10 * time.Minute

// What functions do; the first is Lambda's rule, the others are the code's.
const (
	perEnvironment = 10.0                   // synchronous requests a second that one environment takes
	lookEvery      = 200 * time.Millisecond // an environment renews what it knows of an item that is sold out
	catalogEvery   = time.Second            // and of the sales

	// A look asks each Redis node four things in three round trips: its clock, a shard's meta and
	// stock, the head of its winners' filter. They are plain reads, so a node is charged two holds.
	lookCost = 2

	// What an environment opens to each broker as it starts: the client's first, one for
	// questions and one for records.
	brokerConnections = 3
)

// An Outcome is how a sale went.
type Outcome struct {
	Presses float64   `json:"presses"`  // purchase calls that left a page, again and again included
	Edge    float64   `json:"edge"`     // requests that met CloudFront
	Early   float64   `json:"early"`    // of them: refused by its function, before their turn
	Calls   float64   `json:"calls"`    // requests that met API Gateway
	Served  float64   `json:"served"`   // purchase calls that a function answered
	Polls   float64   `json:"polls"`    // of orders, that a function answered
	Wins    float64   `json:"wins"`     // shoppers with a 202
	GaveUp  float64   `json:"gaveUp"`   // shoppers whose page stopped trying
	SoldOut float64   `json:"soldOutS"` // seconds after the opening; 0 if it never was
	LastRow float64   `json:"lastRowS"` // when the last order was in PostgreSQL
	Refused Refused   `json:"refused"`
	Peak    Peak      `json:"peak"`
	calls   []float64 // per step
}

// Refused counts answers that were no, for want of something; the page tries again.
type Refused struct {
	Edge         float64 `json:"edge"`
	Gateway      float64 `json:"gateway"`
	Others       float64 `json:"others"` // polls, by the template's own throttle
	Environments float64 `json:"environments"`
	Redis        float64 `json:"redis"`
	Kafka        float64 `json:"kafka"` // by environments that were not logged in yet
}

// Peak is the worst second of each.
type Peak struct {
	Edge         float64 `json:"edge"`
	Calls        float64 `json:"calls"`
	Presses      float64 `json:"presses"` // that reached API Gateway
	Polls        float64 `json:"polls"`
	Redis        float64 `json:"redis"`       // calls of one node, in holds
	RedisShared  float64 `json:"redisShared"` // of all nodes: what shards share
	RedisEach    float64 `json:"redisEach"`   // and of each node: what they do not
	Logins       float64 `json:"logins"`      // new connections to a broker
	Wins         float64 `json:"wins"`
	Environments float64 `json:"environments"` // of purchase
	Others       float64 `json:"otherEnvironments"`
}

// A run is the state between two steps.
type run struct {
	q       Question
	limits  Limits
	out     Outcome
	asks    *calendar        // pages that look at the sale
	presses [tries]*calendar // again, by how often it was tried
	orders  *calendar        // pages of winners that look at their order
	paying  *calendar        // when winners are done
	leaving *calendar        // when others are
	here    float64          // pages that look at the sale
	winners float64          // pages that look at an order
	units   float64
	unsaved float64 // orders on their way to PostgreSQL
	tokens  float64 // API Gateway's bucket
	joined  float64 // environments of purchase that Kafka has logged in

	purchase, others function
	meters           struct{ edge, calls, presses, polls, redis, shared, each, logins, wins meter }
}

// Simulate holds the sale under these limits.
func Simulate(q Question, m Measured, limits Limits) Outcome {
	warm := min(q.Warm, limits.Concurrency)
	if q.Instances {
		warm = limits.Instances
	}
	r := run{
		q: q, limits: limits, asks: newCalendar(askOpen.to), orders: newCalendar(pollPayable), paying: newCalendar(pays), leaving: newCalendar(stays),
		units: q.Items, tokens: limits.GatewayBurst, joined: warm,
		purchase: function{rate: environmentRate(q, m), environments: warm, most: limits.Concurrency, growth: limits.Growth},
		others:   function{rate: perEnvironment, most: limits.Concurrency, growth: limits.Growth},
	}
	if q.Instances {
		r.joined = math.Inf(1) // an hour before
		if !math.IsInf(limits.Growth, 1) {
			r.purchase.most = warm // they grow within minutes, too late
		}
	}
	for i := range r.presses {
		r.presses[i] = newCalendar(backoff(tries).to)
	}
	if q.Spread == 0 {
		r.asks.put(0, q.Shoppers, span{step, askSpread})
		r.here = q.Shoppers
	}
	for k := 1; ; k++ {
		now := time.Duration(k) * step
		r.tick(k, now)
		pressed := q.pressed(now)
		idle := q.Shoppers*(1-pressed) < 1 && r.waiting() < 1 && r.unsaved < 1e-6 && r.winners < 1
		if idle || now > q.Spread+tail {
			break
		}
	}
	p := &r.out.Peak
	p.Edge, p.Calls, p.Presses = r.meters.edge.peak, r.meters.calls.peak, r.meters.presses.peak
	p.Environments, p.Others = r.purchase.environments, r.others.environments
	p.Polls, p.Logins, p.Wins = r.meters.polls.peak, r.meters.logins.peak, r.meters.wins.peak
	p.Redis, p.RedisShared, p.RedisEach = r.meters.redis.peak, r.meters.shared.peak, r.meters.each.peak
	return r.out
}

func (r *run) waiting() (n float64) {
	for _, c := range r.presses {
		n += c.all
	}
	return n
}
