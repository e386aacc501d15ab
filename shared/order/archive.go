package order

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

// Remains is what Redis and Kafka still have of a sale that has ended.
type Remains struct {
	Selling     bool           // by Redis' clock the sale is not over
	UnderWay    bool           // a purchase that began before it was over may not have ended
	Held        []sale.OrderID // orders with a hold
	Unreadable  int64          // holds that nobody can read
	Unconfirmed int64          // holds in the outbox
	Unread      int64          // records that the writer has not written, of any sale
}

// Archive ends a sale for good: it is not loaded, governed, rebuilt or listed
// any more, and its keys may go. It tells whether this call did it. The sale
// must be over, or never loaded, and nothing may be under way; otherwise it is
// a [BusyError] that names all that is in the way.
func (s *Store) Archive(ctx context.Context, id sale.ID, by string, left Remains) (first bool, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		first = false
		if err := lockSale(ctx, tx, id); err != nil {
			return err
		}
		var archived, open, rebuilding bool
		var pending, releases, unpaid int64
		err := tx.QueryRow(ctx, `
			SELECT archived_at IS NOT NULL,
			       loaded_at IS NOT NULL AND closes_at > COALESCE($2::timestamptz, clock_timestamp()),
			       EXISTS (SELECT FROM flash_sale_pause WHERE sale_id = s.id AND reason = 'rebuild'),
			       (SELECT count(*) FROM flash_sale_order WHERE sale_id = s.id AND status = 'PENDING'),
			       (SELECT count(*) FROM stock_release WHERE sale_id = s.id),
			       (SELECT count(*) FROM unnest($3::uuid[]) AS held (id)
			        WHERE NOT EXISTS (SELECT FROM flash_sale_order o WHERE o.id = held.id AND o.status = 'PAID'))
			FROM flash_sale s WHERE id = $1::bigint`, int64(id), s.now(), uuids(left.Held)).
			Scan(&archived, &open, &rebuilding, &pending, &releases, &unpaid)
		if err != nil || archived {
			return err
		}
		var inTheWay []string
		switch {
		case open || left.Selling:
			inTheWay = append(inTheWay, "the sale is not over")
		case left.UnderWay:
			inTheWay = append(inTheWay, "it was over only now, and purchases may be under way")
		}
		if rebuilding {
			inTheWay = append(inTheWay, "a rebuild is under way")
		}
		for _, n := range []struct {
			count int64
			what  string
		}{
			{pending, "PENDING orders"},
			{releases, "units on their way back"},
			{unpaid + left.Unreadable, "holds without a PAID order"},
			{left.Unconfirmed, "holds that no writer has confirmed"},
			{left.Unread, "unread records"},
		} {
			if n.count > 0 {
				inTheWay = append(inTheWay, fmt.Sprintf("%s: %d", n.what, n.count))
			}
		}
		if len(inTheWay) > 0 {
			return BusyError(strings.Join(inTheWay, "; "))
		}
		first = true
		_, err = tx.Exec(ctx, `
			UPDATE flash_sale SET archived_at = COALESCE($2::timestamptz, now()) WHERE id = $1::bigint`, int64(id), s.now())
		if err != nil {
			return err
		}
		return s.audit(ctx, tx, id, by, "archive", "")
	})
	return first && err == nil, wrap("archive", err)
}
