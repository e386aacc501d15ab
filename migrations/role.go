package migrations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// tables is all that the functions touch: their rows, not the schema.
var tables = []string{
	"flash_sale", "flash_sale_pause", "flash_sale_item", "flash_sale_quota", "flash_sale_order",
	"stock_release", "order_event", "order_placed", "payment", "operator_action",
}

// A Role is who the functions are in the database.
type Role struct {
	Name        string // "" for nobody in particular
	Connections int    // at most; -1 for any number
}

// Grant makes the role at the database at url, if it is not there, with rights on
// the rows of the schema and on nothing else. Where PostgreSQL is Amazon's, the
// role logs in by IAM. Running it again, or twice at once, changes nothing.
func (r Role) Grant(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("migrations: grant: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	// CREATE ROLE has no IF NOT EXISTS, and another run may come in between.
	name := pgx.Identifier{r.Name}.Sanitize()
	_, err = conn.Exec(ctx, "CREATE ROLE "+name+" LOGIN")
	there, ok := errors.AsType[*pgconn.PgError](err)
	if err != nil && (!ok || !slices.Contains([]string{"42710", "23505"}, there.Code)) {
		return fmt.Errorf("migrations: grant: %w", err)
	}
	var schema string
	var amazon bool
	err = conn.QueryRow(ctx, `
		SELECT current_schema(), EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_iam')`).Scan(&schema, &amazon)
	if err != nil {
		return fmt.Errorf("migrations: grant: %w", err)
	}
	qualified := make([]string, len(tables))
	for i, table := range tables {
		qualified[i] = pgx.Identifier{schema, table}.Sanitize()
	}
	statements := []string{
		// A lock first: of two that alter the same role at once, PostgreSQL refuses one.
		`SELECT pg_advisory_xact_lock(hashtext('flash sale role'))`,
		"ALTER ROLE " + name + " CONNECTION LIMIT " + strconv.Itoa(r.Connections),
		"GRANT USAGE ON SCHEMA " + pgx.Identifier{schema}.Sanitize() + " TO " + name,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON " + strings.Join(qualified, ", ") + " TO " + name,
		// saleadmin's preflight asks which migrations there were.
		"GRANT SELECT ON " + pgx.Identifier{schema, versions}.Sanitize() + " TO " + name,
	}
	if amazon {
		statements = append(statements, "GRANT rds_iam TO "+name)
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("migrations: grant: %w", err)
	}
	return nil
}
