package e2e_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

func openRedis(t *testing.T, address string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal("REDIS_URL is no Redis URL")
	}
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
