// Package orderwriter turns records of the order log into rows.
//
// Per batch: claim the holds in Redis, write the rows in one transaction,
// confirm or give back in Redis, move units to shards that wish for some. Every
// step may be repeated, so the package promises that a record delivered again
// changes nothing, that one bad record never stops the good ones, and that each
// record ends in a row or in the dead letters. A claim comes before the write: it
// decides against a purchase that is releasing the same hold.
package orderwriter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"flashsale/shared/config"
	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
	"flashsale/shared/telemetry"
	"flashsale/shared/tracing"
)

// reserveForAnswer is kept back of the invocation's time, so that a hanging
// server ends as a reported failure and not as a killed function.
const reserveForAnswer = 2 * time.Second

// moveTime is how long a batch may go on to begin moves of units between shards.
const moveTime = 500 * time.Millisecond

// Config is what the function takes from its environment.
type Config struct {
	config.Redis
	config.Kafka
	config.Postgres
	config.Log
	config.Tracing

	// WholeBatch is for a mapping that does not understand partial answers.
	WholeBatch bool `env:"KAFKA_WHOLE_BATCH"`
}

// A Handler writes orders. It is safe for concurrent use.
type Handler struct {
	Stock   *stock.Store
	Orders  *order.Store
	Letters *orderlog.DeadLetters
	Log     *slog.Logger
	Meter   *telemetry.Meter
	Tracer  *tracing.Tracer // nil traces nothing
	// WholeBatch makes any failure an error of the whole batch, for a mapping
	// that does not understand partial answers.
	WholeBatch bool
}

// Invoke takes one Kafka event and answers which records must come again.
func (h *Handler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	records, err := orderlog.ParseBatch(event)
	if err != nil {
		return nil, fmt.Errorf("orderwriter: %w", err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-reserveForAnswer))
		defer cancel()
	}
	b := &batch{Handler: h}
	spans := h.spans(records)
	b.run(ctx, records)
	h.send(ctx, spans)
	h.Log.InfoContext(ctx, "batch", "records", len(records), "written", b.written, "known", b.known,
		"rejected", b.rejected, "deadLetters", b.dead, "failed", len(b.failed))
	h.Meter.Put(telemetry.Count("WriterBatch", len(records)), telemetry.Count("Written", b.written),
		telemetry.Count("Rejected", b.rejected), telemetry.Count("Failed", len(b.failed)))
	if h.WholeBatch && len(b.failed) > 0 {
		return nil, fmt.Errorf("orderwriter: %d of %d records failed: %w", len(b.failed), len(records), b.cause)
	}
	return orderlog.Failures(records, b.failed), nil
}

// A batch is one invocation's work.
type batch struct {
	*Handler
	failed []orderlog.Record
	cause  error

	written, known, rejected, dead int
}

// An entry is a readable record on its way to a row.
type entry struct {
	record *orderlog.Record
	placed sale.Placed
	shards stock.Shards
	reason string // why it is rejected without being written
	known  bool   // its row was written before
}

func (b *batch) run(ctx context.Context, records []orderlog.Record) {
	entries := b.read(ctx, records)
	entries = b.place(ctx, entries)
	entries, refused := b.claim(ctx, entries)
	b.reject(ctx, refused)
	// Apart, since new orders are written in fewer steps if all of them are. A shopper
	// who presses twice makes two records.
	fresh, known := apart(entries)
	b.write(ctx, fresh, b.Orders.WriteBatch)
	b.write(ctx, known, b.Orders.WriteAgain)
}

// fail reports records as to be delivered again.
func (b *batch) fail(ctx context.Context, what string, err error, entries ...entry) {
	if len(entries) == 0 {
		return
	}
	b.cause = errors.Join(b.cause, err)
	b.Log.ErrorContext(ctx, "records must come again", "step", what, "records", len(entries), "error", err)
	for _, e := range entries {
		b.failed = append(b.failed, *e.record)
	}
}

// read decodes the records; what cannot be read goes to the dead letters.
func (b *batch) read(ctx context.Context, records []orderlog.Record) []entry {
	entries := make([]entry, 0, len(records))
	for i := range records {
		r := &records[i]
		placed, err := orderlog.Decode(r.Value)
		if err == nil {
			entries = append(entries, entry{record: r, placed: placed})
			continue
		}
		var poison *orderlog.Poison
		if errors.As(err, &poison) && poison.Placed != nil {
			b.bury(ctx, entry{record: r, placed: *poison.Placed, reason: poison.Reason})
			continue
		}
		b.deadLetter(ctx, entry{record: r, reason: err.Error()})
	}
	return entries
}

