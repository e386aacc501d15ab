package drill_test

import (
	"log/slog"
	"testing"
	"time"

	"flashsale/localstack/chaos/drill"
)

// TestDeadlines has each server hang while shoppers press: it takes what is sent and answers nothing.
func TestDeadlines(t *testing.T) {
	park := park(t)
	log := slog.New(slog.DiscardHandler)
	for name, want := range map[string]struct {
		buys, cold, soldOut, later int           // the only answer that may come
		within                     time.Duration // of the slowest answer after sell-out
	}{
		"redis":    {503, 503, 410, 503, drill.Budget},
		"kafka":    {503, 503, 410, 410, time.Second},
		"postgres": {202, 202, 410, 410, time.Second},
		"jwks":     {202, 503, 410, 410, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := drill.Hang(t.Context(), park, name, log)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", h)
			check(t, "while it is on sale", h.OnSale, want.buys, drill.Budget)
			check(t, "while it is on sale, of a new environment", h.Cold, want.cold, drill.Budget)
			if want.later != want.soldOut { // whoever finds that the latch needs a new look waits for it
				delete(h.SoldOut.Codes, want.later)
			}
			check(t, "when it is sold out", h.SoldOut, want.soldOut, want.within)
			check(t, "when it has been sold out for a while", h.Later, want.later, want.within)
		})
	}
}

func check(t *testing.T, when string, got drill.Answers, code int, within time.Duration) {
	t.Helper()
	if got.Codes[code] == 0 || len(got.Codes) != 1 {
		t.Errorf("%s: got %v, want only %d", when, got.Codes, code)
	}
	if got.Slowest > within {
		t.Errorf("%s: the slowest answer took %s, want at most %s", when, got.Slowest, within)
	}
}
