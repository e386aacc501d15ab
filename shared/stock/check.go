package stock

import (
	"context"
	"errors"
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

// Conserved tells whether every item's stock and holds add up to its quota.
func (r ShardReport) Conserved() bool {
	for _, item := range r.Items {
		if item.Drift() != 0 {
			return false
		}
	}
	return r.Unreadable == 0
}

// Check reports a shard. Redis serves nobody else while it counts the holds:
// some milliseconds for 10,000.
func (s *Store) Check(ctx context.Context, sh Shards, shard int) (ShardReport, error) {
	r, err := run(ctx, s.rdb, checkScript, s.keyring.of(sh)[shard].all)
	if err == nil {
		var report ShardReport
		if report, err = shardReport(r); err == nil {
			return report, nil
		}
	}
	return ShardReport{}, fmt.Errorf("stock: check: %w", err)
}

func shardReport(r reply) (ShardReport, error) {
	const loaded, notLoaded = 1, 2 // as in check.lua
	code, err := r.number(0)
	if err != nil {
		return ShardReport{}, err
	}
	if code != loaded && code != notLoaded {
		return ShardReport{}, fmt.Errorf("unknown outcome %d", code)
	}
	report := ShardReport{Loaded: code == loaded, Items: make(map[sale.ItemID]ItemReport)}
	err = errors.Join(
		r.each(1, 2, func(e reply) error { return report.addMeta(e) }),
		r.each(2, 2, func(e reply) error { return report.addStock(e) }),
		r.each(3, 4, func(e reply) error {
			return report.addItem(e, func(item *ItemReport) (err error) {
				item.Reserved, err = e.number(1)
				if err == nil {
					item.Claimed, err = e.number(2)
				}
				if err == nil {
					item.Confirmed, err = e.number(3)
				}
				return err
			})
		}),
	)
	for i, count := range []*int64{&report.Outbox, &report.Tombstones, &report.Unreadable} {
		n, fault := r.number(4 + i)
		*count, err = n, errors.Join(err, fault)
	}
	return report, err
}

// each calls f with every group of width values of the list at i.
func (r reply) each(i, width int, f func(reply) error) error {
	list, err := r.list(i)
	if err != nil {
		return err
	}
	for ; len(list) >= width; list = list[width:] {
		if err := f(list[:width]); err != nil {
			return err
		}
	}
	return nil
}

func (r *ShardReport) addMeta(e reply) (err error) {
	name, err := e.text(0)
	if err != nil {
		return err
	}
	value, err := e.text(1)
	if err != nil {
		return err
	}
	kind, id, ofItem := strings.Cut(name, ":")
	switch kind {
	case "loaded":
		r.LoadedAt, err = parseMillis(value)
	case "opensAt":
		r.OpensAt, err = parseMillis(value)
	case "closesAt":
		r.ClosesAt, err = parseMillis(value)
	case "version":
		r.Version, err = strconv.ParseInt(value, 10, 64)
	case "settings":
		r.Settings, err = strconv.ParseInt(value, 10, 64)
	case "paused":
		for reason := range strings.SplitSeq(value, ",") {
			if reason != "" {
				r.Paused = append(r.Paused, sale.PauseReason(reason))
			}
		}
	}
	if !ofItem || err != nil {
		return err
	}
	item := reply{id}
	switch kind {
	case "quota":
		return r.addItem(item, func(i *ItemReport) (err error) {
			i.Quota, err = strconv.ParseInt(value, 10, 64)
			return err
		})
	case "doubt":
		r.Doubts, err = appendItem(r.Doubts, id)
	case "wants":
		r.Wants, err = appendItem(r.Wants, id)
	}
	return err
}

func appendItem(items []sale.ItemID, text string) ([]sale.ItemID, error) {
	id, ok := sale.ParseItemID(text)
	if !ok {
		return items, fmt.Errorf("bad item id %q", text)
	}
	return append(items, id), nil
}

func (r *ShardReport) addStock(e reply) error {
	units, err := e.text(1)
	if err != nil {
		return err
	}
	return r.addItem(e, func(item *ItemReport) (err error) {
		item.Stock, err = strconv.ParseInt(units, 10, 64)
		return err
	})
}

// addItem lets f change the report of the item that e begins with.
func (r *ShardReport) addItem(e reply, f func(*ItemReport) error) error {
	text, err := e.text(0)
	if err != nil {
		return err
	}
	id, ok := sale.ParseItemID(text)
	if !ok {
		return fmt.Errorf("bad item id %q", text)
	}
	item := r.Items[id]
	err = f(&item)
	r.Items[id] = item
	return err
}
