package stock_test

import "testing"

// TestClock compares it with what the server itself says before and after.
func TestClock(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		before, err := f.rdb.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Clock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		after, err := f.rdb.Time(t.Context()).Result()
		if err != nil || got.Before(before) || got.After(after) {
			t.Errorf("clock: got %s, want it between %s and %s (%v)", got, before, after, err)
		}
	})
}
