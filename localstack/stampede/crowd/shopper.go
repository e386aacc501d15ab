package crowd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"flashsale/localstack/stampede/report"
)

const (
	maxTries    = 12 // as the page
	cancelTries = 4
	pollEvery   = time.Second
	stayEvery   = 2 * time.Second // once the order can be paid
)

// A shopper is a person inside.
type shopper struct {
	*crowd
	*person
	plan

	number  int
	key     string
	rand    *rand.Rand
	doubted atomic.Bool // a press may have had its effect; two may be under way
	came    atomic.Bool // a 202, read or not
}

func (c *crowd) shopper(number int) *shopper {
	p, source := draw(c.Seed, number, c.Habits)
	return &shopper{
		crowd: c, person: &c.people[number/c.Parts], plan: p, number: number, rand: source,
		key: fmt.Sprintf("stampede-%d-%d", c.Seed, number),
	}
}

// live is a shopper's whole story. There is a place for the first press.
func (c *crowd) live(ctx context.Context, number int, arrived time.Time) {
	s := c.shopper(number)
	c.record.Count(report.Arrived, arrived)
	c.settle(s.person, s.buy(ctx, arrived))
	s.unknown, s.told = s.doubted.Load(), s.came.Load()
	if s.order != "" && s.follow(ctx) {
		s.end(ctx)
		c.staying.Go(func() { s.stay(ctx) })
	}
}

// buy presses until the answer is final.
func (s *shopper) buy(ctx context.Context, wanted time.Time) report.Class {
	s.admit(ctx)
	a := s.firstPress(ctx, wanted)
	for tries := 1; ; a = s.press(ctx, wanted) {
		if s.dropOut {
			s.doubted.Store(true)
			return report.DroppedOut
		}
		if class, done := s.final(a); done {
			return class
		}
		if tries >= maxTries {
			return report.GaveUp
		}
		if wanted = s.again(a, tries); a.busy() {
			tries++
		}
		if !sleepUntil(ctx, wanted) {
			return report.Unfinished
		}
		s.turned(a)
		s.admit(ctx)
	}
}

// final tells what an answer makes of the shopper, if it is the last word. A 409 may
// be about the shopper's own other press.
func (s *shopper) final(a Answer) (report.Class, bool) {
	switch {
	case a.named() && (a.Code == 202 || s.double || s.doubted.Load()):
		s.take(a.OrderID)
		return report.Bought, true
	case a.named():
		s.order = a.OrderID // looked at afterwards
		return report.HadOrder, true
	case a.Code == 410 && a.Error == "SOLD_OUT":
		return report.SoldOut, true
	case a.Code == 410 && a.Error == "SALE_CLOSED":
		return report.Closed, true
	case a.busy(), a.Code == 403 && (a.Error == "SALE_NOT_OPEN" || a.Error == "ADMISSION_REQUIRED"):
		return "", false
	default:
		s.record.Example("shopper %d: %d %s", s.number, a.Code, a.Error)
		return report.Failed, true
	}
}

// again is when to press again: at the opening, at the own turn, or after the wait that the answer
// asks for, or a growing one; never all at the same moment.
func (s *shopper) again(a Answer, tries int) time.Time {
	now := time.Now()
	if a.Code == 403 {
		at := now.Add(max(a.RetryAfter, 100*time.Millisecond))
		for _, later := range []time.Time{a.OpensAt, a.NotBefore} {
			if later.After(now) {
				at = later
			}
		}
		return at.Add(s.upTo(time.Second)) // as late as the page's next look at the sale
	}
	step := time.Second << min(tries-1, 3)
	return now.Add(max(a.RetryAfter, step/2)).Add(s.upTo(step / 2))
}

func (s *shopper) upTo(d time.Duration) time.Duration { return time.Duration(s.rand.Int64N(int64(d))) }

// firstPress is two presses for those who click twice: the same key, a moment apart.
// For one there is a place already.
func (s *shopper) firstPress(ctx context.Context, wanted time.Time) Answer {
	if !s.double {
		return s.heard(s.send(ctx, wanted, s.presses, s.purchase()))
	}
	second, later := make(chan Answer, 1), wanted.Add(20*time.Millisecond+s.upTo(130*time.Millisecond))
	go func() { second <- s.press(ctx, later) }()
	a := s.heard(s.send(ctx, wanted, s.presses, s.purchase()))
	b := <-second
	switch {
	case a.named() && b.named() && a.OrderID != b.OrderID:
		s.second(b.OrderID)
		return a
	case b.named() && !a.named(), a.busy() && !b.busy():
		return b
	}
	return a
}

