package browser_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/migrations"
)

// realServers are the parts of the shared servers that belong to one test: state that outlives
// a development server.
func realServers(t *testing.T) []string {
	t.Helper()
	return []string{
		"REDIS_URL=" + redisDatabase(t), "KAFKA_BROKERS=" + strings.Join(servers.KafkaBrokers(t), ","),
		"DATABASE_URL=" + servers.Database(t, migrations.Hash(), func(ctx context.Context, url string) error {
			_, err := migrations.Up(ctx, url)
			return err
		}),
		"KAFKA_ORDERS_TOPIC=" + servers.Topic(t, "browser-orders", 3), "KAFKA_DEAD_LETTER_TOPIC=" + servers.Topic(t, "browser-letters", 1),
		"KAFKA_EVENTS_TOPIC=" + servers.Topic(t, "browser-events", 1),
		fmt.Sprintf("KAFKA_GROUP=browser-%d", servers.SaleID()), "DEV_TICK=200ms",
	}
}

// freePort is a port that a server can come back to.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close()
	return port
}

// claimDatabase takes a numbered database that is empty, or that a test has left. The mark is
// the one of the end-to-end tests, so neither takes the other's. KEYS 1 mark, ARGV 1 now, 2 the
// claim's end.
var claimDatabase = redis.NewScript(`
local ends = tonumber(redis.call('GET', KEYS[1]) or '')
if ends and tonumber(ARGV[1]) < ends then return 0 end
if not ends and redis.call('DBSIZE') > 0 then return 0 end
redis.call('FLUSHDB')
redis.call('SET', KEYS[1], ARGV[2])
return 1`)

// redisDatabase is a database of the real Redis for this test alone: the catalog is one key for
// all sales, and each server writes what its own PostgreSQL knows.
func redisDatabase(t *testing.T) string {
	t.Helper()
	address, err := url.Parse(servers.RedisURL(t))
	if err != nil {
		t.Fatal("REDIS_URL is no URL")
	}
	for number := 1; number < 16; number++ {
		address.Path = fmt.Sprintf("/%d", number)
		options, err := redis.ParseURL(address.String())
		if err != nil {
			t.Fatal("REDIS_URL is no Redis URL")
		}
		rdb := redis.NewClient(options)
		t.Cleanup(func() { _ = rdb.Close() })
		now := time.Now()
		claimed, err := claimDatabase.Run(t.Context(), rdb, []string{"flashsale-e2e-until"}, now.Unix(), now.Add(20*time.Minute).Unix()).Bool()
		if err != nil {
			t.Fatalf("claim redis database %d: %v", number, err)
		}
		if claimed {
			t.Cleanup(func() { rdb.FlushDB(context.WithoutCancel(t.Context())) })
			return address.String()
		}
	}
	t.Fatal("no redis database from 1 to 15 is empty")
	return ""
}
