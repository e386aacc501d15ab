package stock_test

import (
	"fmt"
	"testing"
	"time"

	"flashsale/shared/stock"
)

// The window is [opensAt, closesAt) to the millisecond. miniredis' clock can be set.
func TestWindowEdges(t *testing.T) {
	t.Parallel()
	f := newMini(t)
	f.load(t, 10)
	set := f.settings(2)
	set.OpensAt = time.UnixMilli(1_800_000_000_123)
	set.ClosesAt = set.OpensAt.Add(time.Second)
	f.steer(t, 0, set, stock.SteerApplied)
	cases := []struct {
		at   time.Time
		want stock.Outcome
	}{
		{set.OpensAt.Add(-time.Millisecond), stock.NotOpen},
		{set.OpensAt.Add(-time.Microsecond), stock.NotOpen},
		{set.OpensAt, stock.Reserved},
		{set.OpensAt.Add(time.Millisecond), stock.Reserved},
		{set.ClosesAt.Add(-time.Millisecond), stock.Reserved},
		{set.ClosesAt.Add(-time.Microsecond), stock.Reserved},
		{set.ClosesAt, stock.Closed},
		{set.ClosesAt.Add(time.Hour), stock.Closed},
	}
	for i, c := range cases {
		f.mini.SetTime(c.at)
		got := f.reserve(t, f.attempt(fmt.Sprint("u", i)), c.want)
		if want := c.at.Truncate(time.Millisecond); c.want == stock.Reserved && !got.ReservedAt.Equal(want) {
			t.Errorf("at %v: reserved at %v", want, got.ReservedAt)
		}
	}
}

// On a real server each answer must fit the server's times just before and after it.
func TestWindowEdgesByRedisTime(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 1_000_000)
		set := f.settings(2)
		set.OpensAt = f.clock(t).Add(50 * time.Millisecond)
		set.ClosesAt = set.OpensAt.Add(50 * time.Millisecond)
		f.steer(t, 0, set, stock.SteerApplied)
		judge := func(now time.Time) stock.Outcome {
			switch {
			case now.Before(set.OpensAt):
				return stock.NotOpen
			case now.Before(set.ClosesAt):
				return stock.Reserved
			default:
				return stock.Closed
			}
		}
		for i := 0; ; i++ {
			before := f.clock(t)
			got, err := f.Reserve(t.Context(), f.sh, f.attempt(fmt.Sprint("u", i)))
			if err != nil {
				t.Fatal(err)
			}
			after := f.clock(t)
			// The outcomes' order is the window's, so the answer lies between the two.
			if first, last := judge(before), judge(after); got.Outcome != first && got.Outcome != last &&
				(first != stock.NotOpen || last != stock.Closed) {
				t.Fatalf("between %v and %v: %v, want %v or %v", before, after, got.Outcome, first, last)
			}
			if judge(before) == stock.Closed {
				return
			}
		}
	})
}
