package order_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/order"
	"flashsale/shared/sale"
)

// A shop is a store on a fresh database, with a clock that tests move.
type shop struct {
	*order.Store
	pool *pgxpool.Pool
	mint *sale.Mint
}

// start is when the tests' sales open. It is far from the database's own time, so
// that a statement which forgot the clock is found out.
var start = time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)

func open(t testing.TB) *shop { return openMode(t, pgx.QueryExecModeCacheStatement) }

func openMode(t testing.TB, mode pgx.QueryExecMode) *shop {
	t.Helper()
	url := servers.Database(t, migrations.Hash(), func(ctx context.Context, url string) error {
		_, err := migrations.Up(ctx, url)
		return err
	})
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatalf("parse url: %v", err)
	}
	cfg.MaxConns = 6
	cfg.ConnConfig.DefaultQueryExecMode = mode
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(pool.Close)
	mint, err := sale.NewMint([]byte(rand.Text()), time.Now)
	if err != nil {
		t.Fatalf("mint: %v", err)
	}
	s := &shop{order.New(pool), pool, mint}
	s.Now = func() time.Time { return start }
	return s
}

// eachMode runs a test with prepared statements and in the modes without.
func eachMode(t *testing.T, test func(*testing.T, *shop)) {
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			test(t, openMode(t, mode))
		})
	}
}

// saleOf describes a sale with these quantities; the items are numbered from 101.
func saleOf(id sale.ID, quantities ...int) sale.Sale {
	s := sale.Sale{
		ID: id, Name: fmt.Sprintf("sale %d", id), OpensAt: start, ClosesAt: start.Add(time.Hour),
		PaymentWindow: 10 * time.Minute, Grace: time.Minute, Shards: 1,
	}
	for i, q := range quantities {
		s.Items = append(s.Items, sale.Item{
			ID: sale.ItemID(int(id)*100 + 1 + i), ProductID: 55, Name: fmt.Sprintf("item %d", i),
			Quantity: q, PriceMinor: 1999, Currency: "EUR",
		})
	}
	return s
}

func (s *shop) create(t testing.TB, sl sale.Sale) sale.Sale {
	t.Helper()
	created, err := s.CreateSale(t.Context(), sl, fmt.Appendf(nil, `{"id":%d}`, sl.ID), "tester")
	if err != nil || !created {
		t.Fatalf("create sale: got %v, %v, want true", created, err)
	}
	return sl
}

// place makes the record of a won purchase.
func (s *shop) place(sl sale.Sale, item int, user string) sale.Placed {
	return sale.Placed{
		OrderID: s.mint.New(sl.ID, user), SaleID: sl.ID, ItemID: sl.Items[item].ID, UserID: user, ReservedAt: start,
	}
}

// many places an order of the item for each of n shoppers, numbered from first.
func (s *shop) many(sl sale.Sale, item, first, n int) []sale.Placed {
	placed := make([]sale.Placed, n)
	for i := range placed {
		placed[i] = s.place(sl, item, fmt.Sprintf("u%d", first+i))
	}
	return placed
}

func (s *shop) write(t testing.TB, placed ...sale.Placed) []order.Written {
	t.Helper()
	written, err := s.WriteBatch(t.Context(), placed)
	if err != nil {
		t.Fatalf("write batch: %v", err)
	}
	if len(written) != len(placed) {
		t.Fatalf("answers: got %d, want %d", len(written), len(placed))
	}
	return written
}

func (s *shop) count(t testing.TB, query string, args ...any) int {
	t.Helper()
	var n int
	if err := s.pool.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// consistent checks the promise: sold = PENDING + PAID for every item, one active
// order per shopper and sale, an event for each order's beginning and its end.
func (s *shop) consistent(t testing.TB) {
	t.Helper()
	if n := s.count(t, `
		SELECT count(*) FROM flash_sale_item i WHERE sold <> (
			SELECT count(*) FROM flash_sale_order o WHERE o.item_id = i.id AND status IN ('PENDING', 'PAID'))`); n != 0 {
		t.Errorf("items whose sold count differs from their active orders: got %d, want 0", n)
	}
	if n := s.count(t, `
		SELECT count(*) FROM (SELECT FROM flash_sale_order WHERE status IN ('PENDING', 'PAID')
		GROUP BY sale_id, user_id HAVING count(*) > 1) twice`); n != 0 {
		t.Errorf("shoppers with two active orders in a sale: got %d, want 0", n)
	}
	if n := s.count(t, `
		SELECT count(*) FROM flash_sale_order o WHERE (
			SELECT string_agg(kind, ' ' ORDER BY id) FROM (
				SELECT 0 AS id, 'placed' AS kind FROM order_placed p WHERE o.id = ANY(p.order_ids)
				UNION ALL SELECT id, kind FROM order_event e WHERE e.order_id = o.id AND kind <> 'refund_due') story
		) IS DISTINCT FROM CASE status
			WHEN 'REJECTED' THEN 'rejected' WHEN 'PENDING' THEN 'placed' ELSE 'placed ' || lower(status) END`); n != 0 {
		t.Errorf("orders whose events do not tell their story: got %d, want 0", n)
	}
}

func tally(written []order.Written) map[order.Result]int {
	counts := make(map[order.Result]int)
	for _, w := range written {
		counts[w.Result]++
	}
	return counts
}
