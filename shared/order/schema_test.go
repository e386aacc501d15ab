package order_test

import (
	"context"
	"slices"
	"testing"

	"flashsale/migrations"
	"flashsale/shared/order"
	"flashsale/shared/sale"
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

// While a new version is deployed its writer meets the schema of the old one, which
// has no order_placed. It writes as the old one did, and the events that wait then
// are told after the migration.
func TestBeforeOrderPlaced(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := s.create(t, saleOf(7, 10))
		for _, statement := range []string{
			`DROP TABLE order_placed`, `ALTER TABLE flash_sale DROP CONSTRAINT chk_sale_times_are_finite`,
			`ALTER TABLE flash_sale_order DROP CONSTRAINT chk_order_times_are_finite`, `DELETE FROM flash_sale_migration WHERE version_id >= 8`,
		} {
			if _, err := s.pool.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		old := s.many(sl, 0, 0, 3)
		if got := tally(s.write(t, old...)); got[order.ResultNew] != 3 {
			t.Errorf("before: got %v, want 3 new", got)
		}
		if _, err := migrations.Up(t.Context(), s.pool.Config().ConnString()); err != nil {
			t.Fatal(err)
		}
		fresh := s.many(sl, 0, 3, 2)
		s.write(t, fresh...)
		s.pay(t, payment(old[0], nil), order.OutcomePaid)
		s.pay(t, payment(fresh[0], nil), order.OutcomePaid)
		s.consistent(t)

		told := map[sale.OrderID][]string{}
		for n := 1; n > 0; {
			var err error
			n, err = s.RelayEvents(t.Context(), 3, func(_ context.Context, events []order.Event) error {
				for _, e := range events {
					told[e.OrderID] = append(told[e.OrderID], e.Kind)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, p := range append(old, fresh...) {
			want := []string{"placed"}
			if i == 0 || i == len(old) {
				want = append(want, "paid")
			}
			if !slices.Equal(told[p.OrderID], want) {
				t.Errorf("order %d: got %q, want %q", i, told[p.OrderID], want)
			}
		}
	})
}
