package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// ErrDraining means that a rebuild waits until the writer has written what
// Kafka still has.
var ErrDraining = errors.New("recovery: the rebuild waits for the order log to be drained")

// Lost tells whether a loaded sale must be rebuilt: a shard has lost its marker,
// or an earlier rebuild is not through.
func (k *Keeper) Lost(ctx context.Context, s *sale.Sale) (bool, error) {
	settings, err := k.Orders.Settings(ctx, s.ID)
	if err != nil {
		return false, fmt.Errorf("recovery: %w", err)
	}
	if slices.Contains(settings.Paused, sale.PausedByRebuild) {
		return true, nil
	}
	missing, err := k.missing(ctx, stock.Of(s))
	return len(missing) > 0, err
}

// missing are the shards that Redis has lost.
func (k *Keeper) missing(ctx context.Context, shards stock.Shards) ([]int, error) {
	var missing []int
	for shard := range shards.N {
		loaded, err := k.Stock.Loaded(ctx, shards, shard)
		if err != nil {
			return nil, err
		}
		if !loaded {
			missing = append(missing, shard)
		}
	}
	return missing, nil
}

// Rebuild restores a sale that Redis has lost, from the rows. The sale is paused,
// the writer drains the order log (its claims go unguarded, the database decides
// alone), and from then on the rows are all there is: quotas from the ledger and
// a hold for each living row. Purchases that were under way when Redis was lost
// may still publish, so their time passes first: else their units would be sold
// once more before the writer's claim puts their holds back.
//
// Each step may be repeated, so a rebuild that dies goes on with the next pass:
// the pause is a row, and stays until the end.
func (k *Keeper) Rebuild(ctx context.Context, s *sale.Sale) (Reconciled, error) {
	sum, err := k.rebuild(ctx, s)
	if err != nil {
		return sum, fmt.Errorf("recovery: rebuild sale %d: %w", s.ID, err)
	}
	return sum, nil
}

// stillStops makes the pause anew before a shard gets its marker: it sells as soon as anybody tells it
// that nothing stops it. Where the pause is gone another rebuild was through, and this is a loss
// since then: the sale has sold meanwhile, so a rebuild begins anew.
func (k *Keeper) stillStops(ctx context.Context, s *sale.Sale) (seen int64, err error) {
	settings, err := k.Orders.Settings(ctx, s.ID)
	if err != nil {
		return 0, err
	}
	if !slices.Contains(settings.Paused, sale.PausedByRebuild) {
		return 0, ErrDraining
	}
	return k.Orders.BeginRebuild(ctx, s.ID, true, "stockkeeper")
}

func (k *Keeper) rebuild(ctx context.Context, s *sale.Sale) (Reconciled, error) {
	shards := stock.Of(s)
	missing, err := k.missing(ctx, shards)
	if err != nil {
		return Reconciled{}, err
	}
	seen, err := k.Orders.BeginRebuild(ctx, s.ID, len(missing) > 0, "stockkeeper")
	if err != nil {
		return Reconciled{}, err
	}
	for shard := range shards.N {
		// A marker of a wrong type must go before a new one can be made.
		if _, err := k.Stock.Repair(ctx, shards, shard); err != nil && !errors.Is(err, stock.ErrNotLoaded) {
			return Reconciled{}, err
		}
	}
	// The shards that are left stop too, else the log is never drained.
	if err := k.Govern(ctx, s.ID); err != nil && !errors.Is(err, ErrLost) {
		return Reconciled{}, err
	}
	if err := k.drain(ctx, s, seen, missing); err != nil {
		return Reconciled{}, err
	}
	if missing, err = k.missing(ctx, shards); err != nil {
		return Reconciled{}, err
	}
	lost := len(missing) > 0
	if lost {
		if seen, err = k.stillStops(ctx, s); err != nil {
			return Reconciled{}, err
		}
	}
	if err := k.assertLedger(ctx, shards, 0, lost); err != nil {
		return Reconciled{}, err
	}
	// Still paused: the window is told, and nothing sells.
	if err := k.Govern(ctx, s.ID); err != nil {
		return Reconciled{}, err
	}
	sum, err := k.Reconcile(ctx, s)
	if err != nil {
		return sum, err
	}
	if err := k.Orders.EndRebuild(ctx, s.ID, seen, "stockkeeper"); err != nil {
		return sum, err
	}
	return sum, k.Govern(ctx, s.ID)
}
