// Package crowd is a crowd of shoppers in front of a flash sale: they arrive around
// the opening, press once, try again when they are told to, press twice by mistake,
// go away without reading, poll as the page does, pay and cancel.
//
// It promises an exact account: each shopper ends in one class, orders that their
// shoppers may not know of are asked for afterwards, and each order is followed to its
// end. What the shoppers do is drawn from a seed; what the target answers is not.
//
// The schedule of arrivals is open: nobody waits with coming because the sale is slow.
// Latencies count from the moment at which a shopper wanted to send.
package crowd

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/localstack/stampede/report"
)

// Config says who comes, and to which sale.
type Config struct {
	Way, Target string // for the report

	Shoppers    int // of all parts
	Part, Parts int // which of them are ours: 1 of 1 is all
	Seed        uint64
	Habits      report.Habits
	Token       func(shopper int) string

	Sale, Item int64
	Units      int // 0: not known
	Opens      time.Time
	Lottery    bool // the sale lets its shoppers in one after another, by their passes

	InFlight int           // purchases at a time, and other calls; more wait, and their waiting counts
	Limit    time.Duration // for the rush, from the first arrival on; in a lottery from the last turn
	Patience time.Duration // for an order to be written, and for units to come back; 0 is a minute

	// Pay pays an order, true once the payment is accepted. Nil: nobody can pay.
	Pay func(ctx context.Context, orderID string) bool
	// Rows counts the sale's rows. Nil: an order counts as written once its shopper sees it.
	Rows func(ctx context.Context) (int, error)
	// System asks for the system's own account, once all is over. Nil: there is none.
	System func(ctx context.Context) (*report.System, error)
	// Neighbour tells how the shop's other work went since it was asked last, and Quiet how
	// it went before the sale. Nil: there is none.
	Neighbour func() report.Rounds
	Quiet     report.Rounds

	Notes []string
	Out   io.Writer // a line a second; nil is silent
}

// A crowd is one run.
type crowd struct {
	Config
	target  Target
	record  *report.Recorder
	presses *places  // for purchases
	others  *places  // for all else, so that it need not queue behind the crowd
	people  []person // by number / Parts
	item    string
	sale    string
	waiting atomic.Int64    // for a place, once inside
	due     []time.Duration // when shoppers arrive, after the opening
	inside  atomic.Int64    // of those

	over     chan struct{}  // closed when all have had their turn
	staying  sync.WaitGroup // shoppers who only look at their orders
	auditing bool           // the rush is over
}

// A person is what is remembered of a shopper.
type person struct {
	order   string // "" is none
	class   report.Class
	unknown bool   // may have an order without knowing it
	told    bool   // a 202 came, read or not
	must    string // the state that the order must have at the end; "" is any that lives
	state   string // at the end
	lost    bool   // counted already
	written bool   // seen

	pass string    // in a lottery
	turn time.Time // the pass is good from then on
}

// Run lets the crowd in and returns the judged report. An error means that there is
// none: the system's own account could not be had.
func Run(ctx context.Context, cfg Config, target Target) (*report.Report, error) {
	if cfg.Patience == 0 {
		cfg.Patience = time.Minute
	}
	numbers, arrivals := cfg.schedule()
	c := &crowd{
		Config: cfg, target: target, presses: newPlaces(cfg.InFlight), others: newPlaces(cfg.InFlight), people: make([]person, len(numbers)),
		over: make(chan struct{}),
		item: strconv.FormatInt(cfg.Item, 10), sale: strconv.FormatInt(cfg.Sale, 10),
		record: report.NewRecorder(report.Report{
			Way: cfg.Way, Target: cfg.Target, Parts: []string{fmt.Sprintf("%d/%d", cfg.Part, cfg.Parts)}, Seed: cfg.Seed,
			OpensAt: cfg.Opens.UTC(), Lottery: cfg.Lottery, Shoppers: len(numbers), Units: cfg.Units, Habits: cfg.Habits, Notes: cfg.Notes,
		}),
	}
	if c.Lottery {
		c.say("%d ask for their passes", len(numbers))
		c.drawLots(ctx, numbers)
		c.takeTurns(numbers, arrivals)
	}
	c.due = arrivals
	watching, stop := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	watchers.Go(func() { c.tell(watching) })
	if c.Rows != nil {
		watchers.Go(func() { c.watch(watching) })
	}
	c.awaitFirst(ctx)
	c.beside(func() { c.rush(ctx, numbers, arrivals) })
	c.say("all have had their turn; counting")
	c.auditing = true
	c.audit(ctx)
	var system *report.System
	var err error
	if c.System != nil {
		system, err = c.System(ctx)
	}
	stop()
	watchers.Wait()
	if err != nil {
		return nil, fmt.Errorf("crowd: the system's own account: %w", err)
	}
	return c.record.Close(system), nil
}

