package drill

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// olderDrills have servers that know less than they did, and what follows from it.
func olderDrills() []Drill {
	return []Drill{
		{Name: "redis-older", Fault: "Redis as it was 2 s ago, three shards", shards: 3, explains: forgotten, happened: forgets, strike: func(ctx context.Context, s *stage) error {
			return errors.Join(s.setBack(ctx, 2*time.Second), s.sellsOn(ctx))
		}},
		{Name: "both-older", Fault: "Redis and PostgreSQL as they were 2 s ago, three shards; all records come again", shards: 3, explains: forgotten, happened: cameAgain, strike: func(ctx context.Context, s *stage) error {
			var group errgroup.Group
			group.Go(func() error { return s.setBack(ctx, 2*time.Second) })
			group.Go(func() error { return s.restored(ctx, 2*time.Second) })
			return errors.Join(group.Wait(), s.replay(ctx))
		}},
		{Name: "flushall-replay", Fault: "20 orders cancelled, FLUSHALL, and all records come again", happened: cameAgain, strike: func(ctx context.Context, s *stage) error {
			return errors.Join(s.cancel(ctx, 20), s.rdb.FlushAll(ctx).Err(), s.replay(ctx))
		}},
		{Name: "flushall-overlap", Fault: "FLUSHALL, 4 times, when nearly sold out; four of each schedule at once", soldOut: true, strike: func(ctx context.Context, s *stage) error {
			more := s.setup
			more.Pollers, more.Overlap, more.Tick = 0, 3, 100*time.Millisecond
			rest := more.work(ctx, s.functions, s.log)
			defer rest.stop()
			return during(ctx, 6*time.Second, 1700*time.Millisecond, func() error { return s.rdb.FlushAll(ctx).Err() })
		}},
		{Name: "paused-lost", Fault: "pause, FLUSHALL, resume, reconcile, 4 times", strike: func(ctx context.Context, s *stage) error {
			for range 4 {
				for _, action := range []string{"pause", "", "resume", "reconcile"} {
					if action == "" {
						if err := s.rdb.FlushAll(ctx).Err(); err != nil {
							return err
						}
					} else {
						var none map[string]any // it may be refused: the sale is lost
						_ = administer(ctx, s.shop, map[string]any{"action": action, "saleId": s.sale.ID}, &none)
					}
					if err := sleep(ctx, 150*time.Millisecond); err != nil {
						return err
					}
				}
			}
			return nil
		}},
	}
}

// replay lets all records come again: the writer's group forgets what it has read.
func (s *stage) replay(ctx context.Context) error {
	s.crew.stop() // a group that somebody is in cannot be deleted
	deleted, err := s.admin.DeleteGroups(ctx, s.setup.Group)
	s.crew = s.setup.work(ctx, s.functions, s.log)
	return errors.Join(err, deleted.Error())
}

// setBack gives Redis what it had some time ago, as a server that is started from an old snapshot.
func (s *stage) setBack(ctx context.Context, by time.Duration) error {
	if err := s.recalls(ctx, s.rdb, time.Time{}, s.allShards()...); err != nil {
		return err
	}
	keys, err := s.rdb.Keys(ctx, "*").Result()
	if err != nil {
		return err
	}
	old := map[string]string{}
	for _, key := range keys {
		text, err := s.rdb.Dump(ctx, key).Result()
		if errors.Is(err, redis.Nil) { // while a filter is filled it has a key beside it
			continue
		}
		if err != nil {
			return err
		}
		old[key] = text
	}
	if err := sleep(ctx, by); err != nil {
		return err
	}
	_, err = s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.FlushAll(ctx)
		for key, text := range old {
			p.Restore(ctx, key, 0, text)
		}
		return nil
	})
	s.stopped = time.Now()
	return err
}
