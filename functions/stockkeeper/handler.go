// Package stockkeeper keeps Redis in step with PostgreSQL.
//
// Each pass loads the stock of sales that are about to open, asserts window and
// pauses on every shard, rebuilds what Redis has lost, looks after holds that no
// writer has confirmed, compares holds with rows, moves units to shards that wish
// for some, and publishes the catalog and the orders' events. It promises that
// passes may overlap and that trouble with one sale does not keep the others from
// being looked after.
package stockkeeper

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"flashsale/shared/config"
	"flashsale/shared/order"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/schedule"
	"flashsale/shared/stock"
	"flashsale/shared/telemetry"
)

// loadAhead is how long before its opening a sale is loaded. Until then its
// description may still change.
const loadAhead = 10 * time.Minute

// Config is what the function takes from its environment.
type Config struct {
	config.Redis
	config.Kafka
	config.Postgres
	config.Log
}

// A Handler keeps the stock. It is safe for concurrent use.
type Handler struct {
	Orders *order.Store
	Stock  *stock.Store
	Keeper *recovery.Keeper
	Feed   Feed // nil tells nobody: the events wait
	Log    *slog.Logger

	Meter   *telemetry.Meter                     // nil measures nothing
	Letters func(context.Context) (int64, error) // counts the dead letters, for Meter

	Pause time.Duration // between the passes of one invocation
}

// A Result counts what the passes did. Transfers are moves of units between
// shards that stopped half-way; those that went well are not counted.
type Result struct {
	Loaded            int `json:"loaded"`
	Republished       int `json:"republished"`
	Confirmed         int `json:"confirmed"`
	Adopted           int `json:"adopted"`
	Released          int `json:"released"`
	Repaired          int `json:"repaired"`
	TransfersFinished int `json:"transfersFinished"`
}

// Invoke takes a scheduled event, or {"passes":n}.
func (h *Handler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	var sum Result
	return schedule.Run(ctx, event, h.Pause, &sum, func(ctx context.Context) error {
		return h.pass(ctx, &sum)
	})
}

func (h *Handler) pass(ctx context.Context, sum *Result) error {
	began := time.Now()
	counted := h.counting(ctx)
	listings, err := h.Orders.Listings(ctx)
	if err != nil {
		h.tell(ctx, counted, sight{err: err}, 0, err) // records wait in Kafka while PostgreSQL is away
		return err
	}
	before := *sum
	seen := h.look(ctx, listings) // before anything is mended
	failed := h.keepAll(ctx, began, listings, sum)
	h.tell(ctx, counted, seen, sum.mended()-before.mended(), failed)
	return failed
}

func (h *Handler) keepAll(ctx context.Context, began time.Time, listings []sale.Listing, sum *Result) error {
	var failed error
	for i := range listings {
		failed = errors.Join(failed, h.keep(ctx, &listings[i], sum))
	}
	// Last, so that the catalog shows what the pass has just loaded.
	failed = errors.Join(failed, h.Orders.PublishCatalog(ctx, h.Stock.PutCatalog))
	if h.Feed == nil {
		return failed
	}
	return errors.Join(failed, h.relay(ctx, time.Since(began)))
}

func (h *Handler) keep(ctx context.Context, l *sale.Listing, sum *Result) error {
	if !l.Loaded {
		// By the clock that opens it: this host's may be minutes off.
		now, err := h.Stock.Clock(ctx)
		if err != nil || now.Before(l.OpensAt.Add(-loadAhead)) {
			return err
		}
		if !now.Before(l.ClosesAt) {
			// Over, and never loaded. But if Redis has it the database was restored to before the load,
			// and there may be holds whose rows it forgot.
			if lost, err := h.Keeper.Lost(ctx, &l.Sale); err != nil || lost {
				return err
			}
		}
		first, err := h.Keeper.Load(ctx, l.ID)
		if first {
			sum.Loaded++
			h.Log.InfoContext(ctx, "sale loaded", "saleId", l.ID)
		}
		return err
	}
	mended, err := h.mend(ctx, l)
	sum.Adopted += mended.Adopted
	sum.Released += mended.Released
	sum.Repaired += mended.Repaired
	sum.TransfersFinished += mended.TransfersFinished
	if mended != (recovery.Reconciled{}) {
		h.Log.WarnContext(ctx, "Redis and the rows differed", "saleId", l.ID,
			"adopted", mended.Adopted, "released", mended.Released, "repaired", mended.Repaired,
			"transfersFinished", mended.TransfersFinished)
	}
	switch {
	case errors.Is(err, recovery.ErrDraining):
		return nil // there is no shard to sweep; the next pass goes on
	case err != nil:
		return err
	}
	moved, moveErr := h.Keeper.Move(ctx, stock.Of(&l.Sale))
	if moved > 0 {
		h.Log.InfoContext(ctx, "units moved between shards", "saleId", l.ID, "units", moved)
	}
	swept, err := h.Keeper.Sweep(ctx, &l.Sale)
	sum.Republished += swept.Republished
	sum.Confirmed += swept.Confirmed
	sum.Released += swept.Released
	if swept != (recovery.Swept{}) {
		h.Log.WarnContext(ctx, "holds that no writer had confirmed", "saleId", l.ID,
			"republished", swept.Republished, "confirmed", swept.Confirmed, "released", swept.Released)
	}
	return errors.Join(moveErr, err)
}

// mend brings a loaded sale's shards to what the rows say.
func (h *Handler) mend(ctx context.Context, l *sale.Listing) (recovery.Reconciled, error) {
	lost, err := h.Keeper.Lost(ctx, &l.Sale)
	if err != nil {
		return recovery.Reconciled{}, err
	}
	if !lost {
		return h.Keeper.Reconcile(ctx, &l.Sale)
	}
	h.Log.ErrorContext(ctx, "Redis has lost a sale, it is being rebuilt", "saleId", l.ID)
	return h.Keeper.Rebuild(ctx, &l.Sale)
}
