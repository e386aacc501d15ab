package recovery

import (
	"context"
	"errors"
	"maps"
	"slices"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// looks bounds how often shards and ledger are read again because units moved
// between them meanwhile.
const looks = 3

// farAhead bounds how far a shard's versions can be above PostgreSQL's: a
// restored database is behind by as many changes as it forgot. What is further
// is damage, which must not get into the database; the scripts replace it.
const farAhead = 1_000_000 // as in quota.lua and steer.lua

// repair mends each shard by itself and then asserts the ledger on all of them
// if any differs from it.
func (k *Keeper) repair(ctx context.Context, shards stock.Shards) (sum Reconciled, err error) {
	for look := 1; ; look++ {
		ledger, err := k.Orders.Ledger(ctx, shards.Sale)
		if err != nil {
			return sum, err
		}
		d, err := k.difference(ctx, shards, ledger, &sum)
		sum.Repaired += d.mended
		if err != nil || d.short == 0 && d.wrong == 0 {
			return sum, err
		}
		again, err := k.Orders.Ledger(ctx, shards.Sale)
		if err != nil {
			return sum, err
		}
		// Units moved meanwhile, so what differs may be on its way.
		if again.Version != ledger.Version && look < looks {
			continue
		}
		// One shard alone has nobody to move units to, and what was dropped as damage did not move.
		if d.wrong > 0 || d.mended > 0 || shards.N == 1 {
			sum.Repaired++
		} else {
			sum.TransfersFinished += d.short
		}
		return sum, k.assertLedger(ctx, shards, d.seen, false, slices.Collect(maps.Keys(d.gone))...)
	}
}

// A difference is how the shards differ from the ledger.
type difference struct {
	seen   int64 // the highest version that a shard has
	mended int   // damage inside the shards, which is gone now
	short  int   // quotas below the ledger's: a move that stopped half-way leaves one
	wrong  int   // quotas above it, and versions that it never had or that are no version
	gone   map[sale.ItemID]bool
}

func (k *Keeper) difference(ctx context.Context, shards stock.Shards, ledger sale.Ledger, sum *Reconciled) (difference, error) {
	d := difference{gone: map[sale.ItemID]bool{}}
	for shard := range shards.N {
		report, err := k.mend(ctx, shards, shard, &d, sum)
		if err != nil {
			return d, err
		}
		if !report.Loaded {
			return d, ErrLost
		}
		d.add(report, ledger.Version, ledger.Shards[shard])
	}
	return d, nil
}

// mend lets a damaged shard repair itself. Lost holds come back before their units do: else those
// would be on sale until then. So a repair that drops holds leaves the rest to a second one.
func (k *Keeper) mend(ctx context.Context, shards stock.Shards, shard int, d *difference, sum *Reconciled) (stock.ShardReport, error) {
	for range 2 {
		report, err := k.Stock.Check(ctx, shards, shard)
		if err == nil && report.Conserved() {
			return report, nil
		}
		// A key of a wrong type makes the check itself fail.
		if err == nil {
			// Where this fails, another shard has such a key, which is mended in its turn.
			_ = k.compare(ctx, shards, sum)
		}
		n, repairErr := k.Stock.Repair(ctx, shards, shard)
		d.mended += int(n)
		if repairErr != nil {
			return report, lostIfNotLoaded(errors.Join(err, repairErr))
		}
	}
	return k.Stock.Check(ctx, shards, shard)
}

// add compares one shard. A version below the ledger's is none that differs: a
// move tells its two shards only. One above it belongs to a move that took units
// and did not commit.
func (d *difference) add(report stock.ShardReport, version int64, quota map[sale.ItemID]int) {
	short := 0
	if report.Version < 1 || report.Version > version+farAhead {
		d.wrong++
	} else {
		d.seen = max(d.seen, report.Version)
	}
	for id, item := range report.Items {
		right, offered := quota[id]
		if !offered && item.Quota != 0 {
			d.gone[id] = true
		}
		if item.Quota > int64(right) {
			d.wrong++
		}
	}
	for id, right := range quota {
		if report.Items[id].Quota < int64(right) {
			short++
		}
	}
	if report.Version > version && short == 0 {
		d.wrong++
	}
	d.short += short
}

// assertLedger tells all shards the ledger under a version that none has. Items
// that an update has removed have no units any more.
func (k *Keeper) assertLedger(ctx context.Context, shards stock.Shards, seen int64, load bool, gone ...sale.ItemID) error {
	ledger, err := k.Orders.RaiseLedger(ctx, shards.Sale, seen)
	if err != nil {
		return err
	}
	for shard, quota := range ledger.Shards {
		for _, id := range gone {
			if _, back := quota[id]; !back {
				quota[id] = 0
			}
		}
		if _, err := k.Stock.SetQuota(ctx, shards, shard, ledger.Version, quota, load); err != nil {
			return err
		}
	}
	return nil
}
