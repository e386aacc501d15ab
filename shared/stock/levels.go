package stock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/sale"
)

// Levels reports all shards without their holds, outbox and tombstones: one
// round trip, whatever was sold. The shards are read one after the other, so a
// unit that moves meanwhile may be in none of them, or in two. It is
// [ErrNotLoaded] where any shard's marker is missing. Damage is reported.
func (s *Store) Levels(ctx context.Context, sh Shards) ([]ShardReport, error) {
	keys := s.keyring.of(sh)
	pipe := s.rdb.Pipeline()
	metas := make([]*redis.MapStringStringCmd, len(keys))
	stocks := make([]*redis.MapStringStringCmd, len(keys))
	for k, shard := range keys {
		metas[k] = pipe.HGetAll(ctx, shard.meta)
		stocks[k] = pipe.HGetAll(ctx, shard.stock)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("stock: levels: %w", err)
	}
	levels := make([]ShardReport, len(keys))
	for k := range keys {
		meta := metas[k].Val()
		if meta["loaded"] == "" {
			return nil, ErrNotLoaded
		}
		levels[k] = ShardReport{Loaded: true, Items: make(map[sale.ItemID]ItemReport)}
		for field, value := range meta {
			levels[k].addMeta(field, value)
		}
		for item, units := range stocks[k].Val() {
			levels[k].addStock(item, units)
		}
	}
	return levels, nil
}

// Left tells the units left of each of the sale's items over all shards. A
// shard below zero counts as 0: it has nothing to sell. Units that no shard's
// quota counts are on their way between two of them, or to them, and are left
// as well: what looks sold out in that moment is not. It is [ErrNotLoaded]
// where any shard's marker is missing, and another error where one is damaged.
func (s *Store) Left(ctx context.Context, sl *sale.Sale) (map[sale.ItemID]int64, error) {
	levels, err := s.Levels(ctx, Of(sl))
	if err != nil {
		return nil, err
	}
	return leftIn(levels, sl)
}

func leftIn(levels []ShardReport, sl *sale.Sale) (map[sale.ItemID]int64, error) {
	if slices.ContainsFunc(levels, func(r ShardReport) bool { return r.Damaged > 0 }) {
		return nil, errors.New("stock: left: a shard is damaged")
	}
	left := make(map[sale.ItemID]int64, len(sl.Items))
	for _, it := range sl.Items {
		here, onTheWay := int64(0), int64(it.Quantity)
		for _, level := range levels {
			here += max(level.Items[it.ID].Stock, 0)
			onTheWay -= level.Items[it.ID].Quota
		}
		left[it.ID] = here + max(onTheWay, 0)
	}
	return left, nil
}

// refusal is what reserve.lua would say of an item in every shard, where that is
// sold out or closed; else 0.
func refusal(levels []ShardReport, item sale.ItemID, left int64, clock time.Time) Outcome {
	closed := 0
	for _, level := range levels {
		switch {
		case level.OpensAt.IsZero() || len(level.Paused) > 0 || slices.Contains(level.Doubts, item):
			return 0
		case !clock.Before(level.ClosesAt):
			closed++
		case clock.Before(level.OpensAt):
			return 0
		}
	}
	switch {
	case closed == len(levels):
		return Closed
	case closed == 0 && left == 0:
		return SoldOut
	}
	return 0
}

// DropWish forgets that shards wish for units of an item: there are none. A
// shopper who comes later wishes again.
func (s *Store) DropWish(ctx context.Context, sh Shards, item sale.ItemID) error {
	pipe := s.rdb.Pipeline()
	for _, shard := range s.keyring.of(sh) {
		pipe.HDel(ctx, shard.meta, "wants:"+itemText(item))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("stock: drop wish: %w", err)
	}
	return nil
}
