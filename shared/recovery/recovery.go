// Package recovery makes Redis agree with PostgreSQL: the first load of a
// sale's stock, the settings that govern its shards, holds that no writer has
// confirmed, and whatever a failover, a hand or a crash has left different.
//
// It promises that a loaded sale is never loaded again, whoever asks and
// however often, that a hold left by a purchase that died ends in a row or is
// given back, and that Redis is mended from rows and its own conservation, never
// overwritten by a count from the database.
package recovery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// ErrLost means that Redis has lost a shard that was loaded before. Loading it
// again would sell its units twice, so the sale answers 503 until [Keeper.Rebuild].
var ErrLost = errors.New("redis has lost the stock of a loaded sale")

// A Log publishes an order's record again.
type Log interface {
	Publish(ctx context.Context, p sale.Placed) error
}

// A Keeper repairs. It is safe for concurrent use.
type Keeper struct {
	Orders *order.Store
	Stock  *stock.Store
	Log    Log // for Sweep alone
	// Backlog counts the records that the writer has not written yet.
	Backlog func(context.Context) (int64, error)
	// Mark notes where the order log ends now for these items' records; written tells whether the
	// writer has written all until there. For Rebuild alone.
	Mark func(ctx context.Context, items []sale.ItemID) (written func(context.Context) (bool, error), err error)
	// UnderWay is how long a purchase may take: what it reserved before Redis was lost is in the log
	// by then, or never. A rebuild and the archive wait for it.
	UnderWay time.Duration

	drains sync.Map // by sale, a *drain
}

// PurchaseBudget is UnderWay outside of tests: see functions/purchase.
const PurchaseBudget = 2 * time.Second

// Load puts a sale's stock into Redis, once. PostgreSQL remembers that it
// happened before the shards are told their window, and a shard without a
// window sells nothing: a load that dies half-way can simply be run again.
func (k *Keeper) Load(ctx context.Context, id sale.ID) (first bool, err error) {
	return k.LoadBy(ctx, id, "stockkeeper")
}

// LoadBy is [Keeper.Load] when somebody asks for it.
func (k *Keeper) LoadBy(ctx context.Context, id sale.ID, by string) (first bool, err error) {
	if err := k.Stock.CheckEviction(ctx); err != nil {
		return false, fmt.Errorf("recovery: load sale %d: %w", id, err)
	}
	listing, err := k.Orders.Listing(ctx, id)
	if err != nil {
		return false, fmt.Errorf("recovery: load: %w", err)
	}
	first, err = k.Orders.FirstLoad(ctx, id, by, func(ctx context.Context, ledger sale.Ledger) error {
		for shard, quota := range ledger.Shards {
			if _, err := k.Stock.SetQuota(ctx, stock.Of(&listing.Sale), shard, ledger.Version, quota, true); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("recovery: load sale %d: %w", id, err)
	}
	return first, k.Govern(ctx, id)
}

// steers bounds how often Govern tells the shards anew because somebody else did.
const steers = 10

// Govern tells every shard of a loaded sale its window and what stops it. When
// it returns without an error every shard has what the rows said, or newer rows.
func (k *Keeper) Govern(ctx context.Context, id sale.ID) error {
	_, err := k.govern(ctx, id)
	return err
}

// govern is [Keeper.Govern] and tells how many shards had what a hand had typed.
func (k *Keeper) govern(ctx context.Context, id sale.ID) (righted int, err error) {
	listing, err := k.Orders.Listing(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("recovery: govern: %w", err)
	}
	if !listing.Loaded || listing.Archived {
		return 0, nil
	}
	shards := stock.Of(&listing.Sale)
	for range steers {
		typed, stale, err := k.steer(ctx, shards)
		righted += typed
		if err == nil && stale {
			err = k.catchUp(ctx, shards)
		}
		if err != nil {
			return righted, fmt.Errorf("recovery: govern sale %d: %w", id, err)
		}
		if !stale {
			return righted, nil
		}
	}
	return righted, fmt.Errorf("recovery: govern sale %d: the shards have had newer settings %d times", id, steers)
}

// steer tells all shards it can; how many had typed settings, and whether one has newer ones.
func (k *Keeper) steer(ctx context.Context, shards stock.Shards) (typed int, stale bool, failed error) {
	settings, err := k.Orders.Settings(ctx, shards.Sale)
	if err != nil {
		return 0, false, err
	}
	for shard := range shards.N {
		outcome, err := k.Stock.Steer(ctx, shards, shard, settings)
		switch {
		case err == nil && outcome == stock.SteerNotLoaded:
			err = ErrLost
		case err == nil && outcome == stock.SteerStale:
			stale = true
		case err == nil && outcome == stock.SteerPutRight:
			typed++
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("shard %d: %w", shard, err))
		}
	}
	return typed, stale, failed
}

// catchUp raises the rows' version above the shards', unless they are newer: then
// another pass has told the shards what it read since.
func (k *Keeper) catchUp(ctx context.Context, shards stock.Shards) error {
	levels, err := k.Stock.Levels(ctx, shards)
	if err != nil {
		return lostIfNotLoaded(err)
	}
	settings, err := k.Orders.Settings(ctx, shards.Sale)
	if err != nil {
		return err
	}
	seen := int64(0)
	for _, level := range levels {
		if level.Settings <= settings.Version+farAhead {
			seen = max(seen, level.Settings)
		}
	}
	return k.Orders.RaiseSettings(ctx, shards.Sale, seen)
}
