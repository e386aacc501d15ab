package drill

import (
	"context"
	"slices"
	"syscall"
	"time"
)

func processDrills() []Drill {
	return []Drill{
		killed("kill-purchase", "SIGKILL between hold and publish, twice", failpoint{Script: "reserve", After: true, Nth: 30}),
		killed("kill-claimed", "SIGKILL of the writer between claim and write, twice", failpoint{Script: "claim", After: true, Nth: 2}),
		killed("kill-written", "SIGKILL of the writer between write and confirm, twice", failpoint{Script: "confirm", Nth: 2}),
		killed("kill-confirmed", "SIGKILL of the writer after confirm, twice", failpoint{Script: "confirm", After: true, Nth: 2}),
		expiring(killed("kill-expirer", "SIGKILL of the expirer between commit and release, twice", failpoint{Script: "release", Mode: "settled", Nth: 1})),
		{Name: "kill-anywhere", Fault: "SIGKILL at any moment, 10 times", child: true, Quick: true, strike: func(ctx context.Context, s *stage) error {
			for i := range 10 {
				if err := s.child.signal(syscall.SIGKILL); err != nil {
					return err
				}
				if err := sleep(ctx, time.Duration(150+37*i)*time.Millisecond); err != nil {
					return err
				}
			}
			return nil
		}},
		{Name: "frozen", Fault: "all functions frozen for 60 s and thawed", Long: true, child: true, asleep: true, strike: func(ctx context.Context, s *stage) error {
			if err := s.child.signal(syscall.SIGSTOP); err != nil {
				return err
			}
			err := sleep(ctx, time.Minute)
			if thawed := s.child.signal(syscall.SIGCONT); err == nil {
				err = thawed
			}
			return err
		}},
	}
}

// killed is a drill whose child dies at that point, twice in a row.
func killed(name, fault string, at failpoint) Drill {
	failures := slices.Repeat([]failpoint{at}, 2)
	return Drill{Name: name, Fault: fault, child: true, failures: failures, strike: untilDead(len(failures))}
}

// expiring lets orders expire after two seconds.
func expiring(d Drill) Drill {
	d.window = 2 * time.Second
	return d
}
