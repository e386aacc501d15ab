package stock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// EvictsError says that a server may throw keys away, and under which policy.
type EvictsError struct{ Policy string }

func (e EvictsError) Error() string {
	return fmt.Sprintf("stock: the server's maxmemory-policy is %s and may evict holds; set noeviction", e.Policy)
}

// CheckEviction refuses a server that may throw keys away when memory runs
// short, with [EvictsError]: a hold that vanishes is a unit sold twice. It asks every master of a
// cluster, by INFO, since ElastiCache forbids CONFIG. A server that states no
// policy is accepted only if the Store was made with [Embedded].
func (s *Store) CheckEviction(ctx context.Context) error {
	if cluster, ok := s.rdb.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return s.checkServer(ctx, master)
		})
	}
	return s.checkServer(ctx, s.rdb)
}

func (s *Store) checkServer(ctx context.Context, rdb redis.Cmdable) error {
	info, err := rdb.Info(ctx, "memory").Result()
	// A server that answers with an error does not know the section: it states no policy.
	var refusal redis.Error
	if err != nil && !errors.As(err, &refusal) {
		return fmt.Errorf("stock: eviction policy: %w", err)
	}
	for line := range strings.Lines(info) {
		policy, ok := strings.CutPrefix(strings.TrimSpace(line), "maxmemory_policy:")
		if ok && policy == "noeviction" {
			return nil
		}
		if ok {
			return EvictsError{policy}
		}
	}
	if s.embedded {
		return nil
	}
	return errors.New("stock: the server does not state its maxmemory-policy; noeviction is needed")
}
