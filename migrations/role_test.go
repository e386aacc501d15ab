package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"flashsale/localstack/servers"
	"flashsale/migrations"
)

// granted returns the address of a database that has the schema, for its owner and for a role of
// that many connections.
func granted(t *testing.T, connections int) (owner, role string) {
	t.Helper()
	owner = servers.Database(t, migrations.Hash(), func(ctx context.Context, url string) error {
		_, err := migrations.Up(ctx, url)
		return err
	})
	conn := connected(t, owner)
	// Amazon's role, which is there for others to be members of. It stays: it can do nothing.
	if _, err := conn.Exec(t.Context(), `CREATE ROLE rds_iam`); err != nil && refusal(err) != "42710" && refusal(err) != "23505" {
		t.Fatalf("rds_iam: %v", err)
	}
	r := migrations.Role{Name: fmt.Sprintf("flashsale_test_%d", rand.Uint64()), Connections: connections}
	t.Cleanup(func() {
		if _, err := conn.Exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+r.Name+"; DROP ROLE "+r.Name, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Errorf("drop the role: %v", err)
		}
	})
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if err := r.Grant(t.Context(), owner); err != nil {
				t.Errorf("Grant: %v", err)
			}
		})
	}
	group.Wait()
	u, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(r.Name)
	return owner, u.String()
}

func connected(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func refusal(err error) (code string) {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code
	}
	return ""
}

func TestRole(t *testing.T) {
	t.Parallel()
	owner, role := granted(t, 2)
	conn := connected(t, role)

	t.Run("touches the rows of every table of the schema", func(t *testing.T) {
		rows, err := connected(t, owner).Query(t.Context(), `
			SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'flash_sale_migration'`)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(tables) == 0 {
			t.Fatalf("tables: got %v, %v", tables, err)
		}
		for _, table := range tables {
			for _, right := range []string{"SELECT", "INSERT", "UPDATE", "DELETE"} {
				var may bool
				if err := conn.QueryRow(t.Context(), `SELECT has_table_privilege($1, $2)`, table, right).Scan(&may); err != nil || !may {
					t.Errorf("%s %s: got %t, %v, want the right", right, table, may, err)
				}
			}
		}
	})
	t.Run("reads which migrations there were", func(t *testing.T) {
		var applied int
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM flash_sale_migration`).Scan(&applied); err != nil || applied == 0 {
			t.Errorf("migrations: got %d, %v, want some", applied, err)
		}
	})
	t.Run("writes an identity", func(t *testing.T) {
		if _, err := conn.Exec(t.Context(), `INSERT INTO operator_action (at, actor, action, sale_id, detail) VALUES (now(), 'x', 'x', 1, '{}')`); err != nil {
			t.Errorf("insert: %v", err)
		}
	})
	t.Run("does nothing else", func(t *testing.T) {
		for _, statement := range []string{
			`CREATE TABLE mine (x int)`, `DROP TABLE payment`, `ALTER TABLE payment ADD x int`, `TRUNCATE payment`,
			`DELETE FROM flash_sale_migration`, `CREATE ROLE other`,
		} {
			if _, err := conn.Exec(t.Context(), statement); refusal(err) != "42501" {
				t.Errorf("%s: got %v, want it forbidden", statement, err)
			}
		}
	})
	t.Run("logs in by IAM where there is such a thing", func(t *testing.T) {
		var member bool
		if err := conn.QueryRow(t.Context(), `SELECT pg_has_role(current_user, 'rds_iam', 'MEMBER')`).Scan(&member); err != nil || !member {
			t.Errorf("member of rds_iam: got %t, %v, want true", member, err)
		}
	})
	t.Run("has so many connections and no more", func(t *testing.T) {
		connected(t, role)
		_, err := pgx.Connect(t.Context(), role)
		if refusal(err) != "53300" {
			t.Errorf("third connection: got %v, want too many connections", err)
		}
	})
}

func TestRoleWithoutSchema(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("flashsale_test_%d", rand.Uint64())
	url := empty(t)
	conn := connected(t, url)
	t.Cleanup(func() { _, _ = conn.Exec(context.WithoutCancel(t.Context()), "DROP ROLE IF EXISTS "+name) })
	err := migrations.Role{Name: name, Connections: 1}.Grant(t.Context(), url)
	if err == nil || !strings.Contains(err.Error(), "migrations: grant") {
		t.Errorf("Grant: got %v, want an error", err)
	}
}
