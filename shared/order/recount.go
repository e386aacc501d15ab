package order

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

// miscounted finds the sale's items whose sold count differs from their active
// orders; if there are more orders than units, from the quantity. $2, unless
// NULL, are the only items to look at. Writers and expirers commit an order and
// its count together, so no snapshot shows one that they are just changing.
const miscounted = `
	SELECT i.id, i.sold, a.sold FROM flash_sale_item i
	LEFT JOIN (SELECT item_id, count(*) AS n FROM flash_sale_order
	           WHERE sale_id = $1::bigint AND status IN ('PENDING', 'PAID') GROUP BY item_id) active ON active.item_id = i.id
	CROSS JOIN LATERAL (SELECT LEAST(COALESCE(active.n, 0), i.quantity) AS sold) a
	WHERE i.sale_id = $1::bigint AND i.sold <> a.sold AND ($2::bigint[] IS NULL OR i.id = ANY($2::bigint[]))
	ORDER BY i.id`

// A miscount is an item whose sold count is not what it should be.
type miscount struct {
	Item     int64
	Sold     int
	ShouldBe int
}

// RecountSold sets the sold counts of a sale's items right that somebody's hand
// has spoilt, and tells how many. It locks nothing if nothing is wrong.
//
// It may run beside writers and expirers. They change orders, then count them in
// the item's row, then commit both; a commit is visible before its locks are
// free. So once the rows here are locked, each change of their orders is of one
// of two kinds. Either it is counted in the row already: then it was committed
// before the lock was had, and the statement that counts the orders, which begins
// after that, sees it. Or it is not: then it cannot commit before this
// transaction ends, the count of orders does not see it, and its sold + n is
// worked out from the row that this transaction leaves. Items by id are all that
// is locked; orders are only read, so the sequence of locks is kept.
func (s *Store) RecountSold(ctx context.Context, id sale.ID, by string) (fixed int, err error) {
	wrong, err := findMiscounts(ctx, s.pool, id, nil)
	if err != nil || len(wrong) == 0 {
		return 0, wrap("recount", err)
	}
	items := make([]int64, len(wrong))
	for i, m := range wrong {
		items[i] = m.Item
	}
	err = s.change(ctx, func(tx pgx.Tx) error {
		fixed = 0
		_, err := tx.Exec(ctx, `
			SELECT FROM flash_sale_item WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`, items)
		if err != nil {
			return err
		}
		wrong, err := findMiscounts(ctx, tx, id, items)
		if err != nil || len(wrong) == 0 {
			return err
		}
		var sets pgx.Batch
		told := make([]string, len(wrong))
		for i, m := range wrong {
			sets.Queue(`UPDATE flash_sale_item SET sold = $2::integer WHERE id = $1::bigint`, m.Item, m.ShouldBe)
			told[i] = fmt.Sprintf("item %d: %d to %d", m.Item, m.Sold, m.ShouldBe)
		}
		if err := tx.SendBatch(ctx, &sets).Close(); err != nil {
			return err
		}
		fixed = len(wrong)
		return s.audit(ctx, tx, id, by, "recount", strings.Join(told, "; "))
	})
	if err != nil {
		return 0, wrap("recount", err)
	}
	return fixed, nil
}

func findMiscounts(ctx context.Context, q querier, id sale.ID, items []int64) ([]miscount, error) {
	rows, err := q.Query(ctx, miscounted, int64(id), items)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[miscount])
}
