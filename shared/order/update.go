package order

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

// openingMargin is how long before its opening a loaded sale counts as open:
// Redis must hear of the change before it sells, and its clock may be ahead of what it said.
const openingMargin = 2 * time.Second

// UpdateSale gives a sale another description and tells what it changed, field
// by field; nothing if it has this description already. As long as nothing can
// have been sold, all may change; then only a later end and larger quantities,
// and anything else is a [RefusedError]. A time in the words of the former
// definition stays the time it was, whatever the words would mean now.
//
// Redis' clock decides what has opened, so the caller hands over what it says, if the sale is loaded:
// the database's may be behind.
//
// What changed holds in the rows at once. The shards of a loaded sale must then
// hear of it: settings and ledger have new versions.
func (s *Store) UpdateSale(ctx context.Context, next sale.Sale, definition []byte, by string, opener time.Time) (changed []string, err error) {
	var text bytes.Buffer
	if err := json.Compact(&text, definition); err != nil {
		return nil, wrap("update sale: definition", err)
	}
	err = s.change(ctx, func(tx pgx.Tx) (err error) {
		changed, err = s.update(ctx, tx, next, text.String(), by, opener)
		return err
	})
	if err != nil {
		return nil, wrap("update sale", err)
	}
	return changed, nil
}

func (s *Store) update(ctx context.Context, tx pgx.Tx, next sale.Sale, definition, by string, opener time.Time) ([]string, error) {
	if err := lockSale(ctx, tx, next.ID); err != nil {
		return nil, err
	}
	found, err := listings(ctx, tx, `s.id = $1::bigint`, int64(next.ID))
	if err != nil || len(found) == 0 {
		return nil, err // lockSale has found it
	}
	old := found[0]
	var known string
	var closed, rebuilding, sold bool
	var now time.Time
	err = tx.QueryRow(ctx, `
		SELECT definition, closed_at IS NOT NULL, EXISTS (SELECT FROM flash_sale_pause WHERE sale_id = s.id AND reason = 'rebuild'),
		       EXISTS (SELECT FROM flash_sale_order WHERE sale_id = s.id), COALESCE($2::timestamptz, clock_timestamp())
		FROM flash_sale s WHERE id = $1::bigint`, int64(next.ID), s.now()).Scan(&known, &closed, &rebuilding, &sold, &now)
	switch {
	case err != nil:
		return nil, err
	case old.Archived:
		return nil, ErrArchived
	case rebuilding:
		return nil, BusyError("a rebuild is under way")
	case known == definition:
		return nil, nil
	}
	next.OpensAt, next.ClosesAt = keepTimes(old.Sale, next, known, definition)
	changes := compare(old.Sale, next)
	// A sale that was never loaded has sold nothing, whatever its window.
	soon := old.OpensAt.Add(-openingMargin)
	begun := old.Loaded && (sold || !now.Before(soon) || !opener.Before(soon))
	refused := refusals(changes, old.Loaded, begun)
	// The words of two definitions can together make a window that neither had.
	if !next.AdmitsAll() && !(closed && next.ClosesAt.Equal(old.ClosesAt)) {
		refused = append(refused, "closesAt must lie after opensAt + spread")
	}
	if len(refused) > 0 {
		return nil, RefusedError(strings.Join(refused, "; "))
	}
	if err := s.describe(ctx, tx, old.Sale, next, definition); err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		changes = []change{{what: "the text only"}}
	}
	told := make([]string, len(changes))
	for i, c := range changes {
		told[i] = c.what
	}
	return told, s.audit(ctx, tx, next.ID, by, "update", strings.Join(told, "; "))
}

// lockSale makes the caller the only one who changes the sale's description or
// ends it. The lock goes first because the items, which come before the sale in
// the sequence of locks, may be others once it is had.
func lockSale(ctx context.Context, tx pgx.Tx, id sale.ID) error {
	var locks pgx.Batch
	locks.Queue(`SELECT pg_advisory_xact_lock($1::bigint)`, -int64(id)) // the other locks' numbers are positive
	locks.Queue(`SELECT FROM flash_sale_item WHERE sale_id = $1::bigint ORDER BY id FOR NO KEY UPDATE`, int64(id))
	if err := tx.SendBatch(ctx, &locks).Close(); err != nil {
		return err
	}
	tag, err := tx.Exec(ctx, `SELECT FROM flash_sale WHERE id = $1::bigint FOR NO KEY UPDATE`, int64(id))
	if err == nil && tag.RowsAffected() == 0 {
		err = ErrUnknownSale
	}
	return err
}

// keepTimes returns next's window, where a time given as before stays as it is.
func keepTimes(old, next sale.Sale, known, definition string) (opensAt, closesAt time.Time) {
	var before, after struct{ OpensAt, ClosesAt string }
	// Neither can fail: one was read as a sale file, the other comes from here.
	_, _ = json.Unmarshal([]byte(known), &before), json.Unmarshal([]byte(definition), &after)
	opensAt, closesAt = next.OpensAt, next.ClosesAt
	if before.OpensAt == after.OpensAt {
		opensAt = old.OpensAt
	}
	if before.ClosesAt == after.ClosesAt {
		closesAt = old.ClosesAt
	}
	return opensAt, closesAt
}

// A change is one field that an update gives another value.
type change struct {
	field string
	what  string // field, old value and new one
	grows bool   // allowed once the sale has opened
}

