package drill_test

import (
	"testing"
	"time"

	"flashsale/localstack/chaos/drill"
)

// A host's clock that steps moves the day, and not what has passed.
func TestOff(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{10 * time.Minute, -10 * time.Minute, 0} {
		now := time.Now()
		got := drill.Off(now, d)
		if step := got.Round(0).Sub(now.Round(0)); step != d { // Round drops the other clock
			t.Errorf("off by %s: the wall clock is off by %s", d, step)
		}
		if passed := got.Sub(now); passed != 0 {
			t.Errorf("off by %s: %s has passed, want nothing", d, passed)
		}
	}
}
