package rival

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	errSoldOut = errors.New("sold out")
	errBought  = errors.New("bought before")
)

const insertOrder = `INSERT INTO flash_sale_order (id, item_id, user_id, status) VALUES ($1, $2, $3, 'PENDING')`

// update sells by one guarded UPDATE and the order's row, in one transaction.
type update struct{ pool *pgxpool.Pool }

func (u update) buy(ctx context.Context, shopper string) (int, error) {
	return statusOf(pgx.BeginFunc(ctx, u.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE flash_sale_item SET sold = sold + 1 WHERE id = $1 AND sold < quantity`, Item)
		switch {
		case err != nil:
			return err
		case tag.RowsAffected() == 0:
			return errSoldOut
		}
		return insert(ctx, tx, shopper)
	}))
}

// forUpdate locks the item's row, looks, and sells.
type forUpdate struct{ pool *pgxpool.Pool }

func (f forUpdate) buy(ctx context.Context, shopper string) (int, error) {
	return statusOf(pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		var sold, quantity int
		if err := tx.QueryRow(ctx, `SELECT sold, quantity FROM flash_sale_item WHERE id = $1 FOR UPDATE`, Item).Scan(&sold, &quantity); err != nil {
			return err
		}
		if sold >= quantity {
			return errSoldOut
		}
		if _, err := tx.Exec(ctx, `UPDATE flash_sale_item SET sold = sold + 1 WHERE id = $1`, Item); err != nil {
			return err
		}
		return insert(ctx, tx, shopper)
	}))
}

func insert(ctx context.Context, tx pgx.Tx, shopper string) error {
	_, err := tx.Exec(ctx, insertOrder, newID(), Item, shopper)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.ConstraintName == "uq_item_user" {
		return errBought
	}
	return err
}

func statusOf(err error) (int, error) {
	switch {
	case errors.Is(err, errSoldOut):
		return http.StatusGone, nil
	case errors.Is(err, errBought):
		return http.StatusConflict, nil
	case err != nil:
		return 0, err
	}
	return http.StatusAccepted, nil
}

// newID is a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
