package connect_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"flashsale/localstack/servers"
	"flashsale/shared/config"
	"flashsale/shared/connect"
)

func newPostgres(t *testing.T, address, mode string) *pgxpool.Pool {
	t.Helper()
	cfg := config.Postgres{URL: config.Secret(address), ExecMode: mode, PoolSize: 4}
	pool, err := connect.Postgres(t.Context(), cfg)
	if err != nil {
		t.Fatalf("Postgres: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func database(t *testing.T) string {
	t.Helper()
	return servers.Database(t, "connect", func(context.Context, string) error { return nil })
}

func TestPostgresModes(t *testing.T) {
	t.Parallel()
	address := database(t)
	for mode, want := range map[string]pgx.QueryExecMode{
		config.CacheStatement: pgx.QueryExecModeCacheStatement,
		config.Exec:           pgx.QueryExecModeExec,
		config.Simple:         pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			pool := newPostgres(t, address, mode)
			if got := pool.Config().ConnConfig.DefaultQueryExecMode; got != want {
				t.Errorf("mode %v, want %v", got, want)
			}
			var name string
			var prepared int
			const query = `SELECT current_setting('application_name'), (SELECT count(*) FROM pg_prepared_statements) + $1::int`
			if err := pool.QueryRow(t.Context(), query, 0).Scan(&name, &prepared); err != nil {
				t.Fatalf("query: %v", err)
			}
			if name != "flash-sale" {
				t.Errorf("application_name %q, want flash-sale", name)
			}
			// RDS Proxy pins a connection that has a prepared statement.
			if has := prepared > 0; has != (mode == config.CacheStatement) {
				t.Errorf("%d prepared statements in mode %s", prepared, mode)
			}
		})
	}
}

func TestPostgresRefusesBadURLsWithoutThePassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://u:hunter2@h:port/d", "postgres://u:hunter2@h/d?sslmode=maybe", "postgres://u:hunter2@h/d?pool_max_conns=x",
		"user=u password=hunter2 port=x", "postgres://u:hunter2%zz@h/d",
	} {
		_, err := connect.Postgres(t.Context(), config.Postgres{URL: config.Secret(address), PoolSize: 1})
		if err == nil {
			t.Errorf("%s was taken", address)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows the password: %v", err)
		}
		if !strings.Contains(err.Error(), "DATABASE_URL") {
			t.Errorf("the error %v does not name the setting", err)
		}
	}
}

func TestPostgresThatHangs(t *testing.T) {
	t.Parallel()
	pool := newPostgres(t, "postgres://u@"+silentServer(t)+"/d?sslmode=disable", config.CacheStatement)
	start := time.Now()
	if err := pool.Ping(t.Context()); err == nil {
		t.Error("Ping without a deadline succeeded, want an error")
	}
	unhurried := time.Since(start)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start = time.Now()
	err := pool.Ping(ctx)
	if hurried := time.Since(start); err == nil || ctx.Err() == nil || hurried > unhurried {
		t.Errorf("with a deadline of 50 ms: %v after %v; without %v", err, hurried, unhurried)
	}
}

func TestPostgresAfterAFreeze(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(*wire){
		"all sockets closed":  (*wire).close,
		"all sockets swallow": func(w *wire) { w.silence() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, address := through(t, database(t))
			pool := newPostgres(t, address, config.CacheStatement)
			var conns []*pgxpool.Conn
			for range 4 {
				conn, err := pool.Acquire(t.Context())
				if err != nil {
					t.Fatalf("Acquire: %v", err)
				}
				conns = append(conns, conn)
			}
			for _, conn := range conns {
				conn.Release()
			}
			kill(w)
			time.Sleep(1100 * time.Millisecond) // the pool looks after connections idle for a second
			// A dead connection that kept its place in the pool would cost 15 s.
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if _, err := pool.Exec(ctx, "SELECT 1"); err != nil {
				t.Errorf("query: %v", err)
			}
		})
	}
}
