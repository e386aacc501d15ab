package order_test

import (
	"testing"
)

// The last file counts: without it one is missing.
func TestMigrationsMissing(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, c := range []struct {
		statement string
		want      int
	}{
		{`SELECT 1`, 0},
		{`DELETE FROM flash_sale_migration WHERE version_id = (SELECT max(version_id) FROM flash_sale_migration)`, 1},
		{`DROP TABLE flash_sale_migration`, s.migrations(t)},
	} {
		if _, err := s.pool.Exec(t.Context(), c.statement); err != nil {
			t.Fatal(err)
		}
		if got, err := s.MigrationsMissing(t.Context()); err != nil || got != c.want {
			t.Errorf("after %s: got %d missing, %v, want %d", c.statement, got, err, c.want)
		}
	}
}

func (s *shop) migrations(t *testing.T) (n int) {
	t.Helper()
	if err := s.pool.QueryRow(t.Context(), `SELECT max(version_id) FROM flash_sale_migration`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
