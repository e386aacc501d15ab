package stock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/sale"
)

// fillLease is how long an environment may take to fill a filter.
const fillLease = 2 * time.Second

// errFilling says that another environment is filling a filter.
var errFilling = errors.New("stock: winners: being filled")

// winners returns a shard's filter as it is now, or last if nothing was added
// since that was read. It is [errFilling] while another environment fills it.
//
// Nobody with a hold is missing. A hold that was made after the filter set its
// bits itself, in the script that made it. One that is older was there when the
// holds were read, which began after the filter was made. A hold that is lost
// and put back sets its bits like a new one.
func (s *Store) winners(ctx context.Context, sl *sale.Sale, shard int, last *filter) (*filter, error) {
	key := s.keyring.of(Of(sl))[shard].winners
	text, err := s.rdb.GetRange(ctx, key, 0, filterHeader-1).Bytes()
	if err == nil && complete(text, wornFilter(sl)) {
		if last != nil && string(last.header[:]) == string(text) {
			return last, nil
		}
		text, err = s.rdb.Get(ctx, key).Bytes()
	}
	// One that is too short was cut off, or made before the sale got more units.
	if err == nil && !whole(text, sl) {
		if err := s.fill(ctx, sl, shard); err != nil {
			return nil, err
		}
		text, err = s.rdb.Get(ctx, key).Bytes()
	}
	if errors.Is(err, redis.Nil) || err == nil && !whole(text, sl) {
		return nil, errFilling // dropped or made anew meanwhile
	}
	if err != nil {
		return nil, fmt.Errorf("stock: winners: %w", err)
	}
	return parseFilter(text), nil
}

// fill completes the filter, if nobody else does.
func (s *Store) fill(ctx context.Context, sl *sale.Sale, shard int) error {
	const granted, beingFilled, isComplete, notLoaded = 1, 2, 3, 4 // as in winners.lua
	const filled, notYours = 1, 2                                  // as in fill.lua
	var random [8]byte
	_, _ = rand.Read(random[:]) // documented never to fail
	token := hex.EncodeToString(random[:])[:15]
	size, keys := filterSize(sl), s.keyring.of(Of(sl))[shard]

	r, err := run(ctx, s.rdb, winnersScript, keys.filter, token, size, wornFilter(sl), fillLease.Milliseconds())
	code, err := oneOf(r, err, granted, notLoaded)
	if err != nil {
		return fmt.Errorf("stock: winners: %w", err)
	}
	switch code {
	case beingFilled:
		return errFilling
	case isComplete:
		return nil
	case notLoaded:
		return ErrNotLoaded
	}
	f := newFilter(size)
	err = s.scanHolds(ctx, Of(sl), shard, func(userID, _ string) {
		p := probeOf([]byte(userID))
		f.add(&p)
	})
	if err != nil {
		return fmt.Errorf("stock: fill winners: %w", err)
	}
	r, err = run(ctx, s.rdb, fillScript, keys.filling, token, f.body())
	code, err = oneOf(r, err, filled, notYours)
	if err != nil {
		return fmt.Errorf("stock: fill winners: %w", err)
	}
	if code == notYours {
		return errFilling
	}
	return nil
}

// DropWinners deletes a shard's filter if it is complete and yet misses one of these
// holds, which were read before: no script makes such a one, but a hand may. Then it
// is true, and the filter is made anew when it is needed.
func (s *Store) DropWinners(ctx context.Context, sh Shards, shard int, holds []Hold) (bool, error) {
	key := s.keyring.of(sh)[shard].winners
	text, err := s.rdb.Get(ctx, key).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return false, nil
	case redis.HasErrorPrefix(err, "WRONGTYPE"): // nobody is refused by it, and it is replaced
		return false, nil
	case err != nil:
		return false, fmt.Errorf("stock: winners: %w", err)
	}
	if len(text) <= filterHeader || text[0] != 'C' || !misses(parseFilter(text), holds) {
		return false, nil
	}
	if err := s.rdb.Del(ctx, key).Err(); err != nil {
		return false, fmt.Errorf("stock: drop winners: %w", err)
	}
	return true, nil
}

func misses(f *filter, holds []Hold) bool {
	return slices.ContainsFunc(holds, func(h Hold) bool {
		p := probeOf([]byte(h.UserID))
		return !f.mayHave(&p)
	})
}
