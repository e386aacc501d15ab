package drill

import (
	"context"
	"sync/atomic"
	"time"
)

func timeDrills() []Drill {
	return []Drill{
		expiring(Drill{Name: "overlap", Fault: "four of each schedule at once, without a pause; orders expire", Quick: true, strike: func(ctx context.Context, s *stage) error {
			more := s.setup
			more.Pollers, more.Overlap, more.Tick = 0, 3, time.Millisecond
			rest := more.work(ctx, s.functions, s.log)
			defer rest.stop()
			return sleep(ctx, 4*time.Second)
		}}),
		{Name: "clock-ahead", Fault: "the database's clock is ten minutes ahead of all others", rowsOff: tenMinutes, strike: nothing},
		{Name: "clock-behind", Fault: "the database's clock is ten minutes behind all others", rowsOff: -tenMinutes, strike: nothing},
		host("purchase-ahead", "purchase", tenMinutes),
		host("purchase-behind", "purchase", -tenMinutes),
		host("writer-ahead", "orderwriter", tenMinutes),
		host("writer-behind", "orderwriter", -tenMinutes),
		expiring(host("expirer-ahead", "expirer", tenMinutes)),
		expiring(host("expirer-behind", "expirer", -tenMinutes)),
		host("keeper-ahead", "stockkeeper", tenMinutes),
		host("keeper-behind", "stockkeeper", -tenMinutes),
		{Name: "payment-ahead", Fault: "payment's clock is ten minutes ahead for the first 5 s, and its provider is refused", hosts: []string{"payment"}, hostsOff: tenMinutes, happened: func(_ context.Context, s *stage) (n int, _ error) {
			s.sales.note(func(l *ledger) { n = l.doubted })
			return n, nil
		}, strike: func(ctx context.Context, s *stage) error {
			err := sleep(ctx, 4*time.Second)
			s.setup.clocks.hosts.Store(0)
			return err
		}},
		{Name: "clock-steps", Fault: "the clocks of all hosts and of the database step, ten minutes ahead and ten behind", stepping: true, hosts: everybody, strike: func(ctx context.Context, s *stage) error {
			off := tenMinutes
			return during(ctx, 4*time.Second, 500*time.Millisecond, func() error {
				s.setup.clocks.hosts.Store(int64(off))
				s.setup.clocks.rows.Store(int64(-off))
				off = -off
				return nil
			})
		}},
	}
}

const tenMinutes = 10 * time.Minute

var everybody = []string{"purchase", "orderstatus", "orderwriter", "expirer", "stockkeeper"}

func nothing(context.Context, *stage) error { return nil }

// host has one function whose host's clock is off from the beginning.
func host(name, function string, off time.Duration) Drill {
	direction := "ahead"
	if off < 0 {
		direction = "behind"
	}
	return Drill{
		Name: name, Fault: function + "'s clock is ten minutes " + direction, hosts: []string{function}, hostsOff: off, strike: nothing,
	}
}

// calmDrill breaks nothing: what the other rows are compared with.
func calmDrill() []Drill {
	return []Drill{{Name: "calm", Fault: "none", strike: nothing}}
}

// lateness is how much later than asked for this process was woken, all in all: so long it had no
// processor, and a purchase that was under way could not answer either.
type lateness struct{ total atomic.Int64 }

func (l *lateness) watch(ctx context.Context) {
	const nap = 10 * time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		time.Sleep(nap)
		l.total.Add(int64(max(0, time.Since(began)-nap)))
	}
}

func (l *lateness) so() time.Duration { return time.Duration(l.total.Load()) }
