package telemetry

import (
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// interval is how often at most the counts are written, and how often at most a
// refusal of one kind is logged.
const interval = time.Second

// Outcomes counts what a function's callers were told. Counting is one atomic
// add. Whoever counts first after a second without a line writes the lines, its
// own count included. So what an environment keeps for itself is at most what it
// answered within a second after its last line; that is written by the next
// invocation, with its own time, or by [Outcomes.Flush] when Lambda ends the
// environment. Only a killed one takes it along.
//
// Nil counts nothing. It is safe for concurrent use.
type Outcomes struct {
	meter  *Meter
	metric string

	mu sync.Mutex // for making an outcome, and for writing
	of atomic.Pointer[map[string]*Outcome]

	due   atomic.Int64 // when lines may be written again, nanoseconds
	times struct {
		sync.Mutex
		of []float64 // milliseconds
	}
}

// An Outcome is one of them. Nil counts nothing.
type Outcome struct {
	all   *Outcomes
	count atomic.Int64
	told  int64 // under all.mu

	sampleDue atomic.Int64
	sampled   atomic.Int64 // the count at the last sample
}

// Outcomes makes a metric with the dimension Outcome. A nil Meter's are counted
// and never written.
func (m *Meter) Outcomes(metric string) *Outcomes {
	o := &Outcomes{meter: m, metric: metric}
	o.of.Store(&map[string]*Outcome{})
	return o
}

// Of returns the outcome of that name. There may be few.
func (o *Outcomes) Of(name string) *Outcome {
	if o == nil {
		return nil
	}
	if found := (*o.of.Load())[name]; found != nil {
		return found
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	more := maps.Clone(*o.of.Load())
	if more[name] == nil {
		more[name] = &Outcome{all: o}
		o.of.Store(&more)
	}
	return more[name]
}

// Add counts one answer given at that time. How long it took is told if it is not 0.
func (o *Outcome) Add(at time.Time, took time.Duration) {
	if o == nil {
		return
	}
	if soon(o.all.due.Load(), at) || o.all.meter == nil || !o.all.mu.TryLock() {
		o.add(took)
		return
	}
	defer o.all.mu.Unlock()
	// Another may just have written, and what was left long ago is not of now.
	due := o.all.due.Load()
	if due > 0 && at.UnixNano()-due > int64(interval) {
		o.all.write(time.Unix(0, due-int64(interval)))
	}
	o.add(took)
	if !soon(due, at) {
		o.all.write(at)
		o.all.due.Store(at.UnixNano() + int64(interval))
	}
}

func (o *Outcome) add(took time.Duration) {
	o.count.Add(1)
	if took == 0 || o.all.meter == nil {
		return
	}
	o.all.times.Lock()
	defer o.all.times.Unlock()
	o.all.times.of = append(o.all.times.of, math.Round(float64(took.Microseconds())/100)/10)
}

// soon tells whether it is not yet due. A clock that was set back is due at once.
func soon(due int64, at time.Time) bool {
	wait := due - at.UnixNano()
	return 0 < wait && wait <= int64(interval)
}

// Sample tells whether to log this one: the first, and then one a second at most.
// It tells how many have not been logged since the last.
func (o *Outcome) Sample(at time.Time) (suppressed int64, ok bool) {
	if o == nil {
		return 0, false
	}
	due := o.sampleDue.Load()
	if soon(due, at) || !o.sampleDue.CompareAndSwap(due, at.UnixNano()+int64(interval)) {
		return 0, false
	}
	n := o.count.Load()
	return max(0, n-o.sampled.Swap(n)-1), true
}

// Flush writes what has not been written. It is for the end of an environment.
func (o *Outcomes) Flush() {
	if o == nil || o.meter == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write(time.Unix(0, o.due.Load()-int64(interval)))
}

// Totals are all counts so far, without those of 0.
func (o *Outcomes) Totals() map[string]int64 {
	totals := map[string]int64{}
	for name, outcome := range *o.of.Load() {
		if n := outcome.count.Load(); n > 0 {
			totals[name] = n
		}
	}
	return totals
}

// write writes all that was counted, as of that time.
func (o *Outcomes) write(at time.Time) {
	outcomes := *o.of.Load()
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		outcome := outcomes[name]
		count := outcome.count.Load()
		if n := count - outcome.told; n > 0 {
			f := Count(o.metric, n)
			f.bySecond = true
			o.meter.put(at, name, f)
		}
		outcome.told = count
	}
	o.times.Lock()
	times := o.times.of
	o.times.of = nil
	o.times.Unlock()
	for values := range slices.Chunk(times, maxValues) {
		o.meter.put(at, "", Figure{name: "Latency", unit: "Milliseconds", values: values})
	}
}
