package stock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// scanCount is how many holds one step of a scan asks for.
const scanCount = 1000

// Repair mends a shard from what the shard itself knows: each stock becomes its
// quota less the holds; keys of a wrong type, unreadable holds and fields that
// no script wrote are dropped. A dropped quota is not sold out: nothing is known
// of the item until the ledger is asserted. It tells how many things were wrong.
// [ErrNotLoaded] means that the marker is gone, or was dropped with a meta key
// of a wrong type.
func (s *Store) Repair(ctx context.Context, sh Shards, shard int) (mended int64, err error) {
	const done, notLoaded = 1, 2 // as in repair.lua
	args := []any{firstLook.Milliseconds()}
	err = s.scanHolds(ctx, sh, shard, func(userID, value string) {
		if _, ok := sh.readHold(shard, userID, value); !ok {
			args = append(args, userID, value)
		}
	})
	// Holds of a wrong type are none, and dropped.
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return 0, fmt.Errorf("stock: repair: %w", err)
	}
	r, err := run(ctx, s.rdb, repairScript, s.keyring.of(sh)[shard].all, args...)
	code, err := oneOf(r, err, done, notLoaded)
	if err == nil {
		mended, err = r.number(1)
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("stock: repair: %w", err)
	case code == notLoaded:
		return mended, ErrNotLoaded
	}
	return mended, nil
}

// Loaded tells whether a shard has its marker. A marker key of a wrong type is none.
func (s *Store) Loaded(ctx context.Context, sh Shards, shard int) (bool, error) {
	loaded, err := s.rdb.HExists(ctx, s.keyring.of(sh)[shard].meta, "loaded").Result()
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("stock: loaded: %w", err)
	}
	return loaded, nil
}

// Holds returns a shard's holds without stopping Redis for it: one that is made
// or released meanwhile may be among them or not. Unreadable ones are left out;
// [Store.Check] counts them. Unconfirmed is not told.
func (s *Store) Holds(ctx context.Context, sh Shards, shard int) ([]Hold, error) {
	seen := map[string]bool{} // a scan may return a field twice
	var holds []Hold
	err := s.scanHolds(ctx, sh, shard, func(userID, value string) {
		if h, ok := sh.readHold(shard, userID, value); ok && !seen[userID] {
			seen[userID] = true
			holds = append(holds, h)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("stock: holds: %w", err)
	}
	return holds, nil
}

func (s *Store) scanHolds(ctx context.Context, sh Shards, shard int, f func(userID, value string)) error {
	for cursor := uint64(0); ; {
		fields, next, err := s.rdb.HScan(ctx, s.keyring.of(sh)[shard].holds, cursor, "", scanCount).Result()
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(fields); i += 2 {
			f(fields[i], fields[i+1])
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// Drop deletes a sale's keys: its end. Nothing may need them any more.
func (s *Store) Drop(ctx context.Context, sh Shards) error {
	for _, keys := range s.keyring.of(sh) {
		// The marker goes first, so that no script works on what is left.
		for _, key := range []string{keys.meta, keys.holds, keys.stock, keys.unconfirmed, keys.released, keys.winners, keys.fill} {
			if err := s.rdb.Unlink(ctx, key).Err(); err != nil {
				return fmt.Errorf("stock: drop sale %d: %w", sh.Sale, err)
			}
		}
	}
	return nil
}
