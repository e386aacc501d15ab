package stock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"flashsale/shared/sale"
)

// A ShardReport is a shard at one moment. Times are zero and versions 0 where the shard has none.
type ShardReport struct {
	Loaded     bool      // has its marker
	LoadedAt   time.Time // by Redis' clock
	Version    int64     // of the ledger
	Settings   int64     // version of the settings
	OpensAt    time.Time
	ClosesAt   time.Time
	Paused     []sale.PauseReason
	Doubts     []sale.ItemID
	Wants      []sale.ItemID // sold out here, and shoppers have asked since
	Items      map[sale.ItemID]ItemReport
	Outbox     int64 // holds that no writer has confirmed
	Tombstones int64
	Unreadable int64 // holds that no script wrote
	Damaged    int64 // fields of meta and stock that no script wrote: they count as absent
}

// An ItemReport is one item's units in a shard.
type ItemReport struct {
	Quota     int64
	Stock     int64 // may be below zero after a failover
	Reserved  int64
	Claimed   int64 // by a writer, and still in the outbox
	Confirmed int64 // claimed and out of the outbox
}

// Holds is how many units are held.
func (r ItemReport) Holds() int64 { return r.Reserved + r.Claimed + r.Confirmed }

// Drift is how many units there are too many. It is 0 where stock + holds = quota.
func (r ItemReport) Drift() int64 { return r.Stock + r.Holds() - r.Quota }

// Conserved tells whether every item's stock and holds add up to its quota, and nothing is damaged.
func (r ShardReport) Conserved() bool {
	for _, item := range r.Items {
		if item.Drift() != 0 {
			return false
		}
	}
	return r.Unreadable == 0 && r.Damaged == 0
}

// Check reports a shard, damaged or not; only a key of a wrong type is an error.
// Redis serves nobody else while it reads the holds: some milliseconds for 10,000.
func (s *Store) Check(ctx context.Context, sh Shards, shard int) (ShardReport, error) {
	r, err := run(ctx, s.rdb, checkScript, s.keyring.of(sh)[shard].all)
	if err == nil {
		var report ShardReport
		if report, err = shardReport(sh, shard, r); err == nil {
			return report, nil
		}
	}
	return ShardReport{}, fmt.Errorf("stock: check: %w", err)
}

func shardReport(sh Shards, shard int, r reply) (ShardReport, error) {
	const loaded, notLoaded = 1, 2 // as in check.lua
	code, err := r.number(0)
	if err != nil {
		return ShardReport{}, err
	}
	if code != loaded && code != notLoaded {
		return ShardReport{}, fmt.Errorf("unknown outcome %d", code)
	}
	report := ShardReport{Loaded: code == loaded, Items: make(map[sale.ItemID]ItemReport)}
	outbox, err := r.list(4)
	if err != nil {
		return ShardReport{}, err
	}
	waiting := make(map[any]bool, len(outbox))
	for _, userID := range outbox {
		waiting[userID] = true
	}
	report.Outbox = int64(len(outbox))
	if report.Tombstones, err = r.number(5); err != nil {
		return ShardReport{}, err
	}
	err = r.pairs(1, report.addMeta)
	stocked := map[sale.ItemID]bool{}
	if err == nil {
		err = r.pairs(2, func(item, units string) {
			report.addStock(item, units)
			id, _ := sale.ParseItemID(item)
			stocked[id] = true
		})
	}
	// Without its stock an item is not sold out but not loaded, for every shopper.
	for id := range report.Items {
		if !stocked[id] {
			report.Damaged++
		}
	}
	if err == nil {
		err = r.pairs(3, func(userID, hold string) { report.addHold(sh, shard, userID, hold, waiting[userID]) })
	}
	return report, err
}

// pairs calls f with every field and value of the hash at i.
func (r reply) pairs(i int, f func(field, value string)) error {
	hash, err := r.list(i)
	if err != nil {
		return err
	}
	for k := 0; k < len(hash); k += 2 {
		field, err := hash.text(k)
		if err != nil {
			return err
		}
		value, err := hash.text(k + 1)
		if err != nil {
			return err
		}
		f(field, value)
	}
	return nil
}

// parseNumber reads a number of meta or stock by the rules of repair.lua: one
// spelling, and few enough digits for Lua's numbers to be exact.
func parseNumber(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && len(text) <= 15 && strconv.FormatInt(n, 10) == text
}

func (r *ShardReport) addMeta(field, value string) {
	n, sound := parseNumber(value)
	kind, item, _ := strings.Cut(field, ":")
	switch {
	case kind != field:
		sound = r.addItemMeta(kind, item, n, sound)
	case field == "paused":
		sound = true
		for reason := range strings.SplitSeq(value, ",") {
			if reason != "" {
				r.Paused = append(r.Paused, sale.PauseReason(reason))
			}
		}
	case !sound:
	case field == "loaded":
		r.LoadedAt = time.UnixMilli(n).UTC()
	case field == "opensAt":
		r.OpensAt = time.UnixMilli(n).UTC()
	case field == "closesAt":
		r.ClosesAt = time.UnixMilli(n).UTC()
	case field == "version":
		r.Version = n
	case field == "settings":
		r.Settings = n
	default:
		sound = false
	}
	if !sound {
		r.Damaged++
	}
}

// addItemMeta takes what meta says of an item, and tells whether a script can have written it.
func (r *ShardReport) addItemMeta(kind, item string, n int64, isNumber bool) bool {
	id, ok := sale.ParseItemID(item)
	if !ok {
		return false
	}
	switch kind {
	case "quota":
		if isNumber {
			r.change(id, func(item *ItemReport) { item.Quota = n })
		}
		return isNumber
	case "doubt":
		r.Doubts = append(r.Doubts, id)
	case "wants":
		r.Wants = append(r.Wants, id)
	default:
		return false
	}
	return true
}

func (r *ShardReport) addStock(item, units string) {
	id, isItem := sale.ParseItemID(item)
	n, isNumber := parseNumber(units)
	if !isItem || !isNumber {
		r.Damaged++
		return
	}
	r.change(id, func(item *ItemReport) { item.Stock = n })
}

func (r *ShardReport) addHold(sh Shards, shard int, userID, text string, waiting bool) {
	hold, ok := sh.readHold(shard, userID, text)
	if !ok {
		r.Unreadable++
		return
	}
	r.change(hold.ItemID, func(item *ItemReport) {
		switch {
		case !hold.Claimed:
			item.Reserved++
		case waiting:
			item.Claimed++
		default:
			item.Confirmed++
		}
	})
}

func (r *ShardReport) change(id sale.ItemID, f func(*ItemReport)) {
	item := r.Items[id]
	f(&item)
	r.Items[id] = item
}
