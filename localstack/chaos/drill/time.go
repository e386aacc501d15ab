package drill

import (
	"context"
	"time"
)

func timeDrills() []Drill {
	return []Drill{
		expiring(Drill{Name: "overlap", Fault: "four of each schedule at once, without a pause; orders expire", Quick: true, strike: func(ctx context.Context, s *stage) error {
			more := s.setup
			more.Pollers, more.Overlap, more.Tick = 0, 3, time.Millisecond
			rest := more.work(ctx, s.shop.Functions(), s.log)
			defer rest.stop()
			return sleep(ctx, 4*time.Second)
		}}),
		clock("clock-ahead", "the database's clock is ten minutes ahead of all others", 10*time.Minute),
		clock("clock-behind", "the database's clock is ten minutes behind all others", -10*time.Minute),
	}
}

// clock has rows whose time is off from the beginning.
func clock(name, fault string, off time.Duration) Drill {
	return Drill{Name: name, Fault: fault, clockOff: off, strike: func(context.Context, *stage) error { return nil }}
}
