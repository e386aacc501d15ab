package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

const (
	maxMoves = 100         // of one call: others wait for what comes after it
	moveTime = time.Second // of one move, however little time its caller has left
)

// A move is units of an item that leave one shard for another.
type move struct {
	item     sale.ItemID
	from, to int
	units    int
}

// Move gives units to the shards that have none and wish for some, from those
// that have most, and tells how many it moved. Shards below zero come first,
// asked or not. It needs no Log and no Backlog.
//
// Several may move at once: a mover that meets another stops, and the next call
// goes on. One that dies leaves units that no shard has; [Keeper.Reconcile]
// finds them and finishes the move or takes it back.
func (k *Keeper) Move(ctx context.Context, shards stock.Shards) (moved int, err error) {
	if shards.N == 1 {
		return 0, nil
	}
	moved, err = k.moveAll(ctx, shards)
	if err != nil {
		err = fmt.Errorf("recovery: move units of sale %d: %w", shards.Sale, err)
	}
	return moved, err
}

func (k *Keeper) moveAll(ctx context.Context, shards stock.Shards) (moved int, err error) {
	levels, err := k.movable(ctx, shards)
	if err != nil {
		return 0, err
	}
	moves, vain := plan(levels)
	for _, item := range vain {
		if err := k.Stock.DropWish(ctx, shards, item); err != nil {
			return 0, err
		}
	}
	return k.carry(ctx, shards, moves)
}

// movable is what the shards have, and nothing while one of them is lost or rests: it sells nothing
// then, and what it owes moves once it does.
func (k *Keeper) movable(ctx context.Context, shards stock.Shards) ([]stock.ShardReport, error) {
	levels, err := k.Stock.Levels(ctx, shards)
	if errors.Is(err, stock.ErrNotLoaded) || err == nil && slices.ContainsFunc(levels, resting) {
		return nil, nil
	}
	return levels, err
}

// cover brings shards that are below zero what they owe of items in doubt, and tells whether that
// is done. Once the doubt is lifted those units would be sold where they are.
func (k *Keeper) cover(ctx context.Context, shards stock.Shards, items []sale.ItemID) (bool, error) {
	if shards.N == 1 {
		return true, nil
	}
	levels, err := k.movable(ctx, shards)
	if err != nil {
		return false, err
	}
	moves, units := owing(levels, items), 0
	for _, m := range moves {
		units += m.units
	}
	moved, err := k.carry(ctx, shards, moves)
	return moved == units, err
}

// carry makes the moves, until one is not done, and tells how many units went.
func (k *Keeper) carry(ctx context.Context, shards stock.Shards, moves []move) (moved int, err error) {
	if len(moves) == 0 {
		return 0, nil
	}
	ledger, err := k.Orders.Ledger(ctx, shards.Sale)
	if err != nil {
		return 0, err
	}
	for _, m := range moves[:min(len(moves), maxMoves)] {
		if ctx.Err() != nil {
			return moved, ctx.Err()
		}
		done, err := k.move(ctx, shards, &ledger, m)
		if err != nil || !done {
			return moved, err
		}
		moved += m.units
	}
	return moved, nil
}

// resting tells that a shard sells nothing now, or waits for its repair. While
// it is rebuilt, or has more than its quota, it seems to have units that are
// other shoppers'.
func resting(level stock.ShardReport) bool {
	for _, item := range level.Items {
		if item.Stock > item.Quota {
			return true
		}
	}
	return level.OpensAt.IsZero() || len(level.Paused) > 0 || level.Damaged > 0
}

// plan decides what is moved; vain are the items that shards wish for in vain. A
// shard gets half of what the one with most has more than itself, so that a few
// moves even out any division; one below zero gets it until it has what it owes.
func plan(levels []stock.ShardReport) (moves []move, vain []sale.ItemID) {
	units := map[sale.ItemID][]int64{} // by shard
	for shard, level := range levels {
		for id, item := range level.Items {
			if units[id] == nil {
				units[id] = make([]int64, len(levels))
			}
			units[id][shard] = item.Stock
		}
	}
	for _, id := range slices.Sorted(maps.Keys(units)) {
		// What the comparison of both sides would take from a shard must not be another's by then.
		if slices.ContainsFunc(levels, func(l stock.ShardReport) bool { return slices.Contains(l.Doubts, id) }) {
			continue
		}
		left := units[id]
		var needy []int
		for shard, level := range levels {
			if left[shard] < 0 || left[shard] == 0 && slices.Contains(level.Wants, id) {
				needy = append(needy, shard)
			}
		}
		slices.SortStableFunc(needy, func(a, b int) int { return cmp.Compare(left[a], left[b]) })
		served := map[int]bool{} // what has just come does not go again
		for _, to := range needy {
			for first := true; first || left[to] < 0; first = false {
				from := richest(left, served)
				if from < 0 {
					break
				}
				n := min(max((left[from]-left[to])/2, 1), left[from])
				moves = append(moves, move{id, from, to, int(n)})
				left[from], left[to] = left[from]-n, left[to]+n
			}
			served[to] = true
		}
		if len(needy) > 0 && richest(left, nil) < 0 {
			vain = append(vain, id)
		}
	}
	return moves, vain
}

// owing plans for items in doubt: only what a shard has less than nothing of comes.
func owing(levels []stock.ShardReport, items []sale.ItemID) (moves []move) {
	for _, id := range items {
		left := make([]int64, len(levels))
		for shard, level := range levels {
			left[shard] = level.Items[id].Stock
		}
		for to := range left {
			for left[to] < 0 {
				from := richest(left, nil)
				if from < 0 {
					break
				}
				n := min(-left[to], left[from])
				moves = append(moves, move{id, from, to, int(n)})
				left[from], left[to] = left[from]-n, left[to]+n
			}
		}
	}
	return moves
}

// richest is the shard with the most units, or -1 if none has any.
func richest(left []int64, except map[int]bool) int {
	best := -1
	for shard, n := range left {
		if n > 0 && !except[shard] && (best < 0 || n > left[best]) {
			best = shard
		}
	}
	return best
}

// move takes the units from the donor, commits the ledger, and gives them to the
// receiver: at no moment do the shards have more than there is. It is not done,
// and no error, if the donor has sold the units or another mover was faster.
func (k *Keeper) move(ctx context.Context, shards stock.Shards, ledger *sale.Ledger, m move) (done bool, err error) {
	// The caller's end must not leave a move half-way.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), moveTime)
	defer cancel()
	// Each shard is told all its quotas: what another mover has still to tell it
	// would be too old after this.
	from, to := maps.Clone(ledger.Shards[m.from]), maps.Clone(ledger.Shards[m.to])
	from[m.item] -= m.units
	to[m.item] += m.units
	outcome, err := k.Stock.Shrink(ctx, shards, m.from, ledger.Version+1, from)
	if err != nil || outcome != stock.QuotaApplied {
		return false, err
	}
	moved, err := k.Orders.MoveQuota(ctx, shards.Sale, m.item, m.from, m.to, m.units, ledger.Version)
	if err != nil {
		return false, err
	}
	if !moved {
		// The donor has a version that the ledger gave to something else.
		return false, k.assertLedger(ctx, shards, ledger.Version+1, false)
	}
	ledger.Version++
	ledger.Shards[m.from], ledger.Shards[m.to] = from, to
	_, err = k.Stock.SetQuota(ctx, shards, m.to, ledger.Version, to, false)
	return err == nil, err
}
