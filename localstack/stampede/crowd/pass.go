package crowd

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"flashsale/localstack/stampede/report"
)

const (
	// earliest is when the page begins to ask for passes, before the opening.
	earliest = 10 * time.Minute
	// reaction is how long after the own turn the last shopper presses.
	reaction = time.Second
	// clocks is how far the generator's clock may be from the sale's.
	clocks = 250 * time.Millisecond
)

// drawLots lets the shoppers ask for their passes as the page does, one after another
// until the first of them arrive. Who has none by then asks on arrival.
func (c *crowd) drawLots(ctx context.Context, numbers []int32) {
	until := c.Opens.Add(-time.Duration(c.Habits.Early))
	from := c.Opens.Add(-earliest)
	if now := time.Now(); from.Before(now) {
		from = now
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var asking errgroup.Group
	asking.SetLimit(c.InFlight)
	step := until.Sub(from) / time.Duration(len(numbers)+1)
	for i, number := range numbers {
		if !sleepUntil(ctx, from.Add(time.Duration(i)*step)) {
			break
		}
		asking.Go(func() error { c.shopper(int(number)).admit(ctx); return nil })
	}
	_ = asking.Wait()
}

// takeTurns lets everybody who does not come too early on purpose come at their turn.
func (c *crowd) takeTurns(numbers []int32, arrivals []time.Duration) {
	type visit struct {
		number int32
		at     time.Duration
	}
	visits := make([]visit, len(numbers))
	for i, number := range numbers {
		visits[i] = visit{number, arrivals[i]}
		s := c.shopper(int(number))
		if after := s.turn.Sub(c.Opens); s.pass != "" && arrivals[i] >= 0 && after > arrivals[i] {
			visits[i].at = after + s.upTo(reaction)
		}
	}
	slices.SortStableFunc(visits, func(a, b visit) int { return cmp.Compare(a.at, b.at) })
	for i, v := range visits {
		numbers[i], arrivals[i] = v.number, v.at
	}
}

// admit sees to it that the shopper has a pass, where one is needed.
func (s *shopper) admit(ctx context.Context) {
	if !s.Lottery || s.pass != "" {
		return
	}
	wanted := time.Now()
	for tries := 1; tries <= maxTries && ctx.Err() == nil; tries++ {
		a := s.call(ctx, wanted, Call{Action: Admission, ID: s.sale, Token: s.Token(s.number)})
		if a.Code == 200 {
			s.pass, s.turn = a.Pass, a.NotBefore
		}
		if !a.busy() {
			return
		}
		wanted = s.again(a, tries)
	}
}

// turned takes what a refusal says about the pass: a later turn, or that it is not good.
func (s *shopper) turned(a Answer) {
	if a.Error != "ADMISSION_REQUIRED" {
		return
	}
	if s.turn = a.NotBefore; s.turn.IsZero() {
		s.pass = ""
	}
}

// judgeTurn holds a 202 against the shopper's turn. Who has bought without a pass had none.
func (s *shopper) judgeTurn(at time.Time) {
	if s.Lottery && (s.pass == "" || at.Add(clocks).Before(s.turn)) {
		s.record.Orders(func(o *report.Orders) { o.Early++ })
		s.record.Example("shopper %d bought %s before the turn", s.number, s.turn.Sub(at))
	}
}
