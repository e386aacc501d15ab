package connect_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
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

// hold opens n connections at once. On a busy machine a dial may be too late.
func hold(t *testing.T, client redis.UniversalClient, n int) {
	t.Helper()
	var err error
	for tries := 0; client.PoolStats().IdleConns < uint32(n); tries++ {
		if tries == 20 {
			t.Fatalf("%d connections, want %d: %v", client.PoolStats().IdleConns, n, err)
		}
		var wait sync.WaitGroup
		for i := range n {
			wait.Go(func() {
				if failed := client.BLPop(t.Context(), time.Second, "connect-test-"+t.Name()).Err(); i == 0 {
					err = failed
				}
			})
		}
		wait.Wait()
	}
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
	t.Run("all sockets swallow", func(t *testing.T) {
		t.Parallel()
		w, address := through(t, servers.RedisURL(t))
		client := newRedis(t, address)
		hold(t, client, 8)
		time.Sleep(1100 * time.Millisecond) // who was heard within a second is not suspect
		if n := w.silence(); n < 8 {
			t.Fatalf("%d connections, want 8", n)
		}
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Errorf("Ping: %v", err)
		}
	})
	// The library cannot see that a TLS connection has ended.
	t.Run("all sockets closed, with TLS", func(t *testing.T) {
		t.Parallel()
		w, address := through(t, servers.RedisURL(t))
		client := newRedis(t, secured(t, address)+"?skip_verify=true")
		hold(t, client, 3) // more than there are tries
		time.Sleep(1100 * time.Millisecond)
		w.close()
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Errorf("Ping: %v", err)
		}
	})
}

// secured returns the address of a TLS server before the one at address.
func secured(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	plain := httptest.NewUnstartedServer(nil) // for its certificate
	plain.StartTLS()
	config := plain.TLS.Clone()
	plain.Close()
	config.NextProtos = nil
	listener := tls.NewListener(listen(t), config)
	target := u.Host
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
				go func() {
					_, _ = io.Copy(way[0], way[1])
					_ = way[0].Close()
				}()
			}
		}
	}()
	u.Scheme, u.Host = "rediss", listener.Addr().String()
	return u.String()
}
