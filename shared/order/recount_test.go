package order_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/shared/order"
)

// miscount sets an item's sold count by hand.
func (s *shop) miscount(t *testing.T, item, sold int) {
	t.Helper()
	if _, err := s.pool.Exec(t.Context(), `UPDATE flash_sale_item SET sold = $2 WHERE id = $1`, item, sold); err != nil {
		t.Fatal(err)
	}
}

func (s *shop) recount(t *testing.T, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if got, err := s.RecountSold(ctx, 7, "u"); err != nil || got != want {
		t.Errorf("recount: got %d, %v, want %d", got, err, want)
	}
}

// An item whose count is too low cannot lower it any more. The others go on,
// although its orders are due first and more than the limit.
func TestExpireBesideAMiscountedItem(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := s.create(t, saleOf(7, 10, 10, 10))
		s.write(t, s.many(sl, 1, 0, 4)...)
		s.Now = func() time.Time { return start.Add(time.Second) }
		s.write(t, slices.Concat(s.many(sl, 0, 10, 2), s.many(sl, 2, 20, 2))...)
		s.miscount(t, 702, 1)
		s.Now = func() time.Time { return start.Add(time.Hour) }
		for _, want := range []int{4, 0} {
			n, err := s.Expire(t.Context(), 3)
			if n != want || err == nil || !strings.Contains(err.Error(), "item 702") {
				t.Errorf("expire: got %d, %v, want %d and an error of item 702", n, err, want)
			}
		}
		s.recount(t, 1)
		if n, err := s.Expire(t.Context(), 100); n != 4 || err != nil {
			t.Errorf("after the recount: got %d expired, %v, want 4", n, err)
		}
		s.consistent(t)
	})
}

func TestRecountSold(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := s.create(t, saleOf(7, 10, 10, 10))
		s.create(t, saleOf(8, 10))
		paid := s.many(sl, 1, 10, 2)
		s.write(t, slices.Concat(s.many(sl, 0, 0, 3), paid, s.many(sl, 2, 20, 1))...)
		s.pay(t, payment(paid[0], nil), order.OutcomePaid)
		notes := func() int { return s.count(t, `SELECT count(*) FROM operator_action WHERE action = 'recount'`) }

		release := s.block(t, `SELECT FROM flash_sale_item FOR UPDATE`)
		s.recount(t, 0) // locks nothing as long as nothing is wrong
		release()
		if n := notes(); n != 0 {
			t.Errorf("notes of no change: got %d, want none", n)
		}
		s.miscount(t, 701, 0)
		s.miscount(t, 702, 9)
		s.miscount(t, 801, 5) // of another sale
		s.recount(t, 2)
		s.recount(t, 0)
		if n := notes(); n != 1 {
			t.Errorf("notes: got %d, want 1", n)
		}
		if n := s.count(t, `SELECT count(*) FROM operator_action WHERE detail = 'item 701: 0 to 3; item 702: 9 to 2'`); n != 1 {
			t.Errorf("notes that tell both items: got %d, want 1", n)
		}
		if n := s.count(t, `SELECT sold FROM flash_sale_item WHERE id = 801`); n != 5 {
			t.Errorf("another sale's item: got %d, want 5 as before", n)
		}
		s.miscount(t, 801, 0)
		s.consistent(t)

		// More rows than units, by hand: nothing more is to be sold.
		if _, err := s.pool.Exec(t.Context(), `UPDATE flash_sale_item SET sold = 0, quantity = 2 WHERE id = 701`); err != nil {
			t.Fatal(err)
		}
		s.recount(t, 1)
		s.recount(t, 0)
		if n := s.count(t, `SELECT sold FROM flash_sale_item WHERE id = 701`); n != 2 {
			t.Errorf("oversold item: got %d, want its quantity, 2", n)
		}
	})
}

// A writer is half-way while the count is set: before it has counted its order,
// and after.
func TestRecountBesideAWriter(t *testing.T) {
	t.Parallel()
	const (
		insert = `
			INSERT INTO flash_sale_order (id, sale_id, item_id, user_id, status, price_minor, currency, reserved_at, created_at, expires_at)
			VALUES (gen_random_uuid(), 7, 701, 'w', 'PENDING', 1, 'EUR', now(), now(), now())`
		tally = `UPDATE flash_sale_item SET sold = sold + 1 WHERE id = 701`
	)
	for name, before := range map[string][]string{"before it counts": {insert}, "after it has counted": {insert, tally}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			sl := s.create(t, saleOf(7, 10))
			s.write(t, s.many(sl, 0, 0, 3)...)
			s.miscount(t, 701, 7)
			tx, err := s.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			do := func(statements ...string) {
				t.Helper()
				for _, statement := range statements {
					if _, err := tx.Exec(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
			}
			do(before...)
			var group sync.WaitGroup
			group.Go(func() { s.recount(t, 1) })
			if len(before) == 2 {
				s.waiting(t, 1)
			} else {
				group.Wait() // it waits for nobody
				do(tally)
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			group.Wait()
			if n := s.count(t, `SELECT sold FROM flash_sale_item WHERE id = 701`); n != 4 {
				t.Errorf("sold: got %d, want 4", n)
			}
		})
	}
}

// Writers sell and expirers take back while the count is spoilt and set again.
func TestRecountsAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.create(t, saleOf(7, 5000, 5000))
	late := order.New(s.pool)
	late.Now = func() time.Time { return start.Add(time.Hour) }
	var group sync.WaitGroup
	for w := range 2 {
		group.Go(func() {
			for i := range 40 {
				first := w*100_000 + i*100
				s.retry(t, func() error {
					_, err := s.WriteBatch(t.Context(), append(s.many(sl, 0, first, 10), s.many(sl, 1, first+10, 10)...))
					return err
				})
			}
		})
	}
	group.Go(func() {
		for range 60 {
			if _, err := late.Expire(t.Context(), 13); err != nil {
				t.Errorf("expire: %v", err)
			}
		}
	})
	group.Go(func() {
		for range 60 {
			if _, err := s.pool.Exec(t.Context(), `UPDATE flash_sale_item SET sold = sold + 3 WHERE id = 701`); err != nil {
				t.Error(err)
			}
			s.recount(t, 1)
		}
	})
	group.Wait()
	s.consistent(t)
}
