package stock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"flashsale/shared/sale"
)

// An Outcome is Redis' decision on a purchase.
type Outcome int

// The outcomes of [Store.Reserve]; the numbers are those of reserve.lua.
const (
	Reserved   Outcome = iota + 1
	Already            // the shopper has a hold in this sale
	SoldOut            // in the shopper's own shard, which then wishes for the other shards' units
	NotOpen            // too early, by Redis' clock
	Closed             // too late, by Redis' clock
	Paused             // the sale is paused or the item in doubt
	NotLoaded          // nothing is known of the stock; never sold out
	Barred             // only what [Attempt.Barred] asked for
	Tombstoned         // the order was given up before
)

const unknownItem Outcome = 10

// ErrUnknownItem says that the shard has no quota of the item: catalog and
// stock do not fit. Unlike after any other error, nothing was reserved for sure.
var ErrUnknownItem = errors.New("stock: unknown item")

func (o Outcome) String() string {
	names := [...]string{
		"", "reserved", "already", "sold out", "not open", "closed",
		"paused", "not loaded", "barred", "tombstoned",
	}
	if o < 1 || int(o) >= len(names) {
		return "outcome " + strconv.Itoa(int(o))
	}
	return names[o]
}

// An Attempt is one shopper's wish for one unit.
type Attempt struct {
	OrderID        sale.OrderID
	UserID         string
	ItemID         sale.ItemID
	IdempotencyKey string // or empty
	Barred         bool   // the caller refuses a new hold (pass, limit); own hold and window are answered as always
}

// An Answer is the decision and what belongs to it.
type Answer struct {
	Outcome    Outcome
	OrderID    sale.OrderID // Reserved, Already: the order that has the hold
	ReservedAt time.Time    // Reserved, Already: by Redis' clock
	Claimed    bool         // Already: a writer has claimed the hold
	SameKey    bool         // Already: same Idempotency-Key and item, so the call is a repetition
	OpensAt    time.Time    // NotOpen
	Now        time.Time    // NotOpen: Redis' clock, which will open the sale
	Left       int64        // Reserved: units left in the shard
}

// Reserve tries to hold a unit in the shopper's home shard. The same orderId
// again is reserved again, so a call may be repeated. After an error the
// outcome is unknown: the unit may be held, except for [ErrUnknownItem].
func (s *Store) Reserve(ctx context.Context, sh Shards, a Attempt) (Answer, error) {
	keys := s.keyring.of(sh)[sh.Home(a.UserID)]
	args := []any{
		a.OrderID.String(), a.UserID, itemText(a.ItemID), keyHash(a.IdempotencyKey), flag(a.Barred), firstLook.Milliseconds(), flag(sh.N > 1),
	}
	var r reply
	var err error
	if s.piped {
		r, err = keys.reserve.run(ctx, s.rdb, keys.all, args...)
	} else {
		r, err = run(ctx, s.rdb, reserveScript, keys.all, args...)
	}
	if err == nil {
		var answer Answer
		if answer, err = a.answer(r); err == nil {
			return answer, nil
		}
	}
	return Answer{}, fmt.Errorf("stock: reserve: %w", err)
}

func (a Attempt) answer(r reply) (Answer, error) {
	code, err := r.number(0)
	if err != nil {
		return Answer{}, err
	}
	switch o := Outcome(code); o {
	case Reserved:
		at, err := r.time(1)
		if err != nil {
			return Answer{}, err
		}
		left, err := r.number(2)
		return Answer{Outcome: o, OrderID: a.OrderID, ReservedAt: at, Left: left}, err
	case Already:
		text, err := r.text(1)
		if err != nil {
			return Answer{}, err
		}
		own, idem, err := parseHold(a.UserID, text)
		return Answer{
			Outcome: o, OrderID: own.OrderID, ReservedAt: own.ReservedAt, Claimed: own.Claimed,
			SameKey: idem != absent && idem == keyHash(a.IdempotencyKey) && own.ItemID == a.ItemID,
		}, err
	case NotOpen:
		at, err := r.time(1)
		if err != nil {
			return Answer{}, err
		}
		now, err := r.time(2)
		return Answer{Outcome: o, OpensAt: at, Now: now}, err
	case SoldOut, Closed, Paused, NotLoaded, Barred, Tombstoned:
		return Answer{Outcome: o}, nil
	case unknownItem:
		return Answer{}, ErrUnknownItem
	default:
		return Answer{}, fmt.Errorf("unknown outcome %d", code)
	}
}

// keyHash is what a hold keeps of an Idempotency-Key: short, and free of spaces.
func keyHash(key string) string {
	if key == "" {
		return absent
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

func itemText(id sale.ItemID) string { return strconv.FormatInt(int64(id), 10) }
