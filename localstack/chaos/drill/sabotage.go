package drill

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Sabotage lists drills whose fault is no fault but a lie of the system, made by hand. The verdict
// must notice each: else it would notice nothing.
func Sabotage() []Drill {
	return []Drill{
		lie("lost", `DELETE FROM flash_sale_order`, func(ctx context.Context, s *stage, userID, itemID string) error {
			// The hold goes too: a hold without a row would be published again, and the order written.
			if err := s.rdb.HDel(ctx, s.key("holds"), userID).Err(); err != nil {
				return err
			}
			if err := s.rdb.ZRem(ctx, s.key("unconfirmed"), userID).Err(); err != nil {
				return err
			}
			return s.rdb.HIncrBy(ctx, s.key("stock"), itemID, 1).Err()
		}),
		lie("false 202s", `UPDATE flash_sale_order SET status = 'REJECTED', reason = 'sabotage', settled_at = now(), expires_at = NULL`, nil),
	}
}

// lie changes five rows of shoppers who do not pay behind the system's back, and then what follow does for each. The name is
// the promise that then is broken.
func lie(broken, change string, follow func(ctx context.Context, s *stage, userID, itemID string) error) Drill {
	return Drill{Name: broken, Fault: change, strike: func(ctx context.Context, s *stage) error {
		return s.asOperator(ctx, func(conn *pgx.Conn) error {
			type row struct{ UserID, ItemID string }
			var changed []row
			for len(changed) == 0 {
				rows, err := conn.Query(ctx, `WITH chosen AS (SELECT id FROM flash_sale_order WHERE status = 'PENDING'
					AND created_at < now() - interval '100 milliseconds' AND user_id !~ '[27]$' ORDER BY id LIMIT 5) `+
					change+` WHERE id IN (SELECT id FROM chosen) RETURNING user_id, item_id::text`)
				if err == nil {
					changed, err = pgx.CollectRows(rows, pgx.RowToStructByPos[row])
				}
				if err != nil {
					return fmt.Errorf("sabotage: %w", err)
				}
				time.Sleep(10 * time.Millisecond)
			}
			for _, r := range changed {
				if follow == nil {
					continue
				}
				if err := follow(ctx, s, r.UserID, r.ItemID); err != nil {
					return fmt.Errorf("sabotage: %w", err)
				}
			}
			_, err := conn.Exec(ctx, `UPDATE flash_sale_item SET sold = sold - $1`, len(changed))
			return err
		})
	}}
}
