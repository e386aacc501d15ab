package connect

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"flashsale/shared/config"
)

// Postgres makes a pool. It connects at the first query; ctx is only for its
// values. What the URL says about application_name and connect_timeout wins.
// Servers of RDS are verified by Amazon's authorities, and a login by IAM has a
// fresh token for each connection.
//
// After a freeze: a connection idle for more than a second is pinged before
// use, and one that does not answer in 400 ms is replaced. With the usual pool
// of four, all of them dead, the next query so starts after at most 1.6 s.
func Postgres(ctx context.Context, cfg config.Postgres) (*pgxpool.Pool, error) {
	return postgresAt(ctx, cfg, time.Now)
}

func postgresAt(ctx context.Context, cfg config.Postgres, now func() time.Time) (*pgxpool.Pool, error) {
	// The library's errors hide the password.
	c, err := pgxpool.ParseConfig(cfg.URL.Reveal())
	if err != nil {
		return nil, fmt.Errorf("connect: DATABASE_URL: %w", err)
	}
	trustRDS(c.ConnConfig.Host, c.ConnConfig.TLSConfig)
	if c.BeforeConnect, err = postgresIAM(cfg, c.ConnConfig, now); err != nil {
		return nil, err
	}
	switch cfg.ExecMode {
	case config.Exec:
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	case config.Simple:
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	}
	if _, ok := c.ConnConfig.RuntimeParams["application_name"]; !ok {
		c.ConnConfig.RuntimeParams["application_name"] = "flash-sale"
	}
	if c.ConnConfig.ConnectTimeout == 0 {
		c.ConnConfig.ConnectTimeout = 2 * time.Second
	}
	c.MaxConns = cfg.PoolSize
	c.MaxConnIdleTime = idleLimit
	c.HealthCheckPeriod = 30 * time.Second
	c.PingTimeout = 400 * time.Millisecond
	c.BeforeClose = dropBroken
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("connect: postgres: %w", err)
	}
	return pool, nil
}

// dropBroken closes the socket of a connection that failed. The library would
// wait 15 s for the server's goodbye, and a dead connection would keep its place
// in the pool as long.
func dropBroken(conn *pgx.Conn) {
	if conn.IsClosed() {
		_ = conn.PgConn().Conn().Close()
	}
}