// bury leaves a final row for a poison record whose order can be named, gives
// its unit back, and puts the record among the dead letters.
func (b *batch) bury(ctx context.Context, e entry) {
	homes, err := b.Orders.Homes(ctx, []sale.ItemID{e.placed.ItemID})
	if err != nil {
		b.fail(ctx, "poison", err, e)
		return
	}
	if home, ok := homes[e.placed.ItemID]; ok && home.Sale == e.placed.SaleID {
		e.shards = stock.Shards{Sale: home.Sale, N: home.Shards}
		if err := b.endPoison(ctx, e); err != nil {
			b.fail(ctx, "poison", err, e)
			return
		}
	}
	b.deadLetter(ctx, e)
}

func (b *batch) endPoison(ctx context.Context, e entry) error {
	if err := b.Orders.Reject(ctx, []sale.Placed{e.placed}, "poison: "+e.reason); err != nil {
		return err
	}
	rows, err := b.Orders.Orders(ctx, []sale.OrderID{e.placed.OrderID})
	if err != nil {
		return err
	}
	// A good record of the same order may have made a living row before.
	if rows[e.placed.OrderID].State != order.Rejected {
		return nil
	}
	b.rejected++
	_, err = b.Stock.Release(ctx, e.shards, stock.Rejected, []stock.Held{{OrderID: e.placed.OrderID, UserID: e.placed.UserID}})
	return err
}

func (b *batch) deadLetter(ctx context.Context, e entry) {
	if err := b.Letters.Put(ctx, *e.record, e.reason); err != nil {
		b.fail(ctx, "dead letter", err, e)
		return
	}
	b.dead++
	b.Log.WarnContext(ctx, "dead letter", "topic", e.record.Topic, "partition", e.record.Partition, "offset", e.record.Offset, "reason", e.reason)
}

// place finds each record's shards.
func (b *batch) place(ctx context.Context, entries []entry) []entry {
	items := make([]sale.ItemID, len(entries))
	for i, e := range entries {
		items[i] = e.placed.ItemID
	}
	homes, err := b.Orders.Homes(ctx, items)
	if err != nil {
		b.fail(ctx, "find shards", err, entries...)
		return nil
	}
	placed, homeless := entries[:0], []entry(nil)
	for _, e := range entries {
		home, ok := homes[e.placed.ItemID]
		if !ok || home.Sale != e.placed.SaleID {
			homeless = append(homeless, e)
			continue
		}
		e.shards = stock.Shards{Sale: home.Sale, N: home.Shards}
		placed = append(placed, e)
	}
	b.turnAway(ctx, homeless)
	return placed
}

// turnAway makes dead letters of records whose item no sale of that id offers, or
// one that is archived. But a record that was written before the archive and comes
// again has its row, and is done with.
func (b *batch) turnAway(ctx context.Context, homeless []entry) {
	if len(homeless) == 0 {
		return
	}
	rows, err := b.Orders.Orders(ctx, idsOf(homeless))
	if err != nil {
		b.fail(ctx, "find rows", err, homeless...)
		return
	}
	for _, e := range homeless {
		if rows[e.placed.OrderID].Is(e.placed) {
			b.known++
			continue
		}
		e.reason = fmt.Sprintf("no item %d in sale %d", e.placed.ItemID, e.placed.SaleID)
		b.deadLetter(ctx, e)
	}
}

// claim takes the holds for the writer. Unguarded records (the shard is not
// loaded) go on: the database guard alone decides for them.
func (b *batch) claim(ctx context.Context, entries []entry) (claimed, refused []entry) {
	for sh, group := range bySale(entries) {
		outcomes, err := b.Stock.Claim(ctx, sh, placedOf(group))
		if err != nil {
			b.fail(ctx, "claim", err, group...)
			continue
		}
		claimed = slices.Grow(claimed, len(group))
		for i, e := range group {
			switch outcomes[i] {
			case stock.Claimed, stock.Unguarded, stock.Confirmed:
				e.known = outcomes[i] == stock.Confirmed
				claimed = append(claimed, e)
			default:
				e.reason = outcomes[i].String()
				refused = append(refused, e)
			}
		}
	}
	return claimed, refused
}

// reject leaves final rows for records whose hold is gone. Their units are
// back already: the release that left the tombstone returned them. A record that
// finds another's row gets none of its own, so it becomes a dead letter.
func (b *batch) reject(ctx context.Context, refused []entry) {
	byReason := map[string][]entry{}
	for _, e := range refused {
		byReason[e.reason] = append(byReason[e.reason], e)
	}
	for reason, group := range byReason {
		if err := b.Orders.Reject(ctx, placedOf(group), reason); err != nil {
			b.fail(ctx, "reject", err, group...)
			continue
		}
		rows, err := b.Orders.Orders(ctx, idsOf(group))
		if err != nil {
			b.fail(ctx, "reject", err, group...)
			continue
		}
		for _, e := range group {
			if row, ok := rows[e.placed.OrderID]; ok && !row.Is(e.placed) {
				e.reason = reasonForeign
				b.deadLetter(ctx, e)
				continue
			}
			b.rejected++
		}
	}
}
