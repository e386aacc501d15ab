package connect_test

import (
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/sigv4"
	"flashsale/shared/sigv4/sigv4test"
)

// redisToken is what ElastiCache expects at that moment.
func redisToken(user string, now time.Time) string {
	s := sigv4.New(sigv4test.Region, sigv4test.KeyID, sigv4test.Secret, sigv4test.Session, func() time.Time { return now })
	return s.Token("elasticache", "shop", url.Values{"Action": {"connect"}, "User": {user}})
}

func redisIAM(t *testing.T, address string, card identityCard, now func() time.Time) redis.UniversalClient {
	t.Helper()
	cfg := config.Redis{URL: config.Secret(address), PoolSize: 4, Auth: config.IAM, Cache: "shop", AWS: role}
	client, err := connect.RedisAt(cfg, now)
	if err != nil {
		t.Fatalf("Redis: %v", err)
	}
	t.Cleanup(func() { _ = client.Close() })
	switch c := client.(type) {
	case *redis.Client:
		c.Options().TLSConfig.RootCAs = card.roots
	case *redis.ClusterClient:
		c.Options().TLSConfig.RootCAs = card.roots
	}
	return client
}

// Real Redis, whose user has as password the one token that is good at the moment.
func TestRedisByIAM(t *testing.T) {
	t.Parallel()
	real, err := url.Parse(servers.RedisURL(t))
	if err != nil {
		t.Fatal(err)
	}
	admin := newRedis(t, real.String())
	user := "iam-" + strconv.FormatUint(rand.Uint64(), 36)
	rule := func(more ...string) {
		t.Helper()
		args := []any{"ACL", "SETUSER", user, "on", "~*", "+@all", "resetpass"}
		for _, m := range more {
			args = append(args, m)
		}
		if err := admin.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	kill := func() {
		t.Helper()
		if n, err := admin.ClientKillByFilter(t.Context(), "USER", user).Result(); err != nil || n == 0 {
			t.Fatalf("kill: %d connections, %v; want some", n, err)
		}
	}
	time0 := newClock()
	rule(">" + redisToken(user, time0.Now()))
	t.Cleanup(func() { _ = newRedisForCleanup(t, real.String(), user) })

	card := newCard(t)
	client := redisIAM(t, "rediss://"+user+"@"+tlsBefore(t, card, real.Host)+real.Path, card, time0.Now)
	if who, err := client.Do(t.Context(), "ACL", "WHOAMI").Text(); err != nil || who != user {
		t.Fatalf("log in: got %q, %v, want %q", who, err, user)
	}
	// The token has run out. Who is in stays in.
	time0.pass(sigv4.TokenLife)
	rule(">" + redisToken(user, time0.Now()))
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("on the old connection: %v", err)
	}
	// A new connection has a new token.
	kill()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("on a new connection: %v", err)
	}
	// The server does look: without the right token nobody comes in.
	rule(">" + redisToken(user, time0.Now().Add(-sigv4.TokenLife)))
	kill()
	if err := client.Ping(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("with a token that is not the user's: got %v, want WRONGPASS", err)
	}
}

func newRedisForCleanup(t *testing.T, address, user string) error {
	client, err := connect.Redis(config.Redis{URL: config.Secret(address), PoolSize: 1})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := cleanUp(t)
	defer cancel()
	return client.Do(ctx, "ACL", "DELUSER", user).Err()
}

func TestRedisClusterByIAM(t *testing.T) {
	t.Parallel()
	card, now := newCard(t), newClock()
	server, err := miniredis.RunTLS(card.server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.RequireUserAuth("shop-functions", redisToken("shop-functions", now.Now()))
	client := redisIAM(t, "rediss://shop-functions@"+server.Addr()+"?cluster=true", card, now.Now)
	if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatalf("log in: %v", err)
	}
	now.pass(sigv4.TokenLife)
	stale := redisIAM(t, "rediss://shop-functions@"+server.Addr()+"?cluster=true", card, now.Now)
	if err := stale.Get(t.Context(), "k").Err(); err == nil || errors.Is(err, redis.Nil) {
		t.Errorf("a token that the server does not know: got %v, want an error", err)
	}
	o := client.(*redis.ClusterClient).Options()
	if longest := o.ConnMaxLifetime + o.ConnMaxLifetimeJitter; o.ConnMaxLifetime == 0 || longest >= 12*time.Hour {
		t.Errorf("a connection lives up to %v: ElastiCache ends it after 12 hours", longest)
	}
}

func TestRedisRefusesHalfAnIAM(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"redis://u@clustercfg.shop.x.euc1.cache.amazonaws.com:6379":          "REDIS_URL",
		"rediss://clustercfg.shop.x.euc1.cache.amazonaws.com:6379":           "REDIS_URL",
		"rediss://u:hunter2@clustercfg.shop.x.euc1.cache.amazonaws.com:6379": "REDIS_URL",
		"rediss://u@redis.shop.example:6379":                                 "REDIS_CACHE",
	} {
		_, err := connect.Redis(config.Redis{URL: config.Secret(address), PoolSize: 1, Auth: config.IAM, AWS: role})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want an error about %s", address, err, want)
		}
	}
	for host, want := range map[string]string{
		"clustercfg.my-shop.a1b2c3.euc1.cache.amazonaws.com": "my-shop",
		"master.my-shop.a1b2c3.euc1.cache.amazonaws.com":     "my-shop",
		"my-shop.a1b2c3.ng.0001.euc1.cache.amazonaws.com":    "",
		"clustercfg": "", "": "",
	} {
		if got := connect.CacheName(host); got != want {
			t.Errorf("name of %q: got %q, want %q", host, got, want)
		}
	}
}

func TestRDSAuthorities(t *testing.T) {
	t.Parallel()
	rest, count := connect.RDSPEM, 0
	pool := x509.NewCertPool()
	for c, tail := nextCertificate(t, rest); c != nil; c, tail = nextCertificate(t, tail) {
		count++
		pool.AddCert(c)
		if !c.IsCA || c.CheckSignatureFrom(c) != nil {
			t.Errorf("%s is no authority that stands for itself", c.Subject)
		}
		if until := time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC); c.NotAfter.Before(until) {
			t.Errorf("%s ends at %s", c.Subject, c.NotAfter)
		}
	}
	if count < 80 {
		t.Errorf("%d authorities, want those of 27 regions, three each, and Amazon's own", count)
	}
}
