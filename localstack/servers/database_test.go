package servers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"flashsale/localstack/servers"
)

func TestDatabase(t *testing.T) {
	t.Parallel()
	servers.Database(t, uniqueKey(), noMigration) // says what is left out if there is no server

	t.Run("the template is made once and copies are apart", func(t *testing.T) {
		t.Parallel()
		var calls atomic.Int32
		key := uniqueKey()
		migrate := func(ctx context.Context, url string) error {
			calls.Add(1)
			return execute(ctx, url, "CREATE TABLE note (text text)")
		}
		t.Run("in parallel", func(t *testing.T) {
			for range 6 {
				t.Run("", func(t *testing.T) {
					t.Parallel()
					url := servers.Database(t, key, migrate)
					if err := execute(t.Context(), url, "INSERT INTO note VALUES ('mine')"); err != nil {
						t.Fatalf("insert: %v", err)
					}
					if got := count(t, url, "SELECT count(*) FROM note"); got != 1 {
						t.Errorf("notes: got %d, want only the own one", got)
					}
				})
			}
		})
		if got := calls.Load(); got != 1 {
			t.Errorf("migrations: got %d, want 1", got)
		}
	})

	t.Run("another key is another template", func(t *testing.T) {
		t.Parallel()
		first := servers.Database(t, uniqueKey(), func(ctx context.Context, url string) error {
			return execute(ctx, url, "CREATE TABLE first ()")
		})
		second := servers.Database(t, uniqueKey(), noMigration)
		const query = "SELECT count(*) FROM pg_tables WHERE tablename = 'first'"
		if a, b := count(t, first, query), count(t, second, query); a != 1 || b != 0 {
			t.Errorf("tables: got %d and %d, want 1 and 0", a, b)
		}
	})

	t.Run("a failed migration is reported and tried again", func(t *testing.T) {
		t.Parallel()
		key := uniqueKey()
		got := outcome(t, func(tb testing.TB) string {
			return servers.Database(tb, key, func(ctx context.Context, url string) error {
				// It leaves half of its work behind.
				return errors.Join(execute(ctx, url, "CREATE TABLE half ()"), errors.New("broken"))
			})
		})
		if !strings.HasPrefix(got, "fatal") || !strings.Contains(got, "broken") {
			t.Errorf("outcome: got %q, want a failure that names its cause", got)
		}
		url := servers.Database(t, key, noMigration)
		if got := count(t, url, "SELECT count(*) FROM pg_tables WHERE tablename = 'half'"); got != 0 {
			t.Errorf("tables of the failed attempt: got %d, want 0", got)
		}
	})

	t.Run("it is dropped with its test, open connections or not", func(t *testing.T) {
		t.Parallel()
		var url string
		t.Run("inner", func(t *testing.T) {
			url = servers.Database(t, "versions", noMigration)
			if _, err := pgx.Connect(t.Context(), url); err != nil {
				t.Fatalf("connect: %v", err)
			}
		})
		if err := execute(t.Context(), url, "SELECT 1"); err == nil || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("connect afterwards: got %v, want a database that does not exist", err)
		}
	})
}

// uniqueKey makes a template that no earlier run has left on the server.
func uniqueKey() string { return fmt.Sprint(servers.ItemID()) }

func noMigration(context.Context, string) error { return nil }

func execute(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

func count(t *testing.T, url, sql string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}
