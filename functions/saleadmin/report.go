package saleadmin

import (
	"context"
	"reflect"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// A report is a sale seen from both sides: the rows, and what Redis holds.
type report struct {
	SaleID            sale.ID      `json:"saleId"`
	State             sale.State   `json:"state"`
	Items             []itemReport `json:"items"`
	RefundsDueUnknown int          `json:"refundsDueUnknown"` // money for orders that nobody knows
	Unconfirmed       int64        `json:"unconfirmed"`       // holds whose row is not known to Redis yet
	ReleasesWaiting   int          `json:"releasesWaiting"`
	Changing          bool         `json:"changing"`    // the rows changed while Redis was read: the sides may differ
	DeadLetters       int64        `json:"deadLetters"` // of all sales
	WriterLag         int64        `json:"writerLag"`   // records not written yet, of all sales
}

type itemReport struct {
	ItemID     sale.ItemID         `json:"itemId"`
	Quantity   int                 `json:"quantity"`
	Sold       int                 `json:"sold"`
	Stock      int64               `json:"stock"`
	Holds      holdReport          `json:"holds"`
	Orders     map[order.State]int `json:"orders"`
	RefundsDue int                 `json:"refundsDue"`
	Shards     []shardReport       `json:"shards"`
	Conserved  bool                `json:"conserved"` // stock + holds = quota in every shard, and no shard is damaged
	Drift      int64               `json:"drift"`     // units in Redis above the item's quantity
}

type holdReport struct {
	Reserved  int64 `json:"reserved"`
	Claimed   int64 `json:"claimed"`
	Confirmed int64 `json:"confirmed"`
}

type shardReport struct {
	Shard int   `json:"shard"`
	Stock int64 `json:"stock"`
	Holds int64 `json:"holds"`
	Quota int64 `json:"quota"`
}

// looks is how often both sides are read until no row has changed meanwhile.
const looks = 3

func (h *Handler) report(ctx context.Context, r request) (any, error) {
	l, err := h.Orders.Listing(ctx, r.id)
	if err != nil {
		return nil, err
	}
	answer, err := h.bothSides(ctx, l)
	if err != nil {
		return nil, err
	}
	if answer.WriterLag, err = h.Keeper.Backlog(ctx); err != nil {
		return nil, err
	}
	answer.DeadLetters, err = orderlog.DeadLetterCount(ctx, h.Kafka, h.DeadLetterTopic)
	return answer, err
}

// bothSides reads the rows, Redis, and the rows again. An order on its way is a row
// before Redis calls its hold confirmed, and an ended one until Redis has its unit:
// where the rows stayed the same, the two sides are of one moment. A move between
// shards changes the ledger after it took the units and before it gives them: where
// that stayed the same, no unit was counted in two shards.
func (h *Handler) bothSides(ctx context.Context, l sale.Listing) (answer report, err error) {
	before, err := h.Orders.Report(ctx, l.ID)
	for look := 0; err == nil; look++ {
		answer = ofRows(l.ID, before)
		answer.State = l.StateAt(h.Now(), l.Standing)
		if !l.Loaded || l.Archived {
			return answer, nil
		}
		if err = h.count(ctx, &l.Sale, &answer); err != nil {
			break
		}
		var after order.Report
		after, err = h.Orders.Report(ctx, l.ID)
		answer.Changing = !reflect.DeepEqual(before, after)
		if !answer.Changing || look == looks-1 {
			break
		}
		before = after
	}
	return answer, err
}

func ofRows(id sale.ID, rows order.Report) report {
	answer := report{SaleID: id, RefundsDueUnknown: rows.RefundsDueUnknown, ReleasesWaiting: rows.ReleasesWaiting}
	for _, it := range rows.Items {
		answer.Items = append(answer.Items, itemReport{
			ItemID: it.ItemID, Quantity: it.Quantity, Sold: it.Sold, Orders: it.Orders, RefundsDue: it.RefundsDue,
			Shards: []shardReport{}, Conserved: true,
		})
	}
	return answer
}

// count adds what Redis holds. A shard that has lost its marker counts as
// empty, so the loss shows as drift. So does one with a key of a wrong type.
func (h *Handler) count(ctx context.Context, s *sale.Sale, answer *report) error {
	shards := stock.Of(s)
	for shard := range shards.N {
		seen, err := h.Stock.Check(ctx, shards, shard)
		if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return err
		}
		answer.Unconfirmed += seen.Outbox
		for i := range answer.Items {
			it := &answer.Items[i]
			units := seen.Items[it.ItemID]
			it.Stock += units.Stock
			it.Holds.Reserved += units.Reserved
			it.Holds.Claimed += units.Claimed
			it.Holds.Confirmed += units.Confirmed
			it.Shards = append(it.Shards, shardReport{Shard: shard, Stock: units.Stock, Holds: units.Holds(), Quota: units.Quota})
			sound := seen.Loaded && seen.Damaged == 0 && seen.Unreadable == 0
			it.Conserved = it.Conserved && sound && units.Drift() == 0
			it.Drift += units.Stock + units.Holds()
		}
	}
	for i := range answer.Items {
		answer.Items[i].Drift -= int64(answer.Items[i].Quantity)
	}
	return nil
}
