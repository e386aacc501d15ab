package purchase_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
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
