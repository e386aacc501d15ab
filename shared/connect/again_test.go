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

	"github.com/jackc/pgx/v5/pgconn"

	"flashsale/localstack/servers"
	"flashsale/shared/config"
	"flashsale/shared/connect"
)

// A clock that jumps makes tokens that are refused, too old or too new. Once it is right again so are
// they: no client keeps a token, and none is spoilt by a refusal.
func TestLoginsAfterAClockHasJumped(t *testing.T) {
	t.Parallel()
	card, there, here := newCard(t), newClock(), newClock()
	door := newRDS(t, card, there.Now)
	pool, err := connect.PostgresAt(t.Context(), config.Postgres{URL: config.Secret(door.url(card, "flashsale_app")), PoolSize: 1, Auth: config.IAM, AWS: role}, here.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)

	real, err := url.Parse(servers.RedisURL(t))
	if err != nil {
		t.Fatal(err)
	}
	admin := newRedis(t, real.String())
	user := "iam-" + strconv.FormatUint(rand.Uint64(), 36)
	if err := admin.Do(t.Context(), "ACL", "SETUSER", user, "on", "~*", "+@all", ">"+redisToken(user, there.Now())).Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = newRedisForCleanup(t, real.String(), user) })
	client := redisIAM(t, "rediss://"+user+"@"+tlsBefore(t, card, real.Host)+real.Path, card, here.Now)

	for _, jump := range []time.Duration{-time.Hour, time.Hour} {
		here.pass(jump)
		err := pool.Ping(t.Context())
		if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "28P01" || strings.Contains(err.Error(), "X-Amz") {
			t.Errorf("PostgreSQL, a clock off by %s: got %v, want 28P01 without the token", jump, err)
		}
		if err := client.Ping(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "WRONGPASS") || strings.Contains(err.Error(), "X-Amz") {
			t.Errorf("Redis, a clock off by %s: got %v, want WRONGPASS without the token", jump, err)
		}
		here.pass(-jump)
		if err := pool.Ping(t.Context()); err != nil {
			t.Errorf("PostgreSQL, right again: %v", err)
		}
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Errorf("Redis, right again: %v", err)
		}
		// The next jump needs new connections.
		pool.Reset()
		if err := admin.ClientKillByFilter(t.Context(), "USER", user).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// A token is for nobody who only has another name's certificate.
func TestNoTokenForAnotherName(t *testing.T) {
	t.Parallel()
	card, now := newCard(t), newClock()
	door := newRDS(t, card, now.Now)
	address := strings.Replace(door.url(card, "flashsale_app"), "127.0.0.1", "localhost", 1)
	pool, err := connect.PostgresAt(t.Context(), config.Postgres{URL: config.Secret(address), PoolSize: 1, Auth: config.IAM, AWS: role}, now.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	var wrong x509.HostnameError
	if err := pool.Ping(t.Context()); !errors.As(err, &wrong) || len(door.seen()) > 0 {
		t.Errorf("PostgreSQL: got %v and %d tokens, want a wrong name and none", err, len(door.seen()))
	}
	real, err := url.Parse(servers.RedisURL(t))
	if err != nil {
		t.Fatal(err)
	}
	before := strings.Replace(tlsBefore(t, card, real.Host), "127.0.0.1", "localhost", 1)
	if err := redisIAM(t, "rediss://nobody@"+before, card, now.Now).Ping(t.Context()).Err(); !errors.As(err, &wrong) {
		t.Errorf("Redis: got %v, want a wrong name", err)
	}
}
