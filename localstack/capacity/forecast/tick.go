package forecast

import "time"

// A batch is purchase calls on their way, by how often each was tried before.
type batch [tries]float64

func (b *batch) total() (n float64) {
	for _, v := range b {
		n += v
	}
	return n
}

// A meter finds the worst second.
type meter struct {
	last [int(time.Second / step)]float64
	next int
	sum  float64
	peak float64
}

func (m *meter) add(n float64) {
	m.sum += n - m.last[m.next]
	m.last[m.next] = n
	m.next = (m.next + 1) % len(m.last)
	m.peak = max(m.peak, m.sum)
}

// fits is the share of n that a limit a second lets pass in one step.
func fits(limit, n float64) float64 {
	if n <= limit*step.Seconds() {
		return 1
	}
	return limit * step.Seconds() / n
}

// tick is one step: from the pages inwards, each part handing on what it can take.
func (r *run) tick(k int, now time.Duration) {
	var presses batch
	for i, c := range r.presses {
		presses[i] = c.take(k)
	}
	presses[0] += r.q.Shoppers * (r.q.pressed(now) - r.q.pressed(now-step))
	asks, polls := r.asks.take(k)+r.turns(now), r.orders.take(k)
	r.goHome(k)

	passed := r.edge(k, now, &presses, asks, polls)
	r.look(k, now, asks, passed)
	reached := polls * passed
	reached *= r.throttle(k, &presses, reached)
	r.functions(k, now, &presses, reached)
	// Every page that asked for its order asks again, whatever the answer was.
	wait := pollPayable
	if r.unsaved > 0 || reached < polls {
		wait = pollUnpaid
	}
	r.orders.put(k, polls, span{wait, wait})
	r.write(now)
}

// turns is how many pages ask for the sale because their turn has come; none without a lottery.
func (r *run) turns(now time.Duration) float64 {
	n := r.q.Shoppers * (r.q.turned(now) - r.q.turned(now-step))
	r.here += n
	return n
}

// edge is CloudFront and its function. It returns the share that comes through.
func (r *run) edge(k int, now time.Duration, presses *batch, asks, polls float64) float64 {
	early := 0.0
	if r.q.Spread > 0 {
		early = eager * r.q.Shoppers * (1 - r.q.turned(now)) * step.Seconds()
	}
	n := presses.total() + asks + polls + early
	r.out.Presses += presses.total()
	r.out.Edge += n
	r.out.Early += early
	r.meters.edge.add(n)
	share := fits(r.limits.Edge, n)
	r.out.Refused.Edge += n * (1 - share)
	r.refuse(k, presses, 1-share)
	return share
}

// look is what pages do after they asked for the sale: the CDN's answer may be old.
func (r *run) look(k int, now time.Duration, asks, passed float64) {
	stale := max(0, 1-now.Seconds()/askStale.Seconds())
	r.asks.put(k, asks*(1-passed), backoff(0))
	r.asks.put(k, asks*passed*stale, span{step, askStale - now + askAgain})
	r.asks.put(k, asks*passed*(1-stale), askOpen)
}

// throttle is API Gateway: the stage's throttle for polls, then the account's bucket. It
// returns the share of polls that comes through.
func (r *run) throttle(k int, presses *batch, polls float64) float64 {
	others := fits(r.limits.Others, polls)
	r.out.Refused.Others += polls * (1 - others)
	n := presses.total() + polls*others
	r.out.Calls += n
	r.out.calls = append(r.out.calls, n)
	r.meters.calls.add(n)
	r.meters.presses.add(presses.total())
	r.meters.polls.add(polls)

	r.tokens = min(r.limits.GatewayBurst, r.tokens+r.limits.GatewayRate*step.Seconds())
	share := 1.0
	if n > r.tokens {
		share = r.tokens / n
	}
	r.tokens -= n * share
	r.out.Refused.Gateway += n * (1 - share)
	r.refuse(k, presses, 1-share)
	return others * share
}

