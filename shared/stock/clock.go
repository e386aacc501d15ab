package stock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Clock is Redis' time. Of a cluster it is the slowest master's: what it says is
// over is over in every shard.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	now, err := s.clock(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("stock: clock: %w", err)
	}
	return now.UTC(), nil
}

func (s *Store) clock(ctx context.Context) (time.Time, error) {
	cluster, ok := s.rdb.(*redis.ClusterClient)
	if !ok {
		return s.rdb.Time(ctx).Result()
	}
	var mu sync.Mutex // masters are asked at once
	var slowest time.Time
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		now, err := master.Time(ctx).Result()
		mu.Lock()
		defer mu.Unlock()
		if err == nil && (slowest.IsZero() || now.Before(slowest)) {
			slowest = now
		}
		return err
	})
	return slowest, err
}
