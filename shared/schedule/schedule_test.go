package schedule_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/shared/schedule"
)

const scheduled = `{"version":"0","id":"53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa","detail-type":"Scheduled Event","source":"aws.events",
	"account":"123456789012","time":"2026-01-01T12:00:00Z","region":"eu-central-1","resources":[],"detail":{}}`

type sum struct {
	Done int `json:"done"`
}

func TestRun(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]int{
		scheduled: 2, `{"source":"aws.events"}`: 2, `{"passes":1}`: 1, ` {"passes": 3} `: 3, `{"passes":100}`: 100, `{"passes":1,"by":"op"}`: 1,
	} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			var s sum
			text, err := schedule.Run(t.Context(), []byte(event), 0, &s, func(context.Context) error {
				s.Done++
				return nil
			})
			if err != nil || s.Done != want || !strings.Contains(string(text), `"done":`) {
				t.Errorf("got %d passes, %s, %v, want %d", s.Done, text, err, want)
			}
		})
	}
}

func TestOtherEvents(t *testing.T) {
	t.Parallel()
	for _, event := range []string{
		``, `{}`, `null`, `[]`, `""`, `1`, `{"passes":0}`, `{"passes":-1}`, `{"passes":101}`, `{"passes":1.5}`, `{"passes":"1"}`,
		`{"passes":null}`, `{"source":"aws.s3"}`, `{"passes":1}{}`, `{"Records":[]}`,
	} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			text, err := schedule.Run(t.Context(), []byte(event), 0, &sum{}, func(context.Context) error {
				t.Error("a pass ran")
				return nil
			})
			if err == nil {
				t.Errorf("got %s, want an error", text)
			}
		})
	}
}

// TestPause runs in a bubble of time.
func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		_, err := schedule.Run(t.Context(), []byte(`{"passes":3}`), schedule.Pause, &sum{}, func(context.Context) error {
			at = append(at, time.Since(start))
			return nil
		})
		if err != nil || len(at) != 3 || at[0] != 0 || at[1] != 30*time.Second || at[2] != time.Minute || time.Since(start) != time.Minute {
			t.Errorf("passes at %v of %s, %v, want 0, 30s and 1m", at, time.Since(start), err)
		}
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	t.Run("a failed pass does not stop the next", func(t *testing.T) {
		t.Parallel()
		first := errors.New("first")
		passes := 0
		text, err := schedule.Run(t.Context(), []byte(scheduled), 0, &sum{}, func(context.Context) error {
			passes++
			if passes == 1 {
				return first
			}
			return nil
		})
		if passes != 2 || text != nil || !errors.Is(err, first) {
			t.Errorf("got %d passes, %s, %v, want 2 and the first one's error", passes, text, err)
		}
	})
	t.Run("time is over in the pause", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			failed := errors.New("failed")
			start, passes := time.Now(), 0
			_, err := schedule.Run(ctx, []byte(scheduled), schedule.Pause, &sum{}, func(context.Context) error {
				passes++
				return failed
			})
			if passes != 1 || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, failed) || time.Since(start) != 10*time.Second {
				t.Errorf("got %d passes in %s, %v, want 1, cut off after 10s, with both errors", passes, time.Since(start), err)
			}
		})
	})
}

func FuzzRun(f *testing.F) {
	for _, event := range []string{scheduled, `{"passes":2}`, `{}`, `null`, `{"passes":1e9}`} {
		f.Add([]byte(event))
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		passes := 0
		_, err := schedule.Run(t.Context(), event, 0, &sum{}, func(context.Context) error {
			passes++
			return nil
		})
		if (err == nil) != (passes > 0) || passes > 100 {
			t.Errorf("%q: %d passes, %v", event, passes, err)
		}
	})
}