// rush lets everybody in at their time and waits for them, but not for longer than the limit.
// Who finds no place for the first press waits outside: hundreds of thousands of waiting
// goroutines would keep the collector busy, and the system with it.
func (c *crowd) rush(ctx context.Context, numbers []int32, arrivals []time.Duration) {
	if len(arrivals) == 0 {
		return
	}
	first := arrivals[0]
	if c.Lottery {
		first = arrivals[len(arrivals)-1]
	}
	ctx, cancel := context.WithDeadline(ctx, c.Opens.Add(first).Add(c.Limit))
	defer cancel()
	var living sync.WaitGroup
	for i, number := range numbers {
		arrived := c.Opens.Add(arrivals[i])
		if !sleepUntil(ctx, arrived) || !c.presses.enter(ctx, arrived) {
			c.leaveOutside(numbers[i:])
			break
		}
		c.inside.Add(1)
		living.Go(func() { c.live(ctx, int(number), arrived) })
	}
	living.Wait()
	close(c.over)
	c.staying.Wait()
}

// leaveOutside accounts for those who had no time to arrive.
func (c *crowd) leaveOutside(numbers []int32) {
	for _, number := range numbers {
		c.settle(&c.people[int(number)/c.Parts], report.Unfinished)
	}
}

// settle puts a person into a class.
func (c *crowd) settle(p *person, class report.Class) {
	c.record.Move(p.class, class)
	p.class = class
}

// call makes one call at its time. Only what was sent is recorded.
func (c *crowd) call(ctx context.Context, wanted time.Time, call Call) Answer {
	places := c.others
	if call.Action == Purchase {
		places = c.presses
	}
	if !c.enter(ctx, wanted, places) {
		return Answer{}
	}
	return c.send(ctx, wanted, places, call)
}

// send makes a call for which there is a place, and leaves it.
func (c *crowd) send(ctx context.Context, wanted time.Time, places *places, call Call) Answer {
	defer places.leave()
	if ctx.Err() != nil {
		return Answer{}
	}
	sent := time.Now()
	a := c.target.Answer(ctx, call)
	ended := time.Now()
	found := sample(call.Action, a, wanted, sent, ended)
	if c.auditing { // no shopper waits for it
		found.Kind = ""
	}
	c.record.Sample(found)
	return a
}

// enter waits for the time and for a free place.
func (c *crowd) enter(ctx context.Context, wanted time.Time, places *places) bool {
	if !sleepUntil(ctx, wanted) {
		return false
	}
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	return places.enter(ctx, wanted)
}

func sample(action Action, a Answer, wanted, sent, ended time.Time) report.Sample {
	name := action.Method()
	if action == Admission {
		name = "PASS"
	}
	s := report.Sample{Wanted: wanted, Sent: sent, Ended: ended, Answer: name + " none"}
	if a.Code != 0 {
		s.Answer = name + " " + strconv.Itoa(a.Code)
		if a.Error != "" {
			s.Answer += " " + a.Error
		}
	}
	switch {
	case action == Cancel:
		s.Kind = report.Settle
	case action == Admission:
		s.Kind = report.Pass
	case action != Purchase:
		s.Kind, s.Series = report.Poll, report.SeenPoll
	case a.Code == 202:
		s.Kind, s.Series = report.Accepted, report.SeenAccepted
	case a.busy():
		s.Kind, s.Series = report.Busy, report.SeenBusy
	default:
		s.Kind, s.Series = report.Refusal, report.SeenOther
		switch a.Error {
		case "SOLD_OUT":
			s.Series = report.SeenSoldOut
		case "SALE_NOT_OPEN", "ADMISSION_REQUIRED":
			s.Series = report.SeenEarly
		}
	}
	return s
}

// sleepUntil is false if the context ended before.
func sleepUntil(ctx context.Context, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
