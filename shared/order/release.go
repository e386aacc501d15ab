package order

import (
	"context"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

// A Release is a unit that an ended order gives back in Redis.
type Release struct {
	ID      int64
	OrderID sale.OrderID
	UserID  string
	SaleID  sale.ID
	Shards  int // of the sale: with the shopper it tells the shard
}

// Releases returns waiting releases with an id over after, oldest first, at most
// limit. Two callers may get the same ones: giving back twice does no harm.
func (s *Store) Releases(ctx context.Context, after int64, limit int) ([]Release, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT r.id, r.order_id, r.user_id, r.sale_id, s.shards
		FROM stock_release r JOIN flash_sale s ON s.id = r.sale_id
		WHERE r.id > $1::bigint ORDER BY r.id LIMIT $2::bigint`, after, int64(limit))
	if err != nil {
		return nil, wrap("releases", err)
	}
	waiting, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Release])
	return waiting, wrap("releases", err)
}

// ReleasesDone removes releases whose units are back.
func (s *Store) ReleasesDone(ctx context.Context, ids []int64) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM stock_release WHERE id = ANY($1::bigint[])`, ids)
	return wrap("releases done", err)
}
