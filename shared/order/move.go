package order

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

// MoveQuota moves units of an item from one shard's quota to another's and
// raises the ledger's version by one, if it still is read. It tells whether it
// did: false means that the ledger has changed since, or the sale is archived.
func (s *Store) MoveQuota(ctx context.Context, id sale.ID, item sale.ItemID, from, to, units int, read int64) (moved bool, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		moved = false
		tag, err := tx.Exec(ctx, `
			UPDATE flash_sale SET ledger_version = ledger_version + 1
			WHERE id = $1::bigint AND ledger_version = $2::bigint AND archived_at IS NULL`, int64(id), read)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		tag, err = tx.Exec(ctx, `
			UPDATE flash_sale_quota
			SET quota = quota + CASE shard WHEN $3::integer THEN -$5::integer ELSE $5::integer END
			WHERE sale_id = $1::bigint AND item_id = $2::bigint AND shard IN ($3::integer, $4::integer)`,
			int64(id), int64(item), from, to, units)
		if err == nil && tag.RowsAffected() != 2 {
			err = fmt.Errorf("item %d has no two shards %d and %d", item, from, to)
		}
		moved = err == nil
		return err
	})
	return moved && err == nil, wrap("move quota", err)
}
