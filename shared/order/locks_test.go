package order_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

// block holds what the statement locks until the returned function rolls it back.
func (s *shop) block(t *testing.T, statement string, args ...any) (release func()) {
	t.Helper()
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatalf("block: %v", err)
	}
	end := func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }
	t.Cleanup(end)
	if _, err := tx.Exec(t.Context(), statement, args...); err != nil {
		t.Fatalf("block: %v", err)
	}
	return end
}

// waiting returns once n sessions wait for locks.
func (s *shop) waiting(t *testing.T, n int) {
	t.Helper()
	for s.count(t, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock'`) < n {
		time.Sleep(5 * time.Millisecond)
	}
}

// Two callers, stopped half-way by a third, must not wait for each other when it
// lets go: PostgreSQL would end one of them. The second starts once the first waits.
func TestNoDeadlocks(t *testing.T) {
	t.Parallel()
	write := func(s *shop, placed ...sale.Placed) func(context.Context) error {
		return func(ctx context.Context) error { _, err := s.WriteBatch(ctx, placed); return err }
	}
	create := func(s *shop, sl sale.Sale) func(context.Context) error {
		return func(ctx context.Context) error { _, err := s.CreateSale(ctx, sl, []byte(`{}`), "op"); return err }
	}
	const lockItem = `SELECT FROM flash_sale_item WHERE id = 702 FOR UPDATE`
	cases := []struct {
		name          string
		block         string
		first, second func(*shop, sale.Sale) func(context.Context) error
		refused       error // what the second hears
	}{
		{
			"two writers with the same shoppers",
			`INSERT INTO flash_sale_order (id, sale_id, item_id, user_id, status, price_minor, currency, reserved_at, created_at, expires_at)
			VALUES (gen_random_uuid(), 7, 701, 'm', 'PENDING', 1, 'EUR', now(), now(), now())`,
			func(s *shop, sl sale.Sale) func(context.Context) error {
				return write(s, s.place(sl, 0, "x"), s.place(sl, 0, "m"), s.place(sl, 0, "y"))
			},
			func(s *shop, sl sale.Sale) func(context.Context) error {
				return write(s, s.place(sl, 0, "y"), s.place(sl, 0, "m"), s.place(sl, 0, "x"))
			},
			nil,
		},
		{
			"two writers with the same items", lockItem,
			func(s *shop, sl sale.Sale) func(context.Context) error {
				return write(s, s.place(sl, 0, "a"), s.place(sl, 1, "b"), s.place(sl, 2, "c"))
			},
			func(s *shop, sl sale.Sale) func(context.Context) error {
				return write(s, s.place(sl, 2, "d"), s.place(sl, 1, "e"), s.place(sl, 0, "f"))
			},
			nil,
		},
		{
			"an expirer and a writer", lockItem,
			func(s *shop, _ sale.Sale) func(context.Context) error {
				late := order.New(s.pool)
				late.Now = func() time.Time { return start.Add(time.Hour) }
				return func(ctx context.Context) error { _, err := late.Expire(ctx, 100); return err }
			},
			func(s *shop, sl sale.Sale) func(context.Context) error {
				return write(s, s.place(sl, 2, "d"), s.place(sl, 1, "e"), s.place(sl, 0, "f"))
			},
			nil,
		},
		{
			"a doubt and a reconcile pass", `SELECT FROM flash_sale WHERE id = 7 FOR UPDATE`,
			func(s *shop, _ sale.Sale) func(context.Context) error {
				return func(ctx context.Context) error { return s.Doubt(ctx, 7, 701) }
			},
			func(s *shop, _ sale.Sale) func(context.Context) error {
				return func(ctx context.Context) error { return s.LiftDoubts(ctx, 7, 100, "op") }
			},
			nil,
		},
		{
			"two sales with the same items",
			`INSERT INTO flash_sale_item (id, sale_id, product_id, name, price_minor, currency, quantity) VALUES (802, 7, 5, 'n', 1, 'EUR', 1)`,
			func(s *shop, _ sale.Sale) func(context.Context) error { return create(s, saleOf(8, 1, 1, 1)) },
			func(s *shop, _ sale.Sale) func(context.Context) error {
				sl := saleOf(8, 1, 1, 1)
				sl.ID = 9
				slices.Reverse(sl.Items)
				return create(s, sl)
			},
			order.ErrItemExists,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			sl := s.create(t, saleOf(7, 10, 10, 10))
			s.write(t, s.place(sl, 0, "p"), s.place(sl, 1, "q"), s.place(sl, 2, "r"))
			if err := s.Doubt(t.Context(), 7, 701); err != nil {
				t.Fatal(err)
			}
			release := s.block(t, c.block)
			var group sync.WaitGroup
			var failed [2]error
			for i, prepare := range []func(*shop, sale.Sale) func(context.Context) error{c.first, c.second} {
				do := prepare(s, sl)
				group.Go(func() { failed[i] = do(t.Context()) })
				s.waiting(t, i+1)
			}
			release()
			group.Wait()
			if failed[0] != nil {
				t.Errorf("first: got %v, want success", failed[0])
			}
			if !errors.Is(failed[1], c.refused) {
				t.Errorf("second: got %v, want %v", failed[1], c.refused)
			}
			s.consistent(t)
		})
	}
}

// An order that somebody works on is left to the next pass and stops nobody.
func TestExpireSkipsWhatIsLocked(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.create(t, saleOf(7, 10))
	s.write(t, s.many(sl, 0, 0, 3)...)
	release := s.block(t, `SELECT FROM flash_sale_order WHERE user_id = 'u1' FOR UPDATE`)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s.Now = func() time.Time { return start.Add(time.Hour) }
	if n, err := s.Expire(ctx, 100); err != nil || n != 2 {
		t.Errorf("beside a locked order: got %d expired, %v, want 2", n, err)
	}
	release()
	if n, err := s.Expire(t.Context(), 100); err != nil || n != 1 {
		t.Errorf("afterwards: got %d expired, %v, want 1", n, err)
	}
	s.consistent(t)
}
