package drill

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Sabotage lists drills whose fault is no fault but a lie of the system, made by hand. The verdict
// must notice each: else it would notice nothing.
func Sabotage() []Drill {
	return []Drill{
		lie("lost", `UPDATE flash_sale_order SET id = gen_random_uuid() WHERE id IN (SELECT id FROM chosen)`),
		lie("false 202s", `UPDATE flash_sale_order SET status = 'REJECTED', reason = 'sabotage', settled_at = now(), expires_at = NULL WHERE id IN (SELECT id FROM chosen)`),
	}
}

// lie changes five rows behind the system's back. The name is the promise that then is broken.
func lie(broken, change string) Drill {
	return Drill{Name: broken, Fault: change, strike: func(ctx context.Context, s *stage) error {
		return s.asOperator(ctx, func(conn *pgx.Conn) error {
			var changed int64
			for changed == 0 {
				tag, err := conn.Exec(ctx, `WITH chosen AS (SELECT id FROM flash_sale_order WHERE status = 'PENDING' ORDER BY id LIMIT 5) `+change)
				if err != nil {
					return fmt.Errorf("sabotage: %w", err)
				}
				changed = tag.RowsAffected()
			}
			if broken != "lost" {
				_, err := conn.Exec(ctx, `UPDATE flash_sale_item SET sold = sold - $1`, changed)
				return err
			}
			return nil
		})
	}}
}
