package purchase_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/shared/stock"
)

// TestFloodOfUnknownItems has random items and tokens: bounded memory, and Redis
// is asked for the catalog as for any other call. It measures the heap, so it is
// not parallel.
func TestFloodOfUnknownItems(t *testing.T) {
	s := openStill(t, open(t, silent(t)))
	s.sells(t, 1)
	event := call{item: "1234567890123456789", bearer: forged("somebody")}.event()
	at := strings.Index(string(event), "1234567890123456789")
	random := func(event []byte) {
		copy(event[at:], fmt.Sprintf("%d", 1+rand.Int64N(8)*1e18+rand.Int64N(1e18)))
	}
	before, first := s.traffic.n.Load(), heap()
	for i := range 100_000 {
		random(event)
		if got := s.invoke(t, event); !strings.Contains(string(got), "UNKNOWN_ITEM") {
			t.Fatalf("call %d: %s", i, got)
		}
	}
	if got := s.traffic.n.Load() - before; got > 4 { // catalog and clock, because nothing is known and for the first unknown item
		t.Errorf("%d calls of Redis within one moment, want at most 4", got)
	}
	if grown := heap() - first; grown > 4<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // small
}

// TestReturnedUnit has a crowd that is refused at full speed. A unit that comes
// back is sold within the latch time and some; a winner whose answer was lost, in
// another environment, hears of the own order as soon.
func TestReturnedUnit(t *testing.T) {
	t.Parallel()
	const promised = 2 * time.Second // generous: the latch time is 300 ms, the machine may be busy
	c := open(t, fault(nothingWrong))
	sl := c.sells(t, 1)
	held := c.Reserve(t, sl, 0, "first")
	done := make(chan struct{})
	var crowd sync.WaitGroup
	var refusals atomic.Int64
	sold := make(chan string, 8)
	for k := range 4 {
		user := fmt.Sprint("crowd ", k)
		event := call{item: itemText(sl, 0), bearer: provider.Token(user)}.event()
		crowd.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				switch got := string(c.invoke(t, event)); {
				case strings.Contains(got, `"statusCode":202`):
					sold <- user
					return
				case strings.Contains(got, "SOLD_OUT"):
					refusals.Add(1)
				default:
					t.Errorf("the crowd hears %s", got)
					return
				}
			}
		})
	}
	time.Sleep(time.Second) // at full speed
	released := time.Now()
	got, err := c.Stock.Release(t.Context(), stock.Of(&sl), stock.Settled, []stock.Held{{OrderID: held.OrderID, UserID: "first"}})
	if err != nil || got[0] != stock.Released {
		t.Fatalf("release: %v, %v", got, err)
	}
	var winner string
	select {
	case winner = <-sold:
	case <-time.After(promised):
		t.Fatalf("the unit was not sold within %s", promised)
	}
	t.Logf("sold after %s; %d refusals", time.Since(released), refusals.Load())
	// Another environment, which was latched all the time, is asked by the winner.
	close(done)
	crowd.Wait()
	other := &counter{c.Shelf, handler(t, c.Shelf, fault(nothingWrong))}
	other.buy(t, sl, 0, "somebody", "").want(t, 410, "SOLD_OUT")
	if a := other.buy(t, sl, 0, winner, ""); a.Status != 409 {
		t.Errorf("the winner hears %d %s, want 409", a.Status, a.Text)
	}
	c.WantUnits(t, sl, 0, [4]int64{0, 1, 0, 0})
}
