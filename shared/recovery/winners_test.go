package recovery_test

import (
	"strings"
	"testing"

	"flashsale/shared/recovery"
	"flashsale/shared/shoptest"
)

// TestWinnersMissed lets a pass find a winners' filter that says of itself that it is
// complete, and has nobody in it.
func TestWinnersMissed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sl := b.Open(t, 10)
	b.written(t, sl, 3)
	key := shoptest.Key(sl, "winners")
	header := "C" + strings.Repeat("t", 15) + strings.Repeat("0", 32) + strings.Repeat("f", 16)
	b.Redis.Set(t.Context(), key, header+strings.Repeat("\x00", 12<<10), 0)
	for _, want := range []int{1, 0} {
		if got, err := b.keeper.Reconcile(t.Context(), &sl); err != nil || got != (recovery.Reconciled{Repaired: want}) {
			t.Errorf("got %+v, %v, want %d repaired", got, err, want)
		}
	}
	if n := b.Redis.Exists(t.Context(), key).Val(); n != 0 {
		t.Error("the filter is still there")
	}
}
