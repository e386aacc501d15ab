package purchase_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"flashsale/shared/identity/identitytest"
)

// stranger is a token of a shopper, a key and a signature that nobody has seen before.
// All are of one length.
func stranger() string {
	enc := base64.RawURLEncoding.EncodeToString
	some := func() string { return fmt.Sprintf("%016x", rand.Uint64()) } //nolint:gosec // no secret
	return enc([]byte(`{"alg":"ES256","kid":"`+some()+`"}`)) + "." +
		enc([]byte(`{"iss":"`+identitytest.Issuer+`","aud":"`+identitytest.Audience+`","exp":4102444800,"sub":"`+some()+`"}`)) + "." +
		enc([]byte(some()+some()+some()+some()))
}

// TestFloodOfStrangers has a new shopper, key and signature in each call, and a new item where that is
// unknown: bounded memory, no key looked for, and Redis is asked as it is for any other
// crowd. It measures the heap, so it is not parallel.
func TestFloodOfStrangers(t *testing.T) {
	const calls, most = 25_000, 1 << 20 // 40 bytes each
	for name, f := range map[string]struct {
		item func(shut) string
		code string
	}{
		"sold out": {func(s shut) string { return itemText(s.out, 0) }, "SOLD_OUT"},
		"not open": {func(s shut) string { return itemText(s.waiting, 0) }, "SALE_NOT_OPEN"},
		"closed":   {func(s shut) string { return itemText(s.over, 0) }, "SALE_CLOSED"},
		"unknown":  {func(shut) string { return fmt.Sprintf("%d", 1e18+rand.Int64N(8e18)) }, "UNKNOWN_ITEM"}, //nolint:gosec // no secret
	} {
		t.Run(name, func(t *testing.T) {
			s := openStill(t, open(t, fault(nothingWrong)))
			known := s.shut(t)
			s.h.Shoppers = keysAway()
			id, token := f.item(known), stranger()
			event := call{item: id, bearer: token}.event()
			idAt, tokenAt := strings.Index(string(event), `"`+id+`"`)+1, strings.Index(string(event), token)
			before, first := s.traffic.n.Load(), heap()
			for i := range calls {
				if i == calls/2 {
					s.passes(250 * time.Millisecond) // what is known must be looked up again
				}
				copy(event[idAt:], f.item(known))
				copy(event[tokenAt:], stranger())
				if got := s.invoke(t, event); !strings.Contains(string(got), f.code) {
					t.Fatalf("call %d: %s", i, got)
				}
			}
			if got := s.traffic.n.Load() - before; got > 4 { // stock, clock and filter
				t.Errorf("%d calls of Redis, want at most 4", got)
			}
			if grown := heap() - first; grown > most {
				t.Errorf("the heap has grown by %d bytes", grown)
			}
		})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // small
}
