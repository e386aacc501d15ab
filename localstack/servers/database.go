package servers

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	templatePrefix = "flashsale_template_"
	databasePrefix = "flashsale_test_"

	// templateLock is the advisory lock around all templates of a server. Cloning shares it.
	// Making or dropping one excludes everybody, other test processes too.
	templateLock = 7_205_759_403

	// templatesKept leaves room for several checkouts at work on different migrations.
	templatesKept = 8

	// leftOverAge is the age in seconds at which a database of a killed test is dropped.
	leftOverAge = 3600
)

// Database returns the URL of a fresh database and drops it when the test ends.
// It is a copy of a template that migrate has filled once for this key, so the key must
// change with the content of the migrations, for example by being their hash.
// migrate must have closed its connections when it returns: an open one prevents the copy.
func Database(t testing.TB, key string, migrate func(ctx context.Context, url string) error) string {
	t.Helper()
	base, err := url.Parse(address(t, "DATABASE_URL"))
	if err != nil || base.Host == "" {
		t.Fatal("servers: DATABASE_URL is not of the form postgres://user@host:port/database")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	name := fmt.Sprintf("%s%d_%s", databasePrefix, time.Now().Unix(), randomName())
	err = withConnection(ctx, base, func(conn *pgx.Conn) error {
		template := templatePrefix + fmt.Sprintf("%x", sha256.Sum256([]byte(key)))[:16]
		return cloneTemplate(ctx, conn, base, template, name, migrate)
	})
	if err != nil {
		t.Fatalf("servers: make database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := cleanUpContext(t)
		defer cancel()
		err := withConnection(ctx, base, func(conn *pgx.Conn) error {
			return dropDatabase(ctx, conn, name, "WITH (FORCE)")
		})
		if err != nil {
			t.Errorf("servers: drop database: %v", err)
		}
	})
	return sibling(base, name)
}

// cloneTemplate copies the template to a new database, making the template first if it is missing.
// The check and the copy happen under one lock, so nobody can drop the template in between.
func cloneTemplate(ctx context.Context, conn *pgx.Conn, base *url.URL, template, name string, migrate func(context.Context, string) error) error {
	for {
		cloned := false
		err := locked(ctx, conn, "_shared", func() error {
			exists, err := databaseExists(ctx, conn, template)
			if err != nil || !exists {
				return err
			}
			cloned = true
			_, err = conn.Exec(ctx, "CREATE DATABASE "+quote(name)+" TEMPLATE "+quote(template))
			return err
		})
		if err != nil || cloned {
			return err
		}
		err = locked(ctx, conn, "", func() error {
			exists, err := databaseExists(ctx, conn, template)
			if err != nil || exists {
				return err
			}
			dropLeftOvers(ctx, conn)
			return makeTemplate(ctx, conn, base, template, migrate)
		})
		if err != nil {
			return err
		}
	}
}

// makeTemplate gives the template its name only once it is complete. What a killed or failed
// attempt leaves has the other name and is replaced by the next one.
func makeTemplate(ctx context.Context, conn *pgx.Conn, base *url.URL, template string, migrate func(context.Context, string) error) error {
	unfinished := template + "_unfinished"
	if err := dropDatabase(ctx, conn, unfinished, "WITH (FORCE)"); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+quote(unfinished)); err != nil {
		return err
	}
	if err := migrate(ctx, sibling(base, unfinished)); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	_, err := conn.Exec(ctx, "ALTER DATABASE "+quote(unfinished)+" RENAME TO "+quote(template))
	return err
}

// dropLeftOvers removes the oldest templates and what killed tests left behind.
// Errors are ignored: a database that is in use or someone else's stays, and harms nobody.
func dropLeftOvers(ctx context.Context, conn *pgx.Conn) {
	rows, err := conn.Query(ctx, `
		(SELECT datname FROM pg_database WHERE starts_with(datname, $1) ORDER BY oid DESC OFFSET $2)
		UNION ALL
		SELECT datname FROM pg_database
		WHERE starts_with(datname, $3)
		  AND split_part(datname, '_', 3)::bigint < extract(epoch FROM now()) - $4`,
		templatePrefix, templatesKept, databasePrefix, leftOverAge)
	if err != nil {
		return
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return
	}
	for _, name := range names {
		_ = dropDatabase(ctx, conn, name, "")
	}
}

// locked holds the templates' lock while it calls do; kind is "" or "_shared".
func locked(ctx context.Context, conn *pgx.Conn, kind string, do func() error) error {
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock"+kind+"($1)", int64(templateLock)); err != nil {
		return err
	}
	err := do()
	// A failed unlock needs no care: the connection is closed soon, and the lock goes with it.
	_, _ = conn.Exec(ctx, "SELECT pg_advisory_unlock"+kind+"($1)", int64(templateLock))
	return err
}

func databaseExists(ctx context.Context, conn *pgx.Conn, name string) (bool, error) {
	var exists bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists)
	return exists, err
}

func dropDatabase(ctx context.Context, conn *pgx.Conn, name, option string) error {
	_, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" "+option)
	return err
}

func withConnection(ctx context.Context, base *url.URL, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, base.String())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return do(conn)
}

// sibling is the address of another database on the same server.
func sibling(base *url.URL, name string) string {
	u := *base
	u.Path = "/" + name
	return u.String()
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
