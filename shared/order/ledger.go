package order

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

// Ledger reads how the sale's units are divided over its shards.
func (s *Store) Ledger(ctx context.Context, id sale.ID) (sale.Ledger, error) {
	l, err := ledger(ctx, s.pool, id)
	return l, wrap("ledger", err)
}

// FirstLoad calls load with the sale's ledger unless a load has succeeded
// before, and notes the time if load does: from then on an empty Redis means a
// loss. It tells whether it loaded. Of two at once the second waits for the
// first. An archived sale is [ErrArchived].
func (s *Store) FirstLoad(ctx context.Context, id sale.ID, by string, load func(context.Context, sale.Ledger) error) (first bool, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		first = false
		var loaded, archived bool
		err := tx.QueryRow(ctx, `
			SELECT loaded_at IS NOT NULL, archived_at IS NOT NULL
			FROM flash_sale WHERE id = $1::bigint FOR NO KEY UPDATE`, int64(id)).Scan(&loaded, &archived)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return ErrUnknownSale
		case err != nil:
			return err
		case archived:
			return ErrArchived
		case loaded:
			return nil
		}
		l, err := ledger(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := load(ctx, l); err != nil {
			return err
		}
		first = true
		_, err = tx.Exec(ctx, `UPDATE flash_sale SET loaded_at = COALESCE($2::timestamptz, now()) WHERE id = $1::bigint`,
			int64(id), s.now())
		if err != nil {
			return err
		}
		return s.audit(ctx, tx, id, by, "load", "")
	})
	return first && err == nil, wrap("first load", err)
}

// RaiseLedger gives the ledger a version above what any shard can have: seen is
// the highest that was seen. It goes up by two, because a mover that died may
// have told a shard the next one.
func (s *Store) RaiseLedger(ctx context.Context, id sale.ID, seen int64) (sale.Ledger, error) {
	var l sale.Ledger
	err := s.change(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE flash_sale SET ledger_version = GREATEST(ledger_version, $2::bigint) + 2
			WHERE id = $1::bigint`, int64(id), seen)
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrUnknownSale
		}
		if err == nil {
			l, err = ledger(ctx, tx, id)
		}
		return err
	})
	return l, wrap("raise ledger", err)
}

// A Home is where an item's units are: its sale and the sale's number of shards.
type Home struct {
	Sale   sale.ID
	Shards int
}

// Homes finds the items' homes. An item that no sale offers is left out, and so
// is one of an archived sale: nothing is written for it any more.
func (s *Store) Homes(ctx context.Context, items []sale.ItemID) (map[sale.ItemID]Home, error) {
	ids := make([]int64, len(items))
	for i, item := range items {
		ids[i] = int64(item)
	}
	// A batch names few items, each many times.
	slices.Sort(ids)
	ids = slices.Compact(ids)
	rows, err := s.pool.Query(ctx, `
		SELECT i.id, s.id, s.shards FROM flash_sale_item i JOIN flash_sale s ON s.id = i.sale_id
		WHERE i.id = ANY($1::bigint[]) AND s.archived_at IS NULL`, ids)
	if err != nil {
		return nil, wrap("find homes", err)
	}
	homes := make(map[sale.ItemID]Home)
	var item sale.ItemID
	var home Home
	_, err = pgx.ForEachRow(rows, []any{&item, &home.Sale, &home.Shards}, func() error {
		homes[item] = home
		return nil
	})
	return homes, wrap("find homes", err)
}

func ledger(ctx context.Context, q querier, id sale.ID) (sale.Ledger, error) {
	rows, err := q.Query(ctx, `
		SELECT s.ledger_version, s.shards, q.shard, q.item_id, q.quota
		FROM flash_sale s JOIN flash_sale_quota q ON q.sale_id = s.id
		WHERE s.id = $1::bigint`, int64(id))
	if err != nil {
		return sale.Ledger{}, err
	}
	var l sale.Ledger
	var shards, shard, quota int
	var item sale.ItemID
	_, err = pgx.ForEachRow(rows, []any{&l.Version, &shards, &shard, &item, &quota}, func() error {
		for len(l.Shards) < shards {
			l.Shards = append(l.Shards, make(map[sale.ItemID]int))
		}
		l.Shards[shard][item] = quota
		return nil
	})
	if err == nil && l.Version == 0 {
		err = ErrUnknownSale
	}
	return l, err
}
