package order

import (
	"context"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

// A Report is what the rows say of a sale at one moment.
type Report struct {
	Items             []ItemReport // by id
	RefundsDueUnknown int          // money for orders that have no row, of this sale or of none
	ReleasesWaiting   int
	Ledger            int64 // its version, which changes when units move between shards
}

// An ItemReport counts one item. Sold equals the PENDING and PAID orders.
type ItemReport struct {
	ItemID     sale.ItemID
	Quantity   int
	Sold       int
	Orders     map[State]int // all five states
	RefundsDue int
}

// RefundsDue counts the payments of all sales that are due back.
func (s *Store) RefundsDue(ctx context.Context) (n int, err error) {
	err = s.pool.QueryRow(ctx, `SELECT count(*) FROM payment WHERE refund_due`).Scan(&n)
	return n, wrap("refunds due", err)
}

// Report counts a sale in one statement, so in one snapshot.
func (s *Store) Report(ctx context.Context, id sale.ID) (Report, error) {
	rows, err := s.pool.Query(ctx, `
		WITH orders AS (
			SELECT item_id,
			       count(*) FILTER (WHERE status = 'PENDING') AS pending,
			       count(*) FILTER (WHERE status = 'PAID') AS paid,
			       count(*) FILTER (WHERE status = 'EXPIRED') AS expired,
			       count(*) FILTER (WHERE status = 'CANCELLED') AS cancelled,
			       count(*) FILTER (WHERE status = 'REJECTED') AS rejected
			FROM flash_sale_order WHERE sale_id = $1::bigint GROUP BY item_id
		), refunds AS (
			SELECT o.item_id, count(*) AS due
			FROM payment p LEFT JOIN flash_sale_order o ON o.id = p.order_id
			WHERE p.refund_due AND (p.sale_id = $1::bigint
			      -- Money for a sale that does not exist belongs to no report, so it stands in every one.
			      OR (o.id IS NULL AND NOT EXISTS (SELECT FROM flash_sale s WHERE s.id = p.sale_id)))
			GROUP BY o.item_id
		)
		SELECT i.id, i.quantity, i.sold,
		       COALESCE(pending, 0), COALESCE(paid, 0), COALESCE(expired, 0), COALESCE(cancelled, 0), COALESCE(rejected, 0),
		       COALESCE(r.due, 0),
		       COALESCE((SELECT due FROM refunds WHERE item_id IS NULL), 0),
		       (SELECT count(*) FROM stock_release WHERE sale_id = $1::bigint),
		       (SELECT ledger_version FROM flash_sale WHERE id = $1::bigint)
		FROM flash_sale_item i
		LEFT JOIN orders o ON o.item_id = i.id
		LEFT JOIN refunds r ON r.item_id = i.id
		WHERE i.sale_id = $1::bigint
		ORDER BY i.id`, int64(id))
	if err != nil {
		return Report{}, wrap("report", err)
	}
	var report Report
	report.Items, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (ItemReport, error) {
		var it ItemReport
		var pending, paid, expired, cancelled, rejected int
		err := row.Scan(&it.ItemID, &it.Quantity, &it.Sold, &pending, &paid, &expired, &cancelled, &rejected,
			&it.RefundsDue, &report.RefundsDueUnknown, &report.ReleasesWaiting, &report.Ledger)
		it.Orders = map[State]int{
			Pending: pending, Paid: paid, Expired: expired, Cancelled: cancelled, Rejected: rejected,
		}
		return it, err
	})
	if err == nil && len(report.Items) == 0 {
		err = ErrUnknownSale
	}
	if err != nil {
		return Report{}, wrap("report", err)
	}
	return report, nil
}
