package measure

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"flashsale/localstack/bench/table"
	"flashsale/localstack/dev/shop"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// batchSize is that of the deployed mapping.
const batchSize = 500

// writer sends events through the order writer, one after the other, and writes as many
// orders in two plainer ways into the same table: by bare INSERTs of as many rows, and
// by a transaction for each order, as the article's consumer does.
func (b *bench) writer(ctx context.Context) ([]table.Row, error) {
	s, err := b.openShop(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var ours, bare, single []float64
	for range rounds(b.Rounds) {
		for _, way := range []struct {
			rates *[]float64
			n     int
			write func(context.Context, *shop.Shop, lot, []sale.Placed) (time.Duration, error)
		}{{&ours, b.Orders, byHandler}, {&bare, b.Orders, byInsert}, {&single, b.OneByOne, byOne}} {
			l, err := sell(ctx, s, way.n, time.Now().Add(-time.Hour))
			if err != nil {
				return nil, err
			}
			placed, err := l.place(way.n)
			if err != nil {
				return nil, err
			}
			took, err := way.write(ctx, s, l, placed)
			if err != nil {
				return nil, err
			}
			if n, err := l.count(ctx, s); err != nil || n != way.n {
				return nil, fmt.Errorf("rows: got %d, %w, want %d", n, err, way.n)
			}
			*way.rates = append(*way.rates, float64(way.n)/took.Seconds())
			if err := l.retire(ctx, s); err != nil {
				return nil, err
			}
		}
	}
	rate := table.Median(ours...)
	return []table.Row{
		table.Beside("writer", rate, "orders a second", "bare batched INSERT", table.Median(bare...), table.Goal{AtLeast: 0.6}),
		table.Beside("writer", rate, "orders a second", "one order per transaction", table.Median(single...), table.Goal{AtLeast: 15}),
	}, nil
}

// place makes orders of the lot.
func (l lot) place(n int) ([]sale.Placed, error) {
	mint, err := sale.NewMint([]byte(secret), time.Now)
	if err != nil {
		return nil, err
	}
	placed := make([]sale.Placed, n)
	for i := range placed {
		user := "winner-" + strconv.Itoa(i)
		placed[i] = sale.Placed{
			OrderID: mint.New(sale.ID(l.sale), user), SaleID: sale.ID(l.sale), ItemID: sale.ItemID(l.item), UserID: user,
			ReservedAt: time.Now().Truncate(time.Millisecond),
		}
	}
	return placed, nil
}

func byHandler(ctx context.Context, s *shop.Shop, l lot, placed []sale.Placed) (time.Duration, error) {
	sh := stock.Shards{Sale: sale.ID(l.sale), N: 1}
	if _, err := s.Stock.Adopt(ctx, sh, placed); err != nil { // the holds that the purchases have left
		return 0, err
	}
	var events [][]byte
	for from := 0; from < len(placed); from += batchSize {
		var records []orderlog.Record
		for i, p := range placed[from:min(from+batchSize, len(placed))] {
			records = append(records, orderlog.Record{
				Topic: own.Name + "-orders", Offset: int64(from + i), Timestamp: p.ReservedAt,
				Key: []byte(strconv.FormatInt(l.item, 10)), Value: orderlog.Encode(p),
			})
		}
		events = append(events, orderlog.EncodeBatch(records))
	}
	writer := s.Functions()["orderwriter"]
	began := time.Now()
	for _, event := range events {
		answer, err := writer(ctx, event)
		if err != nil || string(answer) != `{"batchItemFailures":[]}` {
			return 0, fmt.Errorf("order writer: got %s, %w", answer, err)
		}
	}
	return time.Since(began), nil
}

// byInsert is the least that makes the rows: no hold, no guard, no event for the shop.
func byInsert(ctx context.Context, s *shop.Shop, _ lot, placed []sale.Placed) (time.Duration, error) {
	began := time.Now()
	for from := 0; from < len(placed); from += batchSize {
		some := placed[from:min(from+batchSize, len(placed))]
		ids, sales, items := make([]sale.OrderID, len(some)), make([]int64, len(some)), make([]int64, len(some))
		users, reserved := make([]string, len(some)), make([]time.Time, len(some))
		for i, p := range some {
			ids[i], sales[i], items[i], users[i], reserved[i] = p.OrderID, int64(p.SaleID), int64(p.ItemID), p.UserID, p.ReservedAt
		}
		if _, err := s.Pool.Exec(ctx, `
			INSERT INTO flash_sale_order (id, sale_id, item_id, user_id, status, price_minor, currency, reserved_at, created_at, expires_at)
			SELECT id, sale_id, item_id, user_id, 'PENDING', 1999, 'EUR', reserved_at, now(), now() + interval '10 minutes'
			FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::timestamptz[]) AS p (id, sale_id, item_id, user_id, reserved_at)`,
			ids, sales, items, users, reserved); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// byOne is the article's consumer: an order's row and the guard in each transaction.
func byOne(ctx context.Context, s *shop.Shop, _ lot, placed []sale.Placed) (time.Duration, error) {
	began := time.Now()
	for _, p := range placed {
		if err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
			var inserted, counted pgconn.CommandTag
			inserted, err := tx.Exec(ctx, `
				INSERT INTO flash_sale_order (id, sale_id, item_id, user_id, status, price_minor, currency, reserved_at, created_at, expires_at)
				VALUES ($1, $2, $3, $4, 'PENDING', 1999, 'EUR', $5, now(), now() + interval '10 minutes') ON CONFLICT DO NOTHING`,
				p.OrderID, int64(p.SaleID), int64(p.ItemID), p.UserID, p.ReservedAt)
			if err != nil || inserted.RowsAffected() == 0 {
				return err
			}
			counted, err = tx.Exec(ctx, `UPDATE flash_sale_item SET sold = sold + 1 WHERE id = $1 AND sold < quantity`, int64(p.ItemID))
			if err == nil && counted.RowsAffected() == 0 {
				err = fmt.Errorf("item %d is full", p.ItemID)
			}
			return err
		}); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}
