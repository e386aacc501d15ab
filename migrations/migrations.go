// Package migrations holds the database's schema as SQL files and applies them.
//
// It promises that [Up] may run again at any time and on several hosts at once:
// each file is applied exactly once, in order, each in a transaction of its own.
// There is no way down: a mistake is corrected by a further file.
package migrations

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed *.sql
var files embed.FS

// versions is a table of our own name: the shop may use goose in the same database.
const versions = "flash_sale_migration"

// Up brings the database at url, a postgres:// address, to the newest schema and
// tells how many files it applied. It waits up to five minutes for another run.
func Up(ctx context.Context, url string) (applied int, err error) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return 0, fmt.Errorf("migrations: open database: %w", err)
	}
	defer func() { _ = db.Close() }()

	// Looking once a second keeps a second host's start short.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return 0, fmt.Errorf("migrations: make lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithSessionLocker(locker), goose.WithTableName(versions))
	if err != nil {
		return 0, fmt.Errorf("migrations: read files: %w", err)
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return 0, fmt.Errorf("migrations: apply: %w", err)
	}
	return len(results), nil
}

// Hash changes with the files. Tests name their template databases by it.
func Hash() string {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic(err) // only a malformed pattern can fail
	}
	sum := sha256.New()
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // the name comes from the embedded folder itself
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
