package order

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"flashsale/shared/sale"
)

// countEach is the slow way of a batch that does not fit: one guard per order,
// the first to arrive first. Orders that find their item full become REJECTED,
// and the item comes into doubt, since Redis had promised a unit that is not there.
func (b *batch) countEach(ctx context.Context, tx pgx.Tx, s *Store, told []pgtype.UUID) error {
	fresh := b.with(ResultNew)
	// Items by id, as ever; the sort is stable, so arrival decides within one.
	slices.SortStableFunc(fresh, func(p, q sale.Placed) int { return cmp.Compare(p.ItemID, q.ItemID) })

	var guards pgx.Batch
	var refused []sale.OrderID
	var sales, items []int64
	for _, p := range fresh {
		guards.Queue(guarded, int64(p.ItemID), int64(1)).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() == 1 {
				return nil
			}
			refused = append(refused, p.OrderID)
			b.written[p.OrderID] = rejectedNow(ReasonGuard)
			if item := int64(p.ItemID); !slices.Contains(items, item) {
				sales, items = append(sales, int64(p.SaleID)), append(items, item)
			}
			return nil
		})
	}
	if err := tx.SendBatch(ctx, &guards).Close(); err != nil {
		return err
	}
	if len(refused) == 0 { // an expirer made room in between
		_, err := tx.Exec(ctx, tell, told)
		return err
	}
	_, err := tx.Exec(ctx, `
		UPDATE flash_sale_order SET status = 'REJECTED', reason = $2::text, expires_at = NULL, settled_at = created_at
		WHERE id = ANY($1::uuid[])`, uuids(refused), ReasonGuard)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, tell, told); err != nil {
		return err
	}
	_, err = s.doubt(ctx, tx, sales, items)
	return err
}
