package servers

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// claimDatabase takes a numbered database that is empty, or that a test has left: then
// the mark is there, and its time is over. KEYS 1 mark, ARGV 1 now, 2 the claim's end.
var claimDatabase = redis.NewScript(`
local ends = tonumber(redis.call('GET', KEYS[1]) or '')
if ends and tonumber(ARGV[1]) < ends then return 0 end
if not ends and redis.call('DBSIZE') > 0 then return 0 end
redis.call('FLUSHDB')
redis.call('SET', KEYS[1], ARGV[2])
return 1`)

const (
	mark       = "flashsale-e2e-until"
	claimLasts = 20 * time.Minute // longer than any test run
	claimWait  = 2 * time.Minute

	// Those above are for stacks with a number of their own, in localstack/deploy and
	// localstack/bench: they take it without asking.
	ownDatabases = 10
)

// RedisDatabase returns the URL of a numbered database of the real Redis for this test alone.
// Random sale ids are not enough for a whole development server: the catalog is one key for all
// sales, and each server writes what its own PostgreSQL knows. 0 is everybody else's.
func RedisDatabase(t testing.TB) string {
	t.Helper()
	address, err := url.Parse(RedisURL(t))
	if err != nil {
		t.Fatal("servers: REDIS_URL is no URL")
	}
	for deadline := time.Now().Add(claimWait); ; time.Sleep(100 * time.Millisecond) {
		for number := 1; number <= ownDatabases; number++ {
			address.Path = fmt.Sprintf("/%d", number)
			if claim(t, address.String()) {
				return address.String()
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("servers: no redis database from 1 to %d is empty", ownDatabases)
			return ""
		}
	}
}

// claim takes a database for the time of the test, if nobody has it.
func claim(t testing.TB, address string) bool {
	t.Helper()
	options, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal("servers: REDIS_URL is no Redis URL")
	}
	rdb := redis.NewClient(options)
	now := time.Now()
	claimed, err := claimDatabase.Run(t.Context(), rdb, []string{mark}, now.Unix(), now.Add(claimLasts).Unix()).Bool()
	if err != nil {
		t.Fatalf("servers: claim redis database %d: %v", options.DB, err)
	}
	if !claimed {
		_ = rdb.Close()
		return false
	}
	t.Cleanup(func() {
		rdb.FlushDB(context.WithoutCancel(t.Context()))
		_ = rdb.Close()
	})
	return true
}
