package drill

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// joinedDrills have two things happen at once, or something happen while another is being mended.
func joinedDrills() []Drill {
	return []Drill{
		{Name: "all-killed", Fault: "Redis, PostgreSQL and all functions killed at once, Redis back empty", child: true, strike: func(ctx context.Context, s *stage) error {
			return s.killed(ctx, "redis", "postgres")
		}},
		{Name: "masters-killed", Fault: "cluster: master killed, replica 0.7 s behind; Kafka: the leader killed; all functions killed", cluster: true, brokers: true, child: true, explains: forgotten, happened: forgets, strike: func(ctx context.Context, s *stage) error {
			leader, err := s.leader(ctx)
			if err != nil {
				return err
			}
			s.later(func() { _ = s.park.revive("kafka3", leader) })
			var group errgroup.Group
			group.Go(func() error { return s.failover(ctx, 700*time.Millisecond) })
			group.Go(func() error {
				if err := sleep(ctx, 700*time.Millisecond); err != nil {
					return err
				}
				return errors.Join(s.park.kill("kafka3", leader), s.child.signal(syscall.SIGKILL))
			})
			return group.Wait()
		}},
		{Name: "flushall-late", Fault: "FLUSHALL when nearly sold out, while Kafka's leader pauses for 1.2 s", brokers: true, soldOut: true, strike: func(ctx context.Context, s *stage) error {
			leader, err := s.leader(ctx)
			if err != nil {
				return err
			}
			var group errgroup.Group
			group.Go(func() error { return s.frozen(ctx, "kafka3", leader, 1200*time.Millisecond) })
			group.Go(func() error {
				return errors.Join(sleep(ctx, 300*time.Millisecond), s.rdb.FlushAll(ctx).Err())
			})
			return group.Wait()
		}},
		{Name: "rebuild-killed", Fault: "FLUSHALL, and again while it is rebuilt; the functions killed 6 times meanwhile", child: true, strike: func(ctx context.Context, s *stage) error {
			for i := range 6 {
				if i%3 == 0 {
					if err := s.rdb.FlushAll(ctx).Err(); err != nil {
						return err
					}
				}
				if err := sleep(ctx, 700*time.Millisecond); err != nil {
					return err
				}
				if err := s.child.signal(syscall.SIGKILL); err != nil {
					return err
				}
			}
			return nil
		}},
		{Name: "moves-killed", Fault: "SIGKILL in a move between three shards: before the ledger knows, and before the receiver does", shards: 3, child: true, Quick: true, failures: []failpoint{
			{Script: "quota", Mode: "shrink", After: true, Nth: 1}, {Script: "quota", Mode: "assert", Nth: 1},
		}, strike: untilDead(2)},
		{Name: "reconciled", Fault: "reconcile asked for all the time, twice at once, three shards", shards: 3, strike: func(ctx context.Context, s *stage) error {
			var group errgroup.Group
			for range 2 {
				group.Go(func() error {
					return during(ctx, 5*time.Second, time.Millisecond, func() error {
						var none map[string]any
						return administer(ctx, s.shop, map[string]any{"action": "reconcile", "saleId": s.sale.ID}, &none)
					})
				})
			}
			return group.Wait()
		}},
	}
}

// killed ends servers and all functions at the same moment and starts them again.
func (s *stage) killed(ctx context.Context, names ...string) error {
	var mu sync.Mutex
	var failed error
	everywhere := func(do func(name string) error) {
		var all sync.WaitGroup
		for _, name := range names {
			all.Go(func() {
				err := do(name)
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			})
		}
		all.Wait()
	}
	everywhere(func(name string) error { return s.park.kill(name, "") })
	if err := errors.Join(failed, s.child.signal(syscall.SIGKILL), sleep(ctx, time.Second)); err != nil {
		return err
	}
	everywhere(func(name string) error { return s.park.revive(name, "") })
	return failed
}

// untilDead waits until the functions have killed themselves that often.
func untilDead(deaths int) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		for end := time.Now().Add(40 * time.Second); s.child.died() < deaths; {
			if time.Now().After(end) {
				return fmt.Errorf("only %d deaths of %d", s.child.died(), deaths)
			}
			if err := sleep(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
		return nil
	}
}
