package drill

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

func postgresDrills() []Drill {
	return []Drill{
		{Name: "postgres-crash", Fault: "PostgreSQL crashed and restarted", strike: func(ctx context.Context, s *stage) error {
			if err := s.park.kill("postgres", ""); err != nil {
				return err
			}
			if err := sleep(ctx, time.Second); err != nil {
				return err
			}
			return s.park.revive("postgres", "")
		}},
		{Name: "terminated", Fault: "PostgreSQL connections terminated, 20 times", happened: struck, strike: func(ctx context.Context, s *stage) error {
			return s.asOperator(ctx, func(conn *pgx.Conn) error {
				return during(ctx, 2*time.Second, 100*time.Millisecond, func() error {
					tag, err := conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
						WHERE datname = current_database() AND application_name = 'flash-sale'`)
					s.hits.Add(tag.RowsAffected())
					return err
				})
			})
		}},
		{Name: "read-only", Fault: "PostgreSQL read-only, 4 s", Quick: true, strike: func(ctx context.Context, s *stage) error {
			return s.asOperator(ctx, func(conn *pgx.Conn) error {
				if err := s.readOnly(ctx, conn, "on"); err != nil {
					return err
				}
				if err := sleep(ctx, 4*time.Second); err != nil {
					return err
				}
				return s.readOnly(ctx, conn, "off")
			})
		}},
		{Name: "restored", Fault: "PostgreSQL restored from a backup that is 2 s old, three shards", shards: 3, strike: func(ctx context.Context, s *stage) error {
			return s.restored(ctx, 2*time.Second)
		}},
		{Name: "postgres-hangs", Fault: "PostgreSQL swallows everything, 5 s", happened: hindered, strike: func(ctx context.Context, s *stage) error {
			s.database.set(swallowing)
			defer s.database.set(passing)
			return sleep(ctx, 5*time.Second)
		}},
	}
}

// restored backs the database up, lets it go on for a while, and puts the backup in its place.
func (s *stage) restored(ctx context.Context, after time.Duration) error {
	conn, err := pgx.Connect(ctx, s.maintenance)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	at, err := pgx.ParseConfig(s.databaseURL)
	if err != nil {
		return err
	}
	name, backup := at.Database, at.Database+"_backup"
	// alone does something to the database that nobody may be connected to meanwhile.
	alone := func(statements ...string) error {
		for _, sql := range slices.Concat([]string{
			"ALTER DATABASE " + name + " ALLOW_CONNECTIONS false",
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'",
			"SELECT pg_sleep(0.1)", // they are told, and then they go
		}, statements) {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	}
	if err := alone("CREATE DATABASE "+backup+" TEMPLATE "+name, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true"); err != nil {
		return err
	}
	if err := sleep(ctx, after); err != nil {
		return err
	}
	if err := alone("DROP DATABASE "+name, "ALTER DATABASE "+backup+" RENAME TO "+name); err != nil {
		return err
	}
	s.remitAgain(ctx)
	return durable(ctx, conn, name)
}

func (s *stage) asOperator(ctx context.Context, do func(*pgx.Conn) error) error {
	cfg, err := pgx.ParseConfig(s.databaseURL)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return do(conn)
}

// readOnly is a failover to a standby, seen by the functions: new sessions cannot write, and the
// old ones are gone.
func (s *stage) readOnly(ctx context.Context, conn *pgx.Conn, on string) error {
	name := pgx.Identifier{conn.Config().Database}.Sanitize()
	if _, err := conn.Exec(ctx, "SET default_transaction_read_only = off"); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "ALTER DATABASE "+name+" SET default_transaction_read_only = "+on); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'flash-sale'`)
	return err
}

// durable makes a database remember every commit. The test servers are quick because they may
// forget the last ones in a crash. Here they may not.
func durable(ctx context.Context, conn *pgx.Conn, name string) error {
	_, err := conn.Exec(ctx, "ALTER DATABASE "+name+" SET synchronous_commit = on")
	return err
}
