package throttle_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/shared/config"
	"flashsale/shared/throttle"
)

// A clock is set by the test.
type clock struct{ since atomic.Int64 }

var start = time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC)

func (c *clock) now() time.Time         { return start.Add(time.Duration(c.since.Load())) }
func (c *clock) passes(d time.Duration) { c.since.Add(int64(d)) }
func (c *clock) at(since time.Duration) { c.since.Store(int64(since)) }
func limiter(c *clock) *throttle.Limiter {
	return throttle.New(config.Rate{Calls: 20, Window: 10 * time.Second}, c.now)
}

func TestLimit(t *testing.T) {
	t.Parallel()
	var c clock
	l := limiter(&c)
	for i := range 20 {
		c.at(time.Duration(i) * 100 * time.Millisecond)
		if _, ok := l.Take("u1"); !ok {
			t.Fatalf("call %d of 20 was refused", i+1)
		}
	}
	// The first call leaves the window at 10 s, the second 100 ms later.
	for _, step := range []struct {
		at   time.Duration
		wait time.Duration // 0: taken
	}{
		{2 * time.Second, 8 * time.Second},
		{9*time.Second + 999*time.Millisecond, time.Millisecond}, // a refused call did not count
		{10 * time.Second, 0},
		{10 * time.Second, 100 * time.Millisecond},
		{10*time.Second + 100*time.Millisecond, 0},
		{time.Minute, 0},
	} {
		c.at(step.at)
		if wait, ok := l.Take("u1"); wait != step.wait || ok != (step.wait == 0) {
			t.Errorf("at %s: got %s, %v, want to wait %s", step.at, wait, ok, step.wait)
		}
		if _, ok := l.Take("u2"); !ok {
			t.Errorf("at %s: another shopper was refused", step.at)
		}
	}
	var none *throttle.Limiter
	for range 100 {
		if _, ok := none.Take("u1"); !ok {
			t.Fatal("no limiter refused a call")
		}
	}
}

// TestAnyWindow compares with the plain rule, call by call: at most five in any second.
func TestAnyWindow(t *testing.T) {
	t.Parallel()
	var c clock
	random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // a simulation
	l := throttle.New(config.Rate{Calls: 5, Window: time.Second}, c.now)
	taken := map[string][]time.Time{}
	for i := range 20_000 {
		c.passes(time.Duration(random.Int64N(int64(20 * time.Millisecond))))
		user := strconv.Itoa(random.IntN(8))
		recent := 0
		for _, at := range taken[user] {
			if c.now().Sub(at) < time.Second {
				recent++
			}
		}
		_, ok := l.Take(user)
		if ok != (recent < 5) {
			t.Fatalf("call %d, after %d calls within a second: got %v", i, recent, ok)
		}
		if ok {
			taken[user] = append(taken[user], c.now())
		}
	}
}

// TestFlood has a million shoppers within one window, thirty times as many as there is
// room for: nobody is refused a first call, and nothing grows.
func TestFlood(t *testing.T) {
	var c clock
	l := limiter(&c)
	name := make([]byte, 0, 32)
	take := func(i int) bool {
		name = strconv.AppendInt(append(name[:0], "shopper "...), int64(i), 10)
		_, ok := l.Take(string(name))
		return ok
	}
	if allocations := testing.AllocsPerRun(100, func() { take(0) }); allocations > 1 { // the name
		t.Errorf("a call makes %.0f allocations, want none", allocations)
	}
	before := heap()
	for i := range 1_000_000 {
		if !take(i + 1) {
			t.Fatalf("the first call of shopper %d was refused", i+1)
		}
		if i%1000 == 0 {
			c.passes(time.Millisecond)
		}
	}
	if grown := int64(heap()) - int64(before); grown > 1<<20 { //nolint:gosec // a heap has no 2^63 bytes
		t.Errorf("the heap grew by %d bytes, want less than 1 MB", grown)
	}
	runtime.KeepAlive(l)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestCrowdAround: a shopper at the limit stays there while a crowd that there is room
// for comes and goes.
func TestCrowdAround(t *testing.T) {
	t.Parallel()
	var c clock
	l := limiter(&c)
	for range 20 {
		l.Take("loop")
	}
	for i := range 5000 {
		if _, ok := l.Take(fmt.Sprint("u", i)); !ok {
			t.Fatalf("u%d was refused", i)
		}
	}
	if _, ok := l.Take("loop"); ok {
		t.Error("the 21st call was taken, after a crowd of 5,000")
	}
}

// TestAtOnce: however many calls come at once, exactly as many as allowed are taken.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	var c clock
	l := limiter(&c)
	var taken [4]atomic.Int64
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for n := range 50 {
				user := (i + n) % len(taken)
				if _, ok := l.Take(strconv.Itoa(user)); ok {
					taken[user].Add(1)
				}
			}
		})
	}
	all.Wait()
	for user := range taken {
		if got := taken[user].Load(); got != 20 {
			t.Errorf("shopper %d: %d calls were taken, want 20", user, got)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	l := throttle.New(config.Rate{Calls: 20, Window: 10 * time.Second}, time.Now)
	names := make([]string, 1<<16)
	for i := range names {
		names[i] = fmt.Sprintf("3f2b8c1e-6a1d-4e0f-9b52-%012x", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l.Take(names[i%len(names)])
	}
}
