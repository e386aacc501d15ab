package saleadmin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/config"
	"flashsale/shared/identity"
)

const maxClockOffset = time.Second

// lookAtRedis asks every master for its eviction policy and its free connections.
// Each environment has a connection to each.
func (h *Handler) lookAtRedis(ctx context.Context, d demand) []check {
	const keeps, name = "redis keeps its keys", "redis connections"
	var checks []check
	switch err := h.Stock.CheckEviction(ctx); {
	case err == nil:
		checks = append(checks, judge(keeps, true, "it evicts nothing", "noeviction", ""))
	case errors.Unwrap(err) != nil: // it says why it could not ask
		checks = append(checks, unknown(keeps, "noeviction", err.Error()))
	default:
		checks = append(checks, judge(keeps, false, err.Error(), "noeviction", "set maxmemory-policy in the parameter group"))
	}
	need := strconv.Itoa(d.environments + others)
	free, err := freeConnections(ctx, h.Estate.Redis)
	if err != nil {
		return append(checks, unknown(name, need, err.Error()))
	}
	return append(checks, judge(name, free >= d.environments+others, strconv.Itoa(free), need,
		"a node's limit is fixed (65,000 in ElastiCache): lower the peak by the sale's spread, or run purchase on instances, whose environments share connections"))
}

// freeConnections is the least that a master has left.
func freeConnections(ctx context.Context, rdb redis.UniversalClient) (int, error) {
	cluster, ok := rdb.(*redis.ClusterClient)
	if !ok {
		return freeOf(ctx, rdb)
	}
	var mu sync.Mutex // masters are asked at once
	least := -1
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		free, err := freeOf(ctx, master)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && (least < 0 || free < least) {
			least = free
		}
		return err
	})
	return least, err
}

func freeOf(ctx context.Context, rdb redis.Cmdable) (int, error) {
	info, err := rdb.Info(ctx, "clients").Result()
	if err != nil {
		return 0, err
	}
	number := make(map[string]int)
	for line := range strings.Lines(info) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		if n, err := strconv.Atoi(text); err == nil {
			number[name] = n
		}
	}
	if number["maxclients"] == 0 {
		return 0, errors.New("the server does not state its maxclients")
	}
	return number["maxclients"] - number["connected_clients"], nil
}

// lookAtPostgres asks for the schema. How many connections there are is the
// account's question too; see lookAtAccount.
func (h *Handler) lookAtPostgres(ctx context.Context, _ demand) []check {
	const name, need = "schema", "0 migrations missing"
	missing, err := h.Orders.MigrationsMissing(ctx)
	if err != nil {
		return []check{unknown(name, need, err.Error())}
	}
	return []check{judge(name, missing == 0, fmt.Sprintf("%d migrations missing", missing), need, "invoke the function migrate")}
}

// freeDatabaseConnections is what our role may have: what the server does not
// keep for its administrators, less what others use now.
func (h *Handler) freeDatabaseConnections(ctx context.Context) (free int, err error) {
	var limit int
	err = h.Estate.Pool.QueryRow(ctx, `
		SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
		       - coalesce(current_setting('reserved_connections', true), '0')::int
		       - (SELECT count(*) FROM pg_stat_activity
		          WHERE backend_type = 'client backend' AND usename IS DISTINCT FROM current_user)::int,
		       (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user)`).Scan(&free, &limit)
	if limit >= 0 {
		free = min(free, limit)
	}
	return free, err
}

// lookAtClocks compares this function's clock with the servers'. The window is
// judged by Redis, the time to pay by PostgreSQL.
func (h *Handler) lookAtClocks(ctx context.Context, _ demand) []check {
	look := func(name string, clock func() (time.Time, error)) check {
		need := "at most " + maxClockOffset.String()
		before := h.Now()
		there, err := clock()
		after := h.Now()
		if err != nil {
			return unknown(name, need, err.Error())
		}
		// The answer was given somewhere on the way.
		doubt := after.Sub(before) / 2
		offset := there.Sub(before.Add(doubt))
		return judge(name, offset.Abs() <= maxClockOffset+doubt,
			fmt.Sprintf("%d ms, give or take %d", offset.Milliseconds(), doubt.Milliseconds()), need,
			"compare both with a third; AWS' own servers keep time by themselves")
	}
	return []check{
		look("clock of redis", func() (time.Time, error) { return h.Stock.Clock(ctx) }),
		look("clock of postgresql", func() (at time.Time, err error) {
			return at, h.Estate.Pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&at)
		}),
	}
}

// lookAtCertificates asks each server for its certificate, verified as always.
func (h *Handler) lookAtCertificates(ctx context.Context, d demand) []check {
	until := d.sale.ClosesAt.Add(d.sale.PaymentWindow + d.sale.Grace)
	look := func(name string, dial func() (*tls.ConnectionState, error)) check {
		name = "certificate of " + name
		need := "TLS, good until " + until.UTC().Format(time.DateOnly)
		state, err := dial()
		var bad *tls.CertificateVerificationError
		switch {
		case errors.As(err, &bad):
			return judge(name, false, err.Error(), need, "renew it, or name the authority that signed it: no function gets in")
		case err != nil:
			return unknown(name, need, err.Error())
		case state == nil:
			return judge(name, false, "no TLS", need, "rediss://, KAFKA_TLS, sslmode=verify-full: passwords and orders travel in the clear")
		}
		ends := state.PeerCertificates[0].NotAfter
		return judge(name, ends.After(until), "good until "+ends.UTC().Format(time.DateOnly), need, "renew it before the sale")
	}
	cfg := h.Estate.Config
	checks := []check{
		look("redis", func() (*tls.ConnectionState, error) {
			address, c := redisDoor(h.Estate.Redis)
			return handshake(ctx, address, c)
		}),
		look("postgresql", func() (*tls.ConnectionState, error) {
			conn, err := h.Estate.Pool.Acquire(ctx)
			if err != nil {
				return nil, err
			}
			defer conn.Release()
			if secured, ok := conn.Conn().PgConn().Conn().(*tls.Conn); ok {
				state := secured.ConnectionState()
				return &state, nil
			}
			return nil, nil
		}),
	}
	for _, broker := range cfg.Brokers {
		checks = append(checks, look("kafka "+broker, func() (*tls.ConnectionState, error) {
			if !cfg.TLS {
				return nil, nil
			}
			return handshake(ctx, broker, &tls.Config{MinVersion: tls.VersionTLS12})
		}))
	}
	return checks
}

func redisDoor(rdb redis.UniversalClient) (address string, c *tls.Config) {
	switch rdb := rdb.(type) {
	case *redis.Client:
		return rdb.Options().Addr, rdb.Options().TLSConfig
	case *redis.ClusterClient:
		return rdb.Options().Addrs[0], rdb.Options().TLSConfig
	}
	return "", nil
}

// handshake is nil for a server that is met without TLS.
func handshake(ctx context.Context, address string, c *tls.Config) (*tls.ConnectionState, error) {
	if c == nil {
		return nil, nil
	}
	conn, err := (&tls.Dialer{Config: c}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	state := conn.(*tls.Conn).ConnectionState()
	return &state, nil
}

// keysOf reads the keys as the functions that verify tokens do.
func keysOf(ctx context.Context, cfg Config, now func() time.Time) error {
	verifier, err := identity.New(config.Identity{
		Issuer: "-", Audience: "-", JWKSURL: cfg.JWKSURL, JWKS: cfg.JWKS, Cooldown: time.Second,
	}, now)
	if err != nil {
		return err
	}
	return verifier.Warm(ctx)
}
