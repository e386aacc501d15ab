package drill

import (
	"context"
	"errors"
	"syscall"
	"time"
)

func redisDrills() []Drill {
	return []Drill{
		{Name: "script-flush", Fault: "SCRIPT FLUSH, 20 times", happened: refused("NOSCRIPT"), strike: func(ctx context.Context, s *stage) error {
			return during(ctx, 2*time.Second, 100*time.Millisecond, func() error { return s.rdb.ScriptFlush(ctx).Err() })
		}},
		{Name: "flushall", Fault: "FLUSHALL mid-sale", Quick: true, strike: func(ctx context.Context, s *stage) error {
			return s.rdb.FlushAll(ctx).Err()
		}},
		{Name: "flushall-often", Fault: "FLUSHALL, 4 times", strike: func(ctx context.Context, s *stage) error {
			return during(ctx, 4*time.Second, time.Second, func() error { return s.rdb.FlushAll(ctx).Err() })
		}},
		{Name: "redis-restart", Fault: "Redis killed, back empty", strike: func(ctx context.Context, s *stage) error {
			if err := s.park.kill("redis", ""); err != nil {
				return err
			}
			if err := sleep(ctx, time.Second); err != nil {
				return err
			}
			return s.park.revive("redis", "")
		}},
		{Name: "shard-deleted", Fault: "a shard's keys deleted", strike: deletes("meta", "holds", "stock", "unconfirmed", "released")},
		{Name: "one-of-three", Fault: "the keys of one of three shards deleted", shards: 3, strike: deletes("meta", "holds", "stock", "unconfirmed", "released")},
		{Name: "meta-deleted", Fault: "DEL meta", strike: deletes("meta")},
		{Name: "stock-deleted", Fault: "DEL stock", strike: deletes("stock")},
		{Name: "holds-deleted", Fault: "DEL holds when nearly sold out", explains: deleted, soldOut: true, strike: func(ctx context.Context, s *stage) error {
			return s.loses(ctx, "DEL", s.key("holds"))
		}},
		{Name: "outbox-deleted", Fault: "DEL unconfirmed", strike: deletes("unconfirmed")},
		{Name: "stock-typed", Fault: "HSET stock 1000 typed over when nearly sold out", soldOut: true, Quick: true, strike: func(ctx context.Context, s *stage) error {
			return s.rdb.HSet(ctx, s.key("stock"), int64(s.sale.Items[0].ID), 1000).Err()
		}},
		{Name: "wrong-type", Fault: "SET stock, a wrong type", strike: func(ctx context.Context, s *stage) error {
			return s.rdb.Set(ctx, s.key("stock"), "1000", 0).Err()
		}},
		{Name: "reply-dropped", Fault: "answers of scripts dropped, 2 s", Quick: true, happened: hindered, strike: moody(2*time.Second, deaf)},
		{Name: "redis-cut", Fault: "connections to Redis refused, 2 s", happened: hindered, strike: moody(2*time.Second, refusing)},
		{Name: "redis-hangs", Fault: "Redis swallows everything, 5 s", happened: hindered, strike: moody(5*time.Second, swallowing)},
		{Name: "redis-full", Fault: "Redis has no memory left, 3 s", happened: refused("OOM"), strike: func(ctx context.Context, s *stage) error {
			// In the end it is without a limit again, which is what it was started with.
			return errors.Join(s.rdb.ConfigSet(ctx, "maxmemory", "1").Err(), sleep(ctx, 3*time.Second), s.rdb.ConfigSet(ctx, "maxmemory", "0").Err())
		}},
		{Name: "redis-readonly", Fault: "Redis made a replica, and master again after 3 s", happened: refused("READONLY"), strike: func(ctx context.Context, s *stage) error {
			// Of a master that nobody is, so that it keeps what it has.
			return errors.Join(s.rdb.SlaveOf(ctx, "127.0.0.1", "1").Err(), sleep(ctx, 3*time.Second), s.rdb.SlaveOf(ctx, "NO", "ONE").Err())
		}},
		{Name: "redis-frozen", Fault: "SIGSTOP of Redis, 5 s", strike: func(ctx context.Context, s *stage) error {
			return s.frozen(ctx, "redis", "", 5*time.Second)
		}},
	}
}

func deletes(parts ...string) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		for _, part := range parts {
			if err := s.rdb.Del(ctx, s.key(part)).Err(); err != nil {
				return err
			}
		}
		return nil
	}
}

// moody lets the network before Redis misbehave for a while.
func moody(d time.Duration, m mood) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		s.redis.set(m)
		defer s.redis.set(passing)
		return sleep(ctx, d)
	}
}

// frozen stops a server's process for a while. What was sent to it meanwhile is done afterwards.
func (s *stage) frozen(ctx context.Context, name, node string, d time.Duration) error {
	if err := s.park.signal(name, node, syscall.SIGSTOP); err != nil {
		return err
	}
	err := sleep(ctx, d)
	if thawed := s.park.signal(name, node, syscall.SIGCONT); err == nil {
		err = thawed
	}
	return err
}
