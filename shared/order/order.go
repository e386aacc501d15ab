// Package order keeps sales and orders in PostgreSQL, which decides last.
//
// It promises that an item's sold count always equals its PENDING and PAID
// orders and never passes its quantity, that a shopper has at most one such
// order per sale, and that what must follow a change (a unit to give back, news
// for the shop) is committed with it or not at all. Every method may be retried:
// after an error its outcome is unknown, and running it again does no harm.
//
// Locks are always taken in one sequence, so that writers, expirers and
// operators do not deadlock: orders, then items by id, then the sale, then its pauses.
package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"flashsale/shared/sale"
)

// What a caller may have to tell apart. Everything else is a failure.
var (
	ErrUnknownSale  = errors.New("order: unknown sale")
	ErrUnknownOrder = errors.New("order: unknown order")
	ErrSaleExists   = errors.New("order: another sale has this id")
	ErrItemExists   = errors.New("order: another sale has this item id")
	ErrArchived     = errors.New("order: the sale is archived")
)

// A RefusedError says, for the operator, which fields may not change so.
type RefusedError string

func (e RefusedError) Error() string { return string(e) }

// A BusyError says, for the operator, what is in the way now. Later may be fine.
type BusyError string

func (e BusyError) Error() string { return string(e) }

// A Store is the database of sales and orders. It is safe for concurrent use.
type Store struct {
	// Now replaces the database's clock in tests. Set it before the first call.
	Now func() time.Time

	pool *pgxpool.Pool
}

// New makes a store. The pool may run in any of pgx' modes: no statement relies
// on being prepared.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// now is NULL in SQL unless a test set the clock. Statements take it as
// COALESCE($n::timestamptz, now()).
func (s *Store) now() *time.Time {
	if s.Now == nil {
		return nil
	}
	t := s.Now()
	return &t
}

// change runs do in a transaction of the isolation level that all statements
// here are written for, whatever the database's default is.
func (s *Store) change(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, do)
}

// wrap names the operation. Refusals already read well and stay as they are.
func wrap(operation string, err error) error {
	if err == nil || errors.Is(err, ErrUnknownSale) || errors.Is(err, ErrUnknownOrder) ||
		errors.Is(err, ErrSaleExists) || errors.Is(err, ErrItemExists) || errors.Is(err, ErrArchived) {
		return err
	}
	return fmt.Errorf("order: %s: %w", operation, err)
}

// uuid is a form of an order id that pgx encodes without knowing the column's type.
func uuid(id sale.OrderID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

func uuids(ids []sale.OrderID) []pgtype.UUID {
	out := make([]pgtype.UUID, len(ids))
	for i, id := range ids {
		out[i] = uuid(id)
	}
	return out
}

// columns are orders as the arrays that the writing statements unnest.
func columns(placed []sale.Placed) []any {
	n := len(placed)
	sales, items, users, reserved := make([]int64, n), make([]int64, n), make([]string, n), make([]time.Time, n)
	for i, p := range placed {
		sales[i], items[i], users[i], reserved[i] = int64(p.SaleID), int64(p.ItemID), p.UserID, p.ReservedAt
	}
	return []any{idsOf(placed), sales, items, users, reserved}
}

func idsOf(placed []sale.Placed) []pgtype.UUID {
	ids := make([]sale.OrderID, len(placed))
	for i, p := range placed {
		ids[i] = p.OrderID
	}
	return uuids(ids)
}