// compare lists what differs, the sale's fields first, then the items'.
func compare(old, next sale.Sale) []change {
	var changes []change
	differ := func(field string, was, is any, grows bool) {
		if was != is {
			changes = append(changes, change{field, fmt.Sprintf("%s: %v to %v", field, was, is), grows})
		}
	}
	moment := func(t time.Time) string { return t.Format(time.RFC3339Nano) }
	differ("name", old.Name, next.Name, false)
	differ("opensAt", moment(old.OpensAt), moment(next.OpensAt), false)
	differ("closesAt", moment(old.ClosesAt), moment(next.ClosesAt), next.ClosesAt.After(old.ClosesAt))
	differ("paymentWindow", old.PaymentWindow, next.PaymentWindow, false)
	differ("grace", old.Grace, next.Grace, false)
	differ("shards", old.Shards, next.Shards, false)
	differ("spread", old.Spread, next.Spread, false)
	for _, was := range old.Items {
		name := fmt.Sprintf("item %d", was.ID)
		is, ok := next.Item(was.ID)
		if !ok {
			changes = append(changes, change{field: name, what: name + ": removed"})
			continue
		}
		differ(name+" productId", was.ProductID, is.ProductID, false)
		differ(name+" name", was.Name, is.Name, false)
		differ(name+" quantity", was.Quantity, is.Quantity, is.Quantity > was.Quantity)
		differ(name+" price", price(was), price(is), false)
	}
	for _, is := range next.Items {
		if _, ok := old.Item(is.ID); !ok {
			name := fmt.Sprintf("item %d", is.ID)
			changes = append(changes, change{field: name, what: fmt.Sprintf("%s: added, %d units", name, is.Quantity)})
		}
	}
	return changes
}

func price(it sale.Item) string {
	return sale.FormatPrice(it.PriceMinor, it.Currency) + " " + it.Currency
}

// refusals names every field that may not change so.
func refusals(changes []change, loaded, begun bool) []string {
	var refused []string
	for _, c := range changes {
		switch {
		case begun && !c.grows && c.field == "closesAt":
			refused = append(refused, "closesAt may only become later once the sale has opened")
		case begun && !c.grows && strings.HasSuffix(c.field, "quantity"):
			refused = append(refused, c.field+" may only become larger once the sale has opened")
		case begun && !c.grows:
			refused = append(refused, c.field+" may not change once the sale has opened")
		case loaded && c.field == "shards":
			refused = append(refused, "shards may not change once the sale is loaded")
		}
	}
	return refused
}

// describe writes the new description. New items come before old ones go, so
// that two sales that exchange items do not wait for each other.
func (s *Store) describe(ctx context.Context, tx pgx.Tx, old, next sale.Sale, definition string) error {
	quotas, err := nextQuotas(ctx, tx, old, next)
	if err != nil {
		return err
	}
	kept, added := next, next
	isNew := func(it sale.Item) bool { _, ok := old.Item(it.ID); return !ok }
	kept.Items = slices.DeleteFunc(slices.Clone(next.Items), isNew)
	added.Items = slices.DeleteFunc(slices.Clone(next.Items), func(it sale.Item) bool { return !isNew(it) })
	if err := insertItems(ctx, tx, added); err != nil {
		return err
	}
	var writes pgx.Batch
	for _, it := range kept.Items {
		writes.Queue(`UPDATE flash_sale_item
			SET product_id = $2::bigint, name = $3::text, price_minor = $4::bigint, currency = $5::text, quantity = $6::bigint
			WHERE id = $1::bigint`, int64(it.ID), it.ProductID, it.Name, it.PriceMinor, it.Currency, int64(it.Quantity))
	}
	writes.Queue(`DELETE FROM flash_sale_quota WHERE sale_id = $1::bigint`, int64(next.ID))
	for _, it := range old.Items {
		if _, ok := next.Item(it.ID); !ok {
			writes.Queue(`DELETE FROM flash_sale_pause WHERE sale_id = $1::bigint AND item_id = $2::bigint`, int64(next.ID), int64(it.ID))
			writes.Queue(`DELETE FROM flash_sale_item WHERE id = $1::bigint`, int64(it.ID))
		}
	}
	// A later end opens a sale again that an operator has closed.
	writes.Queue(`UPDATE flash_sale
		SET closed_at = CASE WHEN closes_at = $4::timestamptz THEN closed_at END,
		    name = $2::text, opens_at = $3::timestamptz, closes_at = $4::timestamptz, payment_window = $5::interval,
		    grace = $6::interval, shards = $7::integer, spread = $8::interval, definition = $9::text,
		    settings_version = settings_version + 1, ledger_version = ledger_version + 1
		WHERE id = $1::bigint`,
		int64(next.ID), next.Name, next.OpensAt, next.ClosesAt, next.PaymentWindow, next.Grace, next.Shards, next.Spread, definition)
	if err := tx.SendBatch(ctx, &writes).Close(); err != nil {
		return err
	}
	return insertQuotas(ctx, tx, next.ID, quotas)
}

// nextQuotas divides the new quantities. Units that were moved between shards
// stay moved: each shard's quota changes by what an even division changes.
func nextQuotas(ctx context.Context, tx pgx.Tx, old, next sale.Sale) ([]map[sale.ItemID]int, error) {
	now, err := ledger(ctx, tx, next.ID)
	if err != nil {
		return nil, err
	}
	quotas := evenQuotas(next)
	if old.Shards != next.Shards {
		return quotas, nil
	}
	for shard, before := range evenQuotas(old) {
		for item, quota := range before {
			if _, ok := quotas[shard][item]; ok {
				quotas[shard][item] += now.Shards[shard][item] - quota
			}
		}
	}
	return quotas, nil
}
