package order

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// schema is the last migration's number. A test holds it to the files: to count
// those here would link the library that runs them.
const schema = 9

// MigrationsMissing tells how many migrations the database has not had.
func (s *Store) MigrationsMissing(ctx context.Context) (int, error) {
	var applied int
	err := s.pool.QueryRow(ctx, `
		SELECT count(DISTINCT version_id) FROM flash_sale_migration
		WHERE is_applied AND version_id BETWEEN 1 AND $1::int`, schema).Scan(&applied)
	const noTable = "42P01"
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == noTable {
		return schema, nil
	}
	return schema - applied, wrap("migrations missing", err)
}
