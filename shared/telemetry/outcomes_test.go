package telemetry_test

import (
	"bytes"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"flashsale/shared/telemetry"
	"flashsale/shared/telemetry/telemetrytest"
)

// A desk is a purchase function's counts, and a clock that the test moves.
type desk struct {
	*telemetry.Outcomes
	lines bytes.Buffer
	now   time.Time
}

func openDesk() *desk {
	d := &desk{now: time.Now().Truncate(time.Second)}
	d.Outcomes = telemetry.NewMeter(&d.lines, "shop-purchase", func() time.Time { return d.now }).Outcomes("Purchases")
	return d
}

func (d *desk) answers(in time.Duration, name string, n int) {
	d.now = d.now.Add(in)
	for range n {
		d.Of(name).Add(d.now, 0)
	}
}

// told checks what was written since the last call, each "outcome count +seconds".
func (d *desk) told(t *testing.T, start time.Time, want ...string) {
	t.Helper()
	var got []string
	for _, one := range telemetrytest.Read(t, d.lines.Bytes()) {
		got = append(got, fmt.Sprintf("%s %g +%g", one.Dimensions["Outcome"], one.Sum(), one.At.Sub(start).Seconds()))
		if one.Name != "Purchases" || one.Dimensions["Function"] != "shop-purchase" || len(one.Dimensions) != 2 || !one.BySecond {
			t.Errorf("told %+v", one)
		}
	}
	d.lines.Reset()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

func TestLinesAreDueOnceASecond(t *testing.T) {
	t.Parallel()
	d := openDesk()
	start := d.now
	d.answers(0, "SOLD_OUT", 1)
	d.told(t, start, "SOLD_OUT 1 +0") // who comes alone is told at once
	d.answers(100*time.Millisecond, "SOLD_OUT", 40)
	d.answers(0, "ACCEPTED", 2)
	d.answers(899*time.Millisecond, "SOLD_OUT", 2)
	d.told(t, start)
	d.answers(time.Millisecond, "SOLD_OUT", 1)
	d.told(t, start, "ACCEPTED 2 +1", "SOLD_OUT 43 +1")
	if got, want := d.Totals(), (map[string]int64{"SOLD_OUT": 44, "ACCEPTED": 2}); !maps.Equal(got, want) {
		t.Errorf("totals %v, want %v", got, want)
	}
}

// TestThaw has an environment that lay frozen: what it kept is of the time before.
func TestThaw(t *testing.T) {
	t.Parallel()
	d := openDesk()
	start := d.now
	d.answers(0, "SOLD_OUT", 5)
	d.told(t, start, "SOLD_OUT 1 +0")
	d.answers(time.Hour, "SALE_CLOSED", 1)
	d.told(t, start, "SOLD_OUT 4 +0", "SALE_CLOSED 1 +3600")
	d.answers(time.Hour, "SALE_CLOSED", 1)
	d.told(t, start, "SALE_CLOSED 1 +7200")
}

func TestFlushAtTheEnd(t *testing.T) {
	t.Parallel()
	d := openDesk()
	start := d.now
	d.Flush() // nothing was ever counted
	d.answers(0, "SOLD_OUT", 5)
	d.now = d.now.Add(time.Minute)
	d.Flush()
	d.Flush()
	d.told(t, start, "SOLD_OUT 1 +0", "SOLD_OUT 4 +0")
	(*telemetry.Outcomes)(nil).Flush()
}

func TestAClockSetBackLosesNoSecond(t *testing.T) {
	t.Parallel()
	d := openDesk()
	start := d.now
	d.answers(0, "SOLD_OUT", 1)
	d.answers(-time.Minute, "SOLD_OUT", 1)
	d.told(t, start, "SOLD_OUT 1 +0", "SOLD_OUT 1 +-60")
}

// TestCrowd counts from many callers at once: each is told exactly once.
func TestCrowd(t *testing.T) {
	t.Parallel()
	d := openDesk()
	start := d.now
	var crowd sync.WaitGroup
	for caller := range 8 {
		crowd.Go(func() {
			for i := range 20_000 {
				d.Of([]string{"SOLD_OUT", "TRY_AGAIN"}[caller%2]).Add(start.Add(time.Duration(i)*time.Millisecond), 0)
			}
		})
	}
	crowd.Wait()
	d.Flush()
	got := telemetrytest.Sums(telemetrytest.Read(t, d.lines.Bytes()))
	want := map[string]float64{
		"Function=shop-purchase Outcome=SOLD_OUT Purchases": 80_000, "Function=shop-purchase Outcome=TRY_AGAIN Purchases": 80_000,
	}
	if !maps.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	d := openDesk()
	for range 250 {
		d.Of("ACCEPTED").Add(d.now, 12_345*time.Microsecond)
	}
	d.Flush()
	values := 0
	for _, one := range telemetrytest.Read(t, d.lines.Bytes()) { // it checks that no line has over 100
		if one.Name != "Latency" {
			continue
		}
		values += len(one.Values)
		if one.Values[0] != 12.3 || one.Unit != "Milliseconds" || len(one.Dimensions) != 1 {
			t.Errorf("told %+v", one)
		}
	}
	if values != 250 {
		t.Errorf("%d times, want 250", values)
	}
}

func TestSamples(t *testing.T) {
	t.Parallel()
	d := openDesk()
	want := func(suppressed int64, ok bool) {
		t.Helper()
		d.answers(0, "SOLD_OUT", 1)
		if n, sampled := d.Of("SOLD_OUT").Sample(d.now); n != suppressed || sampled != ok {
			t.Errorf("sample: got %d, %t, want %d, %t", n, sampled, suppressed, ok)
		}
	}
	want(0, true)
	want(0, false)
	d.answers(500*time.Millisecond, "SOLD_OUT", 997)
	want(0, false)
	d.now = d.now.Add(500 * time.Millisecond)
	want(999, true)
	d.now = d.now.Add(time.Hour)
	want(0, true)
	if _, ok := d.Of("SALE_CLOSED").Sample(d.now); !ok {
		t.Error("the first of another kind is not sampled")
	}
}

func TestNilCountsNothing(t *testing.T) {
	t.Parallel()
	var none *telemetry.Outcomes
	none.Of("SOLD_OUT").Add(time.Now(), time.Second)
	if _, ok := none.Of("SOLD_OUT").Sample(time.Now()); ok {
		t.Error("nil samples")
	}
	(*telemetry.Meter)(nil).Put(telemetry.Count("Expired", 1))
	counted := (*telemetry.Meter)(nil).Outcomes("Purchases")
	counted.Of("SOLD_OUT").Add(time.Now(), time.Second)
	if got := counted.Totals()["SOLD_OUT"]; got != 1 {
		t.Errorf("without a meter %d were counted, want 1", got)
	}
}

func TestMeter(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	at := time.Now().Truncate(time.Millisecond)
	m := telemetry.NewMeter(&lines, "shop-stockkeeper", func() time.Time { return at })
	m.Put(telemetry.Yes("Conserved", true), telemetry.Yes("Other", false), telemetry.Count("WriterLag", int64(12)))
	m.Put() // nothing is no line
	if n := bytes.Count(lines.Bytes(), []byte("\n")); n != 1 {
		t.Errorf("%d lines, want 1: %s", n, &lines)
	}
	told := telemetrytest.Read(t, lines.Bytes())
	want := map[string]float64{
		"Function=shop-stockkeeper Conserved": 1, "Function=shop-stockkeeper Other": 0, "Function=shop-stockkeeper WriterLag": 12,
	}
	if got := telemetrytest.Sums(told); !maps.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	if !told[0].At.Equal(at) || told[0].BySecond {
		t.Errorf("told %+v, want it of %s, by the minute", told[0], at)
	}
}

func BenchmarkAdd(b *testing.B) {
	d := openDesk()
	soldOut := d.Of("SOLD_OUT")
	soldOut.Add(d.now, 0)
	at := d.now.Add(time.Millisecond)
	b.ReportAllocs()
	for b.Loop() {
		soldOut.Add(at, 0)
	}
}
