package order

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

// publishLock is the advisory lock that puts catalogs into one sequence.
const publishLock = 7_205_759_404

// CreateSale writes a sale, its items and their quotas. The definition is the
// sale as given, in JSON; the same one again changes nothing and answers false.
// Another one under the same id is [ErrSaleExists]; an item id that any other
// sale uses is [ErrItemExists], and nothing is written.
func (s *Store) CreateSale(ctx context.Context, sl sale.Sale, definition []byte, by string) (created bool, err error) {
	var text bytes.Buffer
	if err := json.Compact(&text, definition); err != nil {
		return false, wrap("create sale: definition", err)
	}
	err = s.change(ctx, func(tx pgx.Tx) error {
		created = false
		// Of two at once the second waits here for the first one's end.
		tag, err := tx.Exec(ctx, `
			INSERT INTO flash_sale (id, name, opens_at, closes_at, payment_window, grace, shards, spread, definition, created_at)
			VALUES ($1::bigint, $2::text, $3::timestamptz, $4::timestamptz, $5::interval, $6::interval, $7::integer,
			        $8::interval, $9::text, COALESCE($10::timestamptz, now()))
			ON CONFLICT (id) DO NOTHING`,
			int64(sl.ID), sl.Name, sl.OpensAt, sl.ClosesAt, sl.PaymentWindow, sl.Grace, sl.Shards, sl.Spread, text.String(), s.now())
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			var known string
			err := tx.QueryRow(ctx, `SELECT definition FROM flash_sale WHERE id = $1::bigint`, int64(sl.ID)).Scan(&known)
			if err == nil && known != text.String() {
				err = ErrSaleExists
			}
			return err
		}
		created = true
		if err := insertItems(ctx, tx, sl); err != nil {
			return err
		}
		if err := insertQuotas(ctx, tx, sl.ID, evenQuotas(sl)); err != nil {
			return err
		}
		return s.audit(ctx, tx, sl.ID, by, "create", "")
	})
	return created && err == nil, wrap("create sale", err)
}

// insertItems writes a sale's items, none of which may be anybody's.
func insertItems(ctx context.Context, tx pgx.Tx, sl sale.Sale) error {
	var ids, products, prices, quantities []int64
	var names, currencies []string
	for _, it := range sl.Items {
		ids, products, names = append(ids, int64(it.ID)), append(products, it.ProductID), append(names, it.Name)
		prices, currencies = append(prices, it.PriceMinor), append(currencies, it.Currency)
		quantities = append(quantities, int64(it.Quantity))
	}
	// Sorted, so that two sales with the same items cannot wait for each other.
	rows, err := tx.Query(ctx, `
		INSERT INTO flash_sale_item (id, sale_id, product_id, name, price_minor, currency, quantity)
		SELECT i.id, $1::bigint, i.product_id, i.name, i.price_minor, i.currency, i.quantity
		FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bigint[])
		     AS i (id, product_id, name, price_minor, currency, quantity)
		ORDER BY i.id
		ON CONFLICT (id) DO NOTHING
		RETURNING id`,
		int64(sl.ID), ids, products, names, prices, currencies, quantities)
	if err != nil {
		return err
	}
	written, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.Contains(written, id) {
			return fmt.Errorf("%w: %d", ErrItemExists, id)
		}
	}
	return nil
}

// evenQuotas divides each item's units evenly over the shards.
func evenQuotas(sl sale.Sale) []map[sale.ItemID]int {
	quotas := make([]map[sale.ItemID]int, sl.Shards)
	for shard := range quotas {
		quotas[shard] = make(map[sale.ItemID]int, len(sl.Items))
	}
	for _, it := range sl.Items {
		for shard, quota := range sale.SplitQuota(it.Quantity, sl.Shards) {
			quotas[shard][it.ID] = quota
		}
	}
	return quotas
}

func insertQuotas(ctx context.Context, tx pgx.Tx, id sale.ID, quotas []map[sale.ItemID]int) error {
	var items, shards, units []int64
	for shard, quota := range quotas {
		for item, n := range quota {
			items, shards, units = append(items, int64(item)), append(shards, int64(shard)), append(units, int64(n))
		}
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO flash_sale_quota (sale_id, item_id, shard, quota)
		SELECT $1::bigint, q.item_id, q.shard, q.quota
		FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS q (item_id, shard, quota)`,
		int64(id), items, shards, units)
	return err
}

// Listing returns a sale with its standing, archived or not; items by id.
func (s *Store) Listing(ctx context.Context, id sale.ID) (sale.Listing, error) {
	found, err := listings(ctx, s.pool, `s.id = $1::bigint`, int64(id))
	if err == nil && len(found) == 0 {
		err = ErrUnknownSale
	}
	if err != nil {
		return sale.Listing{}, wrap("listing", err)
	}
	return found[0], nil
}

// Listings returns all sales that are not archived, by id; items by id.
func (s *Store) Listings(ctx context.Context) ([]sale.Listing, error) {
	found, err := listings(ctx, s.pool, `s.archived_at IS NULL`)
	return found, wrap("listings", err)
}

// PublishCatalog hands the catalog of now to put. Snapshot and put happen under
// one lock, so that an older catalog never overwrites a newer one.
func (s *Store) PublishCatalog(ctx context.Context, put func(context.Context, *sale.Catalog) error) error {
	err := s.change(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::bigint)`, int64(publishLock)); err != nil {
			return err
		}
		found, err := listings(ctx, tx, `s.archived_at IS NULL`)
		if err != nil {
			return err
		}
		return put(ctx, sale.NewCatalog(found))
	})
	return wrap("publish catalog", err)
}

// A querier is the pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// listings reads the sales that match the condition in one statement, so in one snapshot.
func listings(ctx context.Context, q querier, condition string, args ...any) ([]sale.Listing, error) {
	rows, err := q.Query(ctx, `
		SELECT s.id, s.name, s.opens_at, s.closes_at, s.payment_window, s.grace, s.shards, s.spread,
		       s.loaded_at IS NOT NULL, s.archived_at IS NOT NULL,
		       EXISTS (SELECT FROM flash_sale_pause p WHERE p.sale_id = s.id AND p.reason <> 'doubt'),
		       i.id, i.product_id, i.name, i.quantity, i.price_minor, i.currency
		FROM flash_sale s JOIN flash_sale_item i ON i.sale_id = s.id
		WHERE `+condition+`
		ORDER BY s.id, i.id`, args...)
	if err != nil {
		return nil, err
	}
	var found []sale.Listing
	var l sale.Listing
	var it sale.Item
	_, err = pgx.ForEachRow(rows, []any{
		&l.ID, &l.Name, &l.OpensAt, &l.ClosesAt, &l.PaymentWindow, &l.Grace, &l.Shards, &l.Spread,
		&l.Loaded, &l.Archived, &l.Paused,
		&it.ID, &it.ProductID, &it.Name, &it.Quantity, &it.PriceMinor, &it.Currency,
	}, func() error {
		if len(found) == 0 || found[len(found)-1].ID != l.ID {
			l.OpensAt, l.ClosesAt = l.OpensAt.UTC(), l.ClosesAt.UTC()
			found = append(found, l)
		}
		last := &found[len(found)-1]
		last.Items = append(last.Items, it)
		return nil
	})
	return found, err
}
