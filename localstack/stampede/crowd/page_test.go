package crowd_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/localstack/stampede/crowd"
	"flashsale/localstack/stampede/report"
)

// A diary is a target that notes when each call came.
type diary struct {
	mu      sync.Mutex
	times   map[crowd.Action]map[string][]time.Time // by token
	answers func(crowd.Call) crowd.Answer
}

func (d *diary) Answer(_ context.Context, c crowd.Call) crowd.Answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.times == nil {
		d.times = map[crowd.Action]map[string][]time.Time{crowd.Purchase: {}, crowd.Status: {}, crowd.MyOrder: {}}
	}
	d.times[c.Action][c.Token] = append(d.times[c.Action][c.Token], time.Now())
	return d.answers(c)
}

// gaps are the times between one call and the next.
func gaps(times []time.Time) (all []time.Duration) {
	for i := 1; i < len(times); i++ {
		all = append(all, times[i].Sub(times[i-1]))
	}
	return all
}

// TestTries holds a shopper's waits against those of web/api.js and web/purchase.js.
func TestTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := config(50)
		cfg.Limit = 2 * time.Minute
		cfg.Habits = report.Habits{Spread: report.Duration(time.Second)}
		d := &diary{answers: func(c crowd.Call) crowd.Answer {
			if c.Action == crowd.MyOrder {
				return refuse(c)
			}
			return crowd.Answer{Code: 503, Error: "TRY_AGAIN"}
		}}
		r := run(t, cfg, d)
		if r.Classes[report.GaveUp] != 50 {
			t.Errorf("classes %v, want all to give up", r.Classes)
		}
		for token, times := range d.times[crowd.Purchase] {
			if len(times) != 12 {
				t.Errorf("shopper %s pressed %d times, want 12", token, len(times))
			}
			for i, gap := range gaps(times) {
				if most := time.Second << min(i, 3); gap < most/2 || gap > most {
					t.Errorf("shopper %s waited %s after try %d, want %s to %s", token, gap, i+1, most/2, most)
				}
			}
		}
	})
}

func TestStay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lives time.Duration
		polls int // once it can be paid; the others give up after 43.5 s at the earliest
	}{
		"until the order has ended":        {9 * time.Second, 5},
		"until all have had their turn":    {time.Hour, 20},
		"not when it ended at first sight": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := config(2)
				cfg.Habits = report.Habits{Spread: report.Duration(time.Millisecond)}
				began := time.Now()
				d := &diary{answers: func(c crowd.Call) crowd.Answer {
					own := crowd.Answer{Code: 202, OrderID: "order-0", Status: "PENDING", Payable: true, SaleID: 7, ItemID: 1001}
					switch {
					case c.Token != "0" && c.Action == crowd.MyOrder:
						return refuse(c)
					case c.Token != "0":
						return crowd.Answer{Code: 503, Error: "TRY_AGAIN"}
					case c.Action == crowd.Status:
						own.Code = 200
						if time.Since(began) > test.lives {
							own.Status, own.Payable = "EXPIRED", false
						}
					}
					return own
				}}
				run(t, cfg, d)
				polls := d.times[crowd.Status]["0"]
				polls = polls[1 : len(polls)-1] // the first can be paid, the last is the audit's
				if len(polls) < test.polls || test.polls < 10 && len(polls) > test.polls {
					t.Errorf("%d polls, want %d", len(polls), test.polls)
				}
				for _, gap := range gaps(polls) {
					if gap != 2*time.Second {
						t.Errorf("%s between two polls, want 2s", gap)
					}
				}
			})
		})
	}
}
