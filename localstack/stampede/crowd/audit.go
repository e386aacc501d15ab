package crowd

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/localstack/stampede/report"
)

// auditors ask at the same time.
const auditors = 64

// audit finds out what the shoppers do not know, follows each order to its end, and
// lets those who were refused press once more.
func (c *crowd) audit(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*c.Patience)
	defer cancel()
	c.each(c.who(func(p *person) bool { return p.unknown && p.order == "" || p.class == report.HadOrder }), func(s *shopper) { s.ask(ctx) })
	c.each(c.who((*person).bought), func(s *shopper) { s.look(ctx) })
	c.lastPresses(ctx)
	c.record.Orders(func(o *report.Orders) {
		for i := range c.people {
			if p := &c.people[i]; p.bought() && p.state != "" {
				o.Ends[p.state]++
			}
		}
	})
}

func (p *person) bought() bool { return p.class == report.Bought || p.class == report.Found }

// who lists shoppers by number.
func (c *crowd) who(want func(*person) bool) (numbers []int) {
	for i := range c.people {
		if want(&c.people[i]) {
			numbers = append(numbers, i*c.Parts+c.Part-1)
		}
	}
	return numbers
}

// each does something for each of them, several at a time.
func (c *crowd) each(numbers []int, do func(*shopper)) {
	next := make(chan int)
	var busy sync.WaitGroup
	for range min(auditors, len(numbers)) {
		busy.Go(func() {
			for number := range next {
				do(c.shopper(number))
			}
		})
	}
	for _, number := range numbers {
		next <- number
	}
	close(next)
	busy.Wait()
}

// ask looks for the shopper's order as the page does after a reload.
func (s *shopper) ask(ctx context.Context) {
	a := s.insist(ctx, Call{Action: MyOrder, ID: s.sale, Token: s.Token(s.number)})
	switch {
	case s.class == report.HadOrder:
		if a.Code != 200 || a.OrderID != s.order {
			s.record.Orders(func(o *report.Orders) { o.Foreign++ })
			s.record.Example("shopper %d was refused for order %s, and has %q", s.number, s.order, a.OrderID)
		}
	case a.Code == 200 && a.Status == "REJECTED" && !s.told:
		// The purchase was given up and answered 503; its record came too late.
	case a.Code == 200 && a.OrderID != "":
		s.take(a.OrderID)
		s.settle(s.person, report.Found)
	case a.Code != 404:
		s.record.Example("shopper %d: nobody says whether there is an order: %d %s", s.number, a.Code, a.Error)
		s.settle(s.person, report.Unfinished)
	}
}

// insist repeats a call while the answer is busy and patience lasts. It is no page: its waits
// do not grow.
func (s *shopper) insist(ctx context.Context, call Call) Answer {
	a := s.call(ctx, time.Now(), call)
	for deadline := time.Now().Add(s.Patience); a.busy() && ctx.Err() == nil && time.Now().Before(deadline); {
		a = s.call(ctx, s.again(a, 1), call)
	}
	return a
}

// look asks for the order until it is written and stands as it must.
func (s *shopper) look(ctx context.Context) {
	for deadline := time.Now().Add(s.Patience); ; {
		a := s.insist(ctx, Call{Action: Status, ID: s.order, Token: s.Token(s.number)})
		s.state = a.Status
		switch {
		case a.busy():
			s.record.Example("shopper %d: nobody says how order %s stands: %d %s", s.number, s.order, a.Code, a.Error)
			s.settle(s.person, report.Unfinished)
			return
		case a.Code != 200:
			s.miss("%d %s", a.Code, a.Error)
			return
		case !s.isOwn(a):
			s.state = ""
			return
		case a.Status == "REJECTED":
			s.miss("REJECTED")
			return
		case a.Status != "PENDING" || a.Payable || s.written:
			s.seen()
			if s.must == "" || s.must == a.Status {
				return
			}
		}
		if !sleepUntil(ctx, time.Now().Add(pollEvery/4)) || time.Now().After(deadline) {
			s.missed(a)
			return
		}
	}
}

// missed is an order whose time is over.
func (s *shopper) missed(a Answer) {
	s.record.Example("shopper %d: order %s is %s, payable %t; want %q", s.number, s.order, a.Status, a.Payable, s.must)
	s.record.Orders(func(o *report.Orders) {
		if s.must != "" && s.must != a.Status {
			o.Undone++
		} else {
			o.Unopened++
		}
	})
}

// miss is an order that should be there and is not.
func (s *shopper) miss(format string, args ...any) {
	if !s.lost {
		s.lost = true
		s.record.Orders(func(o *report.Orders) { o.Lost++ })
		s.record.Example("shopper %d: order %s: "+format, append([]any{s.number, s.order}, args...)...)
	}
}

// lastPresses lets shoppers who were refused as sold out press again, until all units
// are gone and one hears "sold out" once more. Units come back when orders are
// cancelled or given up, some of them late, so a refusal says nothing about what is
// left a moment later. A part does not know what the others' shoppers hold: it presses
// for all its patience.
func (c *crowd) lastPresses(ctx context.Context) {
	deadline := time.Now().Add(c.Patience)
	refused := c.who((*person).refused)
	for many := 1; len(refused) > 0 && ctx.Err() == nil; {
		left := c.left()
		if left < 0 { // oversold, which is bad enough
			return
		}
		turn := refused[:min(len(refused), max(many, left))]
		var heard atomic.Int64
		c.each(turn, func(s *shopper) {
			if s.pressLast(ctx) {
				heard.Add(1)
			}
		})
		// Who was refused again may try later, after the others.
		refused = slices.DeleteFunc(append(refused[len(turn):], turn...), func(number int) bool { return !c.people[number/c.Parts].refused() })
		if heard.Load() == 0 { // all bought: more may have come back
			many *= 2
			continue
		}
		many = 1
		if time.Now().After(deadline) || c.Parts == 1 && left == 0 {
			c.record.Orders(func(o *report.Orders) { o.SoldOutLast = true })
			return
		}
		if !sleepUntil(ctx, time.Now().Add(pollEvery/4)) {
			return
		}
	}
}

func (p *person) refused() bool { return p.class == report.SoldOut }

// left counts the units that no shopper holds; 0 where that is not known.
func (c *crowd) left() int {
	if c.Units == 0 || c.Parts > 1 {
		return 0
	}
	return c.Units - len(c.who(func(p *person) bool { return p.bought() && (p.state == "PENDING" || p.state == "PAID") }))
}

// pressLast tells whether the shopper heard "sold out" again.
func (s *shopper) pressLast(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	a := s.insist(ctx, Call{Action: Purchase, ID: s.item, Token: s.Token(s.number), Key: s.key + "-last", Pass: s.pass})
	if a.Code == 202 {
		s.record.Accepted(time.Now())
	}
	class, done := s.final(a)
	switch {
	case !done: // it may have had its effect
		s.ask(ctx)
	case class != s.class:
		s.settle(s.person, class)
	}
	if s.bought() {
		s.look(ctx)
	}
	return done && class == report.SoldOut
}
