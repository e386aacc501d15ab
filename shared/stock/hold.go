package stock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/sale"
)

// A Hold is a unit that is set aside for a shopper's order.
type Hold struct {
	OrderID     sale.OrderID
	ItemID      sale.ItemID
	UserID      string
	Claimed     bool      // by a writer
	ReservedAt  time.Time // by Redis' clock
	PayBy       time.Time // zero until confirmed
	Unconfirmed bool      // in the outbox: its row may not be written yet
}

// Hold returns the shopper's hold in a sale, and whether there is one.
func (s *Store) Hold(ctx context.Context, sh Shards, userID string) (Hold, bool, error) {
	keys := s.keyring.of(sh)[sh.Home(userID)]
	var value *redis.StringCmd
	var look *redis.FloatCmd
	// In one transaction: both must tell of the same hold.
	_, err := s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		value = p.HGet(ctx, keys.holds, userID)
		look = p.ZScore(ctx, keys.unconfirmed, userID)
		return nil
	})
	if errors.Is(value.Err(), redis.Nil) {
		return Hold{}, false, nil
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return Hold{}, false, fmt.Errorf("stock: hold: %w", err)
	}
	h, _, err := parseHold(userID, value.Val())
	if err != nil {
		return Hold{}, false, fmt.Errorf("stock: hold: %w", err)
	}
	h.Unconfirmed = look.Err() == nil
	return h, true, nil
}

// Due hands out at most limit holds of one shard that no writer has confirmed
// and whose look has come, oldest look first, and sets their next look. It is
// [ErrNotLoaded] where the marker is missing.
func (s *Store) Due(ctx context.Context, sh Shards, shard, limit int) ([]Hold, error) {
	r, err := run(ctx, s.rdb, dueScript, s.keyring.of(sh)[shard].outbox,
		limit, firstLook.Milliseconds(), longestWait.Milliseconds())
	if err != nil {
		return nil, fmt.Errorf("stock: due: %w", err)
	}
	holds, err := dueHolds(r)
	if err != nil && !errors.Is(err, ErrNotLoaded) {
		err = fmt.Errorf("stock: due: %w", err)
	}
	return holds, err
}

func dueHolds(r reply) ([]Hold, error) {
	const due, notLoaded = 1, 2 // as in due.lua
	code, err := r.number(0)
	if err != nil {
		return nil, err
	}
	switch code {
	case due:
	case notLoaded:
		return nil, ErrNotLoaded
	default:
		return nil, fmt.Errorf("unknown outcome %d", code)
	}
	// One hold that cannot be read must not keep the others from being looked after.
	var faults []error
	holds := make([]Hold, 0, len(r)/2)
	for i := 1; i < len(r); i += 2 {
		userID, err := r.text(i)
		if err != nil {
			return nil, err
		}
		value, err := r.text(i + 1)
		if err != nil {
			return nil, err
		}
		h, _, err := parseHold(userID, value)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		h.Unconfirmed = true
		holds = append(holds, h)
	}
	return holds, errors.Join(faults...)
}

// Unconfirm puts holds back into the outbox whose orders have no row, so that
// [Store.Due] hands them out, at once. It passes over those that have changed
// since they were read, and tells how many it put back.
func (s *Store) Unconfirm(ctx context.Context, sh Shards, holds []Hold) (back int, err error) {
	const putBack, leftAlone = 1, 2 // as in unconfirm.lua
	keys := s.keyring.of(sh)
	b := newBatch(unconfirmScript)
	for i, h := range holds {
		payBy := absent
		if !h.PayBy.IsZero() {
			payBy = strconv.FormatInt(h.PayBy.UnixMilli(), 10)
		}
		home := sh.Home(h.UserID)
		b.add(home, keys[home].outbox, i, h.OrderID.String(), h.UserID, payBy)
	}
	err = b.run(ctx, s.rdb, func(_ int, code int64) error {
		switch code {
		case putBack:
			back++
		case leftAlone:
		default:
			return fmt.Errorf("unknown outcome %d", code)
		}
		return nil
	})
	if err != nil {
		return back, fmt.Errorf("stock: unconfirm: %w", err)
	}
	return back, nil
}

// absent stands for a part of a hold that is not known.
const absent = "-"

// parseHold reads a value of the hash holds, as reserve.lua, claim.lua and
// confirm.lua write it: orderId itemId R|C reservedAt payBy idem, one space
// between. It accepts one spelling of each.
func parseHold(userID, value string) (h Hold, idem string, err error) {
	bad := func(part string) (Hold, string, error) {
		return Hold{}, "", fmt.Errorf("hold of %q: bad %s in %q", userID, part, value)
	}
	parts := strings.Split(value, " ")
	if len(parts) != 6 {
		return bad("number of parts")
	}
	h.UserID = userID
	if h.OrderID, err = sale.ParseOrderID(parts[0]); err != nil {
		return bad("order id")
	}
	var ok bool
	if h.ItemID, ok = sale.ParseItemID(parts[1]); !ok {
		return bad("item id")
	}
	h.Claimed = parts[2] == "C"
	if !h.Claimed && parts[2] != "R" {
		return bad("state")
	}
	if h.ReservedAt, err = parseMillis(parts[3]); err != nil {
		return bad("reservedAt")
	}
	if parts[4] != absent {
		if h.PayBy, err = parseMillis(parts[4]); err != nil {
			return bad("payBy")
		}
	}
	if idem = parts[5]; idem != absent && !isHash(idem) {
		return bad("idempotency hash")
	}
	return h, idem, nil
}

// readHold reads a hold of a shard, and tells whether a script can have made it
// there: any other one could never be settled.
func (sh Shards) readHold(shard int, userID, value string) (Hold, bool) {
	h, _, err := parseHold(userID, value)
	return h, err == nil && sale.ValidUserID(userID) && h.OrderID.SaleID() == sh.Sale && sh.Home(userID) == shard
}

func isHash(text string) bool {
	return len(text) == 32 && strings.Trim(text, "0123456789abcdef") == ""
}

func parseMillis(text string) (time.Time, error) {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 || strconv.FormatInt(ms, 10) != text {
		return time.Time{}, fmt.Errorf("bad time %q", text)
	}
	return time.UnixMilli(ms).UTC(), nil
}

// millis is how scripts are told a time. None lies before 1970, whatever a record says.
func millis(t time.Time) int64 { return max(t.UnixMilli(), 0) }
