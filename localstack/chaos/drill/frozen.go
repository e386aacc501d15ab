package drill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// frozenDrills stop one process in the middle of its work, as Lambda freezes an environment, while
// the others act on what it had in hand. Then it goes on where it was.
func frozenDrills() []Drill {
	return []Drill{
		frozen("frozen-purchase", "purchase", "purchase frozen for 60 s between hold and publish; sweep and writer go on",
			failpoint{Script: "reserve", After: true, Stop: true, Nth: 30}),
		expiring(frozen("frozen-writer", "orderwriter", "the writer frozen for 60 s between claim and write; another one writes, and the orders expire",
			failpoint{Script: "claim", After: true, Stop: true, Nth: 2})),
	}
}

func frozen(name, function, fault string, at failpoint) Drill {
	return Drill{
		Name: name, Fault: fault, Long: true, child: true, freezes: function, failures: []failpoint{at}, happened: struck,
		strike: func(ctx context.Context, s *stage) error {
			if err := s.child.stopped(ctx); err != nil {
				return err
			}
			s.froze.Store(true)
			if function == "orderwriter" {
				another := s.setup
				another.Overlap = 0
				s.later(another.work(ctx, s.functions, s.log).stop)
			}
			if err := sleep(ctx, time.Minute); err != nil {
				return err
			}
			// Nothing may be left of what it had in hand, or its thawing shows nothing.
			waiting, err := s.rdb.ZCard(ctx, s.key("unconfirmed")).Result()
			if waiting == 0 {
				s.hits.Add(1)
			}
			return errors.Join(err, s.child.signal(syscall.SIGCONT), sleep(ctx, time.Second))
		},
	}
}

// stopped waits until the child has stopped itself.
func (c *child) stopped(ctx context.Context) error {
	c.mu.Lock()
	stat := fmt.Sprintf("/proc/%d/stat", c.command.Process.Pid)
	c.mu.Unlock()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		text, err := os.ReadFile(stat)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte(") T ")) {
			return nil
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("the child did not stop")
}
