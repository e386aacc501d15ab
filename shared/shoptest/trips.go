package shoptest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"flashsale/shared/order"
)

// Trips counts round trips to the servers. Unlike time they are the same on a busy
// machine, and tell work that is done for a set from work that is done for each.
type Trips struct{ sql, redis atomic.Int64 }

// Count makes a shop's clients count from now on: Orders is a new one.
func (s *Shop) Count(t testing.TB) *Trips {
	t.Helper()
	trips := &Trips{}
	cfg := s.Pool.Config()
	cfg.ConnConfig.Tracer = trips
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatalf("shoptest: %v", err)
	}
	t.Cleanup(pool.Close)
	now := s.Orders.Now
	s.Orders = order.New(pool)
	s.Orders.Now = now
	s.Redis.AddHook(trips)
	return trips
}

// Take returns the trips since the last call.
func (c *Trips) Take() (sql, redis int) { return int(c.sql.Swap(0)), int(c.redis.Swap(0)) }

// TraceQueryStart counts a statement.
func (c *Trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.sql.Add(1)
	return ctx
}

// TraceQueryEnd does nothing.
func (*Trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart counts a batch, which is one trip.
func (c *Trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.sql.Add(1)
	return ctx
}

// TraceBatchQuery does nothing.
func (*Trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd does nothing.
func (*Trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// DialHook changes nothing.
func (*Trips) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts a command.
func (c *Trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.redis.Add(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts a pipeline, which is one trip.
func (c *Trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.redis.Add(1)
		return next(ctx, cmds)
	}
}
