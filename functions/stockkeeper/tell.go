package stockkeeper

import (
	"context"
	"sync"
	"time"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
	"flashsale/shared/telemetry"
)

// figureWait is how long a pass waits for figures that others hold.
const figureWait = 500 * time.Millisecond

// A sight is what all loaded sales have in Redis.
type sight struct {
	conserved   bool
	drift       int64 // units too many or too few, shard by shard
	unconfirmed int64
	err         error // why it is not known
}

// look counts as an operator's report does.
func (h *Handler) look(ctx context.Context, listings []sale.Listing) sight {
	seen := sight{conserved: true}
	if h.Meter == nil {
		return seen
	}
	for i := range listings {
		if !listings[i].Loaded {
			continue
		}
		shards := stock.Of(&listings[i].Sale)
		for shard := range shards.N {
			report, err := h.Stock.Check(ctx, shards, shard)
			if err != nil {
				seen.err = err
				return seen
			}
			seen.conserved = seen.conserved && report.Loaded && report.Conserved()
			seen.unconfirmed += report.Outbox
			h.name(ctx, shards.Sale, shard, report)
			for _, item := range report.Items {
				seen.drift += max(item.Drift(), -item.Drift())
			}
		}
	}
	return seen
}

// name says what is wrong in a shard while it can still be seen: the pass that mends it only counts.
func (h *Handler) name(ctx context.Context, saleID sale.ID, shard int, report stock.ShardReport) {
	if report.Unreadable+report.Damaged > 0 {
		h.Log.WarnContext(ctx, "a shard is damaged", "saleId", saleID, "shard", shard,
			"holds", report.Unreadable, "fields", report.Damaged)
	}
	for id, item := range report.Items {
		if item.Drift() != 0 {
			h.Log.WarnContext(ctx, "a shard does not add up", "saleId", saleID, "shard", shard, "itemId", id,
				"quota", item.Quota, "stock", item.Stock, "holds", item.Holds())
		}
	}
}

// mended is how many holds, counts and moves were put right.
func (r *Result) mended() int { return r.Adopted + r.Released + r.Repaired + r.TransfersFinished }

// tell writes the pass's figures. One that is not known is left out, which its
// alarm sees. So is a good word of a pass that failed: its silence is an alarm too.
func (h *Handler) tell(ctx context.Context, counted func() []telemetry.Figure, seen sight, repaired int, failed error) {
	if h.Meter == nil {
		return
	}
	figures := []telemetry.Figure{telemetry.Count("Repaired", repaired)}
	switch {
	case seen.err != nil:
		h.unknown(ctx, "Conserved", seen.err)
	case failed == nil || !seen.conserved:
		figures = append(figures, telemetry.Yes("Conserved", seen.conserved))
	}
	if seen.err == nil {
		figures = append(figures, telemetry.Count("Drift", seen.drift), telemetry.Count("Unconfirmed", seen.unconfirmed))
	}
	h.Meter.Put(append(figures, counted()...)...)
}

// counting begins to count what others hold, all at once, beside the pass and not for
// long: after a freeze each of them may wait for a connection that is dead.
func (h *Handler) counting(ctx context.Context) (counted func() []telemetry.Figure) {
	if h.Meter == nil {
		return func() []telemetry.Figure { return nil }
	}
	ctx, cancel := context.WithTimeout(ctx, figureWait)
	var figures []telemetry.Figure
	var counting sync.WaitGroup
	var mu sync.Mutex
	for name, count := range map[string]func(context.Context) (int64, error){
		"WriterLag": h.Keeper.Backlog, "DeadLetters": h.Letters, "RefundsDue": h.refundsDue,
	} {
		counting.Go(func() {
			n, err := count(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				h.unknown(ctx, name, err)
				return
			}
			figures = append(figures, telemetry.Count(name, n))
		})
	}
	return func() []telemetry.Figure {
		counting.Wait()
		cancel()
		return figures
	}
}

func (h *Handler) unknown(ctx context.Context, figure string, err error) {
	h.Log.WarnContext(ctx, "a figure is not known", "figure", figure, "error", err)
}

func (h *Handler) refundsDue(ctx context.Context) (int64, error) {
	n, err := h.Orders.RefundsDue(ctx)
	return int64(n), err
}
