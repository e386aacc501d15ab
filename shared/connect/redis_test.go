package connect_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/shared/config"
	"flashsale/shared/connect"
)

func newRedis(t *testing.T, address string) redis.UniversalClient {
	t.Helper()
	client, err := connect.Redis(config.Redis{URL: config.Secret(address), PoolSize: 8})
	if err != nil {
		t.Fatalf("Redis: %v", err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// through returns the address of the same server behind a wire.
func through(t *testing.T, address string) (*wire, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(t, u.Host)
	u.Host = w.address
	return w, u.String()
}

func TestRedisKinds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		url     string
		cluster bool
		nodes   int
		tls     bool
	}{
		"single":       {"redis://h:1/2", false, 1, false},
		"TLS":          {"rediss://h:1", false, 1, true},
		"cluster":      {"rediss://u:p@h:1?cluster=true", true, 1, true},
		"several":      {"redis://h:1?addr=i:2&addr=j:3", true, 3, false},
		"not cluster":  {"redis://h:1?cluster=false", false, 1, false},
		"cluster + db": {"redis://h:1/0?cluster=true", true, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch c := newRedis(t, tc.url).(type) {
			case *redis.ClusterClient:
				o := c.Options()
				if !tc.cluster || len(o.Addrs) != tc.nodes || (o.TLSConfig != nil) != tc.tls {
					t.Errorf("cluster of %v, TLS %t", o.Addrs, o.TLSConfig != nil)
				}
				if o.ClusterStateReloadInterval != 500*time.Millisecond || o.DialerRetries != 1 {
					t.Errorf("reload every %v, %d dials: too slow for a failover", o.ClusterStateReloadInterval, o.DialerRetries)
				}
			case *redis.Client:
				if o := c.Options(); tc.cluster || (o.TLSConfig != nil) != tc.tls || o.PoolSize != 8 {
					t.Errorf("single %+v", o)
				}
			}
		})
	}
}

func TestRedisRefusesBadURLsWithoutThePassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"redis://u:hunter2@h:port", "redis://u:hunter2@h:1?colour=red", "http://u:hunter2@h:1", "redis://u:hunter2@h:1/a/b",
		"redis://u:hunter2@h:1?cluster=true&colour=red", "redis://u:hun%zzter2@h:1", ":hunter2@h", "",
	} {
		_, err := connect.Redis(config.Redis{URL: config.Secret(address), PoolSize: 1})
		if err == nil {
			t.Errorf("%s was taken", address)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "zzter2") {
			t.Errorf("the error shows the password: %v", err)
		}
		if !strings.Contains(err.Error(), "REDIS_URL") {
			t.Errorf("the error %v does not name the setting", err)
		}
	}
}

func TestRedisAnswers(t *testing.T) {
	t.Parallel()
	client := newRedis(t, servers.RedisURL(t))
	if got, err := client.Eval(t.Context(), "return ARGV[1]", nil, "x").Result(); err != nil || got != "x" {
		t.Errorf("Eval = %v, %v; want x", got, err)
	}
}

func TestRedisThatHangs(t *testing.T) {
	t.Parallel()
	client := newRedis(t, "redis://"+silentServer(t))
	start := time.Now()
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Error("Ping without a deadline succeeded, want an error")
	}
	unhurried := time.Since(start)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start = time.Now()
	err := client.Ping(ctx).Err()
	if hurried := time.Since(start); err == nil || ctx.Err() == nil || hurried > unhurried {
		t.Errorf("with a deadline of 50 ms: %v after %v; without %v", err, hurried, unhurried)
	}
}

// hold opens n connections at once.
func hold(t *testing.T, client redis.UniversalClient, n int) {
	t.Helper()
	var wait sync.WaitGroup
	for range n {
		wait.Go(func() {
			if err := client.BLPop(t.Context(), time.Second, "connect-test-"+t.Name()).Err(); !errors.Is(err, redis.Nil) {
				t.Errorf("BLPop: %v", err)
			}
		})
	}
	wait.Wait()
}

func TestRedisAfterAFreeze(t *testing.T) {
	t.Parallel()
	t.Run("all sockets closed", func(t *testing.T) {
		t.Parallel()
		w, address := through(t, servers.RedisURL(t))
		client := newRedis(t, address)
		hold(t, client, 8)
		w.close()
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Errorf("Ping: %v", err)
		}
	})
	t.Run("a socket that swallows", func(t *testing.T) {
		t.Parallel()
		w, address := through(t, servers.RedisURL(t))
		client := newRedis(t, address)
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Fatalf("Ping: %v", err)
		}
		if n := w.silence(); n != 1 {
			t.Fatalf("%d connections, want 1", n)
		}
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Errorf("Ping: %v", err)
		}
	})
}
