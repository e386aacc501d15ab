package drill_test

import (
	"log/slog"
	"testing"
	"time"

	"flashsale/localstack/chaos/drill"
)

// TestDeadlines has each server away while shoppers press: first it takes what is sent and answers
// nothing, then it refuses connections. What the machine was late does not count.
func TestDeadlines(t *testing.T) {
	park := park(t)
	log := slog.New(slog.DiscardHandler)
	const (
		budget = 2 * time.Second        // of a purchase
		atOnce = 250 * time.Millisecond // a refusal that asks nobody, or Redis alone: no server that is away is given up so early
	)
	for name, want := range map[string]struct {
		buys, cold, soldOut, later, coldSoldOut int           // the only answer that may come
		within                                  time.Duration // of the slowest answer after sell-out
	}{
		"redis":    {503, 503, 410, 503, 503, budget},
		"kafka":    {503, 503, 410, 410, 410, atOnce},
		"postgres": {202, 202, 410, 410, 410, atOnce},
		"jwks":     {202, 503, 410, 410, 503, atOnce},
	} {
		t.Run(name, func(t *testing.T) {
			hangs, refuses, err := drill.Away(t.Context(), park, name, log)
			if err != nil {
				t.Fatal(err)
			}
			for how, a := range map[string]drill.Absence{"it hangs: ": hangs, "it refuses: ": refuses} {
				t.Logf("%s%+v", how, a)
				check(t, how+"while it is on sale", a.OnSale, want.buys, budget)
				check(t, how+"while it is on sale, of a new environment", a.Cold, want.cold, budget)
				if want.later != want.soldOut { // whoever finds that the latch needs a new look waits for it
					delete(a.SoldOut.Codes, want.later)
				}
				check(t, how+"when it is sold out", a.SoldOut, want.soldOut, want.within)
				check(t, how+"when it has been sold out for a while", a.Later, want.later, want.within)
				within := budget
				if want.coldSoldOut == 410 { // it has connections to make
					within = 5 * atOnce
				}
				check(t, how+"when it is sold out, of a new environment", a.ColdSoldOut, want.coldSoldOut, within)
			}
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