// functions is Lambda with Redis and Kafka behind it.
func (r *run) functions(k int, now time.Duration, presses *batch, polls float64) {
	share := r.others.serve(polls, r.limits.Growth)
	r.out.Refused.Environments += polls * (1 - share)
	polls *= share

	n := presses.total()
	if !r.q.Instances {
		r.purchase.most = r.limits.Concurrency - r.others.environments
	}
	share = r.purchase.serve(n, r.limits.Growth)
	r.out.Refused.Environments += n * (1 - share)
	r.refuse(k, presses, 1-share)
	n *= share

	share = r.redis(n, polls)
	r.out.Refused.Redis += n * (1 - share)
	r.refuse(k, presses, 1-share)
	r.out.Polls += polls * share
	n *= share

	share = r.kafka(n)
	r.out.Refused.Kafka += n * (1 - share)
	r.refuse(k, presses, 1-share)
	r.out.Served += n * share
	r.answer(k, now, n*share)
}

// redis returns the share of calls that its nodes take. A hold and a poll meet their
// shard's node; a look meets every node, and the catalog lies on one: more shards do
// not lower these.
func (r *run) redis(n, polls float64) float64 {
	every := func(d time.Duration) float64 { return r.purchase.environments * step.Seconds() / d.Seconds() }
	won := min(n, r.units)
	shared := polls + won
	each := min(n, every(catalogEvery)) + lookCost*min(n-won, every(lookEvery))
	node := shared/r.q.shards() + each
	r.meters.shared.add(shared)
	r.meters.each.add(each)
	r.meters.redis.add(node)
	return fits(r.limits.Redis, node)
}

// kafka returns the share of calls that are answered. An environment that is not
// logged in yet can sell nothing: the unit goes back, and its shopper hears 503.
func (r *run) kafka(n float64) float64 {
	fresh := max(0, r.purchase.environments-r.joined)
	fresh *= fits(r.limits.Logins, fresh*brokerConnections)
	r.joined += fresh
	r.meters.logins.add(fresh * brokerConnections)
	if r.joined >= r.purchase.environments {
		return 1
	}
	share := r.joined / r.purchase.environments
	if n*share >= r.units { // the others hear that it is sold out
		return 1
	}
	return share
}

// A function is what Lambda has of it.
type function struct {
	rate         float64 // calls a second of one environment
	environments float64
	most         float64
	growth       float64 // may be added at once
	served       meter
}

// serve takes the share of n calls that it returns, and grows by what may be added.
func (f *function) serve(n, growth float64) float64 {
	f.growth = min(growth, f.growth+growth*step.Seconds()/growthTime.Seconds())
	before := f.served.sum - f.served.last[f.served.next] // of this second
	more := min(whole((before+n)/f.rate), f.most) - f.environments
	if more = min(more, f.growth); more > 0 {
		f.environments += more
		f.growth -= more
	}
	share := 1.0
	if room := max(0, f.environments*f.rate-before); n > room+1e-6 {
		share = room / n
	}
	f.served.add(n * share)
	return share
}

// answer tells n shoppers that they have won or that it is sold out.
func (r *run) answer(k int, now time.Duration, n float64) {
	won := min(n, r.units)
	r.units -= won
	r.unsaved += won
	r.winners += won
	r.out.Wins += won
	r.meters.wins.add(won)
	if won > 0 && r.units <= 0 {
		r.units = 0
		r.out.SoldOut = now.Seconds()
	}
	r.orders.put(k, won, span{pollUnpaid, pollUnpaid})
	r.paying.put(k, won, span{pays, pays})
	r.leaving.put(k, n-won, span{stays, stays})
}

// refuse sends a share of the batch back to its pages, which try again or give up.
func (r *run) refuse(k int, presses *batch, share float64) {
	if share <= 0 {
		return
	}
	for i := range presses {
		n := presses[i] * share
		presses[i] -= n
		if i+1 < tries {
			r.presses[i+1].put(k, n, backoff(i))
		} else {
			r.out.GaveUp += n
			r.leaving.put(k, n, span{stays, stays})
		}
	}
}

// goHome takes pages away whose shoppers have paid or lost.
func (r *run) goHome(k int) {
	if paid := r.paying.take(k); paid > 0 {
		r.orders.thin(max(0, 1-paid/r.winners))
		r.winners -= paid
		r.asks.thin(max(0, 1-paid/r.here))
		r.here -= paid
	}
	if gone := r.leaving.take(k); gone > 0 {
		r.asks.thin(max(0, 1-gone/r.here))
		r.here -= gone
	}
}

// write is the order writer.
func (r *run) write(now time.Duration) {
	if r.unsaved <= 0 {
		return
	}
	r.unsaved -= min(r.unsaved, r.limits.Writer*step.Seconds())
	r.out.LastRow = now.Seconds()
}