func (s *shopper) press(ctx context.Context, wanted time.Time) Answer {
	return s.heard(s.call(ctx, wanted, s.purchase()))
}

func (s *shopper) purchase() Call {
	return Call{Action: Purchase, ID: s.item, Token: s.Token(s.number), Key: s.key, Pass: s.pass}
}

// heard notes what a press was answered.
func (s *shopper) heard(a Answer) Answer {
	if a.unknown() {
		s.doubted.Store(true)
	}
	if a.Code == 202 {
		s.judgeTurn(time.Now())
	}
	if a.Code == 202 && s.came.CompareAndSwap(false, true) {
		s.record.Accepted(time.Now())
	}
	return a
}

// take notes the shopper's order.
func (s *shopper) take(id string) {
	switch s.order {
	case id:
	case "":
		s.order = id
		s.record.Order(id)
	default:
		s.second(id)
	}
}

// second is an order that must not be.
func (s *shopper) second(id string) {
	s.record.Order(id)
	s.record.Orders(func(o *report.Orders) { o.Double++ })
	s.record.Example("shopper %d: order %s besides %s", s.number, id, s.order)
}

// follow polls as the page does, true once the order can be paid. Who loses patience
// leaves the rest to the audit.
func (s *shopper) follow(ctx context.Context) bool {
	if s.class != report.Bought {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	for wanted := time.Now(); ; wanted = time.Now().Add(pollEvery + s.upTo(pollEvery/5)) {
		a := s.call(ctx, wanted, Call{Action: Status, ID: s.order, Token: s.Token(s.number)})
		switch {
		case ctx.Err() != nil:
			return false
		case a.busy(), a.Code == 200 && s.isOwn(a) && a.Status == "PENDING" && !a.Payable:
		case a.Code == 200 && s.isOwn(a):
			s.seen()
			return a.Payable
		default: // the audit says what it is
			return false
		}
	}
}

// stay goes on polling as the page does, until the order has ended or all have had their turn.
func (s *shopper) stay(ctx context.Context) {
	for s.must != "CANCELLED" {
		select {
		case <-time.After(stayEvery):
		case <-s.over:
			return
		}
		a := s.call(ctx, time.Now(), Call{Action: Status, ID: s.order, Token: s.Token(s.number)})
		if ctx.Err() != nil || !a.busy() && (a.Code != 200 || !s.isOwn(a) || a.Status != "PENDING") {
			return
		}
	}
}

// isOwn checks that the answer is about the own order, item and sale.
func (s *shopper) isOwn(a Answer) bool {
	if a.OrderID == s.order && (a.ItemID == s.Item || a.ItemID == 0) && a.SaleID == s.Sale {
		return true
	}
	s.record.Orders(func(o *report.Orders) { o.Foreign++ })
	s.record.Example("shopper %d asked for order %s and was shown %s of item %d in sale %d", s.number, s.order, a.OrderID, a.ItemID, a.SaleID)
	return false
}

// seen notes that the order is written.
func (s *shopper) seen() {
	if !s.written && s.Rows == nil {
		s.record.Written(1, time.Now())
	}
	s.written = true
}

// end pays, cancels, or leaves the order to its time, after a moment's thought.
func (s *shopper) end(ctx context.Context) {
	wanted := time.Now().Add(500*time.Millisecond + s.upTo(2500*time.Millisecond))
	switch {
	case s.ending == pays && s.Pay != nil:
		s.pay(ctx, wanted)
	case s.ending == cancels:
		s.cancel(ctx, wanted)
	}
}

func (s *shopper) pay(ctx context.Context, wanted time.Time) {
	if !s.enter(ctx, wanted, s.others) {
		return
	}
	sent := time.Now()
	accepted := s.Pay(ctx, s.order)
	ended := time.Now()
	s.others.leave()
	result := report.Sample{Kind: report.Settle, Answer: "PAY none", Wanted: wanted, Sent: sent, Ended: ended}
	if accepted {
		result.Answer, result.Series, s.must = "PAY accepted", report.SeenPaid, "PAID"
	}
	s.record.Sample(result)
}

func (s *shopper) cancel(ctx context.Context, wanted time.Time) {
	for tries := 1; tries <= cancelTries; tries++ {
		a := s.call(ctx, wanted, Call{Action: Cancel, ID: s.order, Token: s.Token(s.number)})
		if a.Code == 200 && s.isOwn(a) && a.Status == "CANCELLED" {
			s.must = "CANCELLED"
			s.record.Count(report.SeenCancelled, time.Now())
			return
		}
		if !a.busy() {
			return
		}
		wanted = s.again(a, tries)
	}
}
