package stock

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"flashsale/shared/sale"
)

// A QuotaOutcome tells whether a shard took its quotas.
type QuotaOutcome int

// The outcomes of [Store.SetQuota]; the numbers are those of quota.lua.
const (
	QuotaApplied   QuotaOutcome = iota + 1
	QuotaStale                  // the shard has this version of the ledger or a newer one
	QuotaNotLoaded              // no marker, and no permission to load
	QuotaNotEnough              // [Store.Shrink] only: fewer units are in stock
)

// SetQuota tells a shard its quotas, units by item, if the ledger's version is
// newer; each stock moves by the difference. With load it may also load a shard
// that has no marker. Only the first load may say so: a shard that lost its
// marker is rebuilt, never loaded. Nothing is on sale before [Store.Steer].
func (s *Store) SetQuota(ctx context.Context, sh Shards, shard int, version int64, quota map[sale.ItemID]int, load bool) (QuotaOutcome, error) {
	mode := "assert"
	if load {
		mode = "load"
	}
	return s.setQuota(ctx, sh, shard, version, quota, mode)
}

// Shrink is the first step of a move: it tells a shard lower quotas under a
// version that the ledger does not have yet. Unlike by SetQuota, a quota falls
// only by units that are in stock.
func (s *Store) Shrink(ctx context.Context, sh Shards, shard int, version int64, quota map[sale.ItemID]int) (QuotaOutcome, error) {
	return s.setQuota(ctx, sh, shard, version, quota, "shrink")
}

func (s *Store) setQuota(ctx context.Context, sh Shards, shard int, version int64, quota map[sale.ItemID]int, mode string) (QuotaOutcome, error) {
	args := []any{version, mode}
	for _, id := range slices.Sorted(maps.Keys(quota)) {
		args = append(args, itemText(id), quota[id])
	}
	r, err := run(ctx, s.rdb, quotaScript, s.keyring.of(sh)[shard].quota, args...)
	code, err := oneOf(r, err, int64(QuotaApplied), int64(QuotaNotEnough))
	if err != nil {
		return 0, fmt.Errorf("stock: set quota: %w", err)
	}
	return QuotaOutcome(code), nil
}

// A SteerOutcome tells whether a shard took its settings.
type SteerOutcome int

// The outcomes of [Store.Steer]; the numbers are those of steer.lua.
const (
	SteerApplied   SteerOutcome = iota + 1 // also if the shard had this very version
	SteerStale                             // the shard has a newer set
	SteerNotLoaded                         // no marker
	SteerPutRight                          // applied over what a hand had typed
)

// Steer sets a shard's window, pause reasons and doubts as a whole, unless it
// has a newer set. A loaded shard sells only from then on.
func (s *Store) Steer(ctx context.Context, sh Shards, shard int, set sale.Settings) (SteerOutcome, error) {
	reasons := make([]string, len(set.Paused))
	for i, reason := range set.Paused {
		reasons[i] = string(reason)
	}
	args := []any{set.Version, millis(set.OpensAt), millis(set.ClosesAt), strings.Join(reasons, ",")}
	for _, id := range set.Doubts {
		args = append(args, itemText(id))
	}
	r, err := run(ctx, s.rdb, steerScript, s.keyring.of(sh)[shard].steer, args...)
	code, err := oneOf(r, err, int64(SteerApplied), int64(SteerPutRight))
	if err != nil {
		return 0, fmt.Errorf("stock: steer: %w", err)
	}
	return SteerOutcome(code), nil
}

// oneOf reads the outcome of a script that answers nothing else.
func oneOf(r reply, err error, first, last int64) (int64, error) {
	if err != nil {
		return 0, err
	}
	code, err := r.number(0)
	if err == nil && (code < first || code > last) {
		err = fmt.Errorf("unknown outcome %d", code)
	}
	return code, err
}
