package report

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

const maxExamples = 20

// A Recorder collects a report while shoppers are at work. It is safe for
// concurrent use.
type Recorder struct {
	mu     sync.Mutex
	report Report
}

// NewRecorder begins a report. head has what is known before the first shopper.
func NewRecorder(head Report) *Recorder {
	head.Schema = Schema
	head.Classes, head.Answers = map[Class]int{}, map[string]int{}
	head.Orders = Orders{Ends: map[string]int{}}
	head.Timeline = newTimeline()
	head.Latencies = map[Kind]*Latency{}
	for _, kind := range Kinds {
		head.Latencies[kind] = &Latency{NewHistogram(), NewHistogram()}
	}
	return &Recorder{report: head}
}

// A Sample is one call.
type Sample struct {
	Kind   Kind   // "" is the auditors': only its answer counts
	Answer string // such as "POST 410 SOLD_OUT"
	Series Series // "" is none

	Wanted time.Time // to be sent
	Sent   time.Time
	Ended  time.Time
}

// Sample adds a call.
func (r *Recorder) Sample(s Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Answers[s.Answer]++
	if s.Kind == "" {
		return
	}
	l := r.report.Latencies[s.Kind]
	l.Corrected.Record(s.Ended.Sub(s.Wanted))
	l.Plain.Record(s.Ended.Sub(s.Sent))
	if s.Series != "" {
		r.report.Timeline.add(s.Series, s.Ended.Sub(r.report.OpensAt), 1)
	}
	if s.Kind == Accepted || s.Kind == Refusal || s.Kind == Busy {
		r.report.Timeline.add(Sent, s.Sent.Sub(r.report.OpensAt), 1)
	}
}

// Accepted notes when a shopper's first 202 came.
func (r *Recorder) Accepted(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Orders.AcceptedMs = append(r.report.Orders.AcceptedMs, at.Sub(r.report.OpensAt).Milliseconds())
}

// Count adds one to a series.
func (r *Recorder) Count(series Series, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Timeline.add(series, at.Sub(r.report.OpensAt), 1)
}

// Written tells that n more rows were seen.
func (r *Recorder) Written(n int, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range n {
		r.report.Orders.WrittenMs = append(r.report.Orders.WrittenMs, at.Sub(r.report.OpensAt).Milliseconds())
	}
}

// Move puts a shopper from one class into another; from "" is a new one.
func (r *Recorder) Move(from, to Class) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if from != "" {
		r.report.Classes[from]--
	}
	r.report.Classes[to]++
}

// Order tells of an order that a shopper has.
func (r *Recorder) Order(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Orders.Told++
	r.report.Orders.IDs = append(r.report.Orders.IDs, fingerprint(id))
}

// Orders changes what is known of them.
func (r *Recorder) Orders(change func(*Orders)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.report.Orders)
}

// Example keeps one of the first few things that broke.
func (r *Recorder) Example(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.report.Examples) < maxExamples {
		r.report.Examples = append(r.report.Examples, fmt.Sprintf(format, args...))
	}
}

// Progress is what a line about the run needs.
type Progress struct {
	Accepted, Refused, Polls, Paid, Rows int
}

// Progress tells how far the run is.
func (r *Recorder) Progress() Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.report.Timeline.Counts
	return Progress{
		len(r.report.Orders.AcceptedMs), sum(t[SeenSoldOut]), sum(t[SeenPoll]), sum(t[SeenPaid]), len(r.report.Orders.WrittenMs),
	}
}

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// Neighbour tells how the shop's other work went.
func (r *Recorder) Neighbour(n Neighbour) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Neighbour = &n
}

// Close ends the report and judges it. system may be nil.
func (r *Recorder) Close(system *System, notes ...string) *Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := r.report
	done.System = system
	done.Notes = append(slices.Clone(done.Notes), notes...)
	done.Orders.sort()
	maps.DeleteFunc(done.Classes, func(_ Class, n int) bool { return n == 0 })
	done.Judge()
	return &done
}

func (o *Orders) sort() {
	slices.Sort(o.IDs)
	slices.Sort(o.AcceptedMs)
	slices.Sort(o.WrittenMs)
}
