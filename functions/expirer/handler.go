// Package expirer ends orders that were not paid in time and gives their units
// back.
//
// It promises that an order ends only after its window and grace, that its unit
// is freed in Redis only after PostgreSQL has committed, and that any number of
// passes at once do no more than one.
package expirer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"flashsale/shared/config"
	"flashsale/shared/giveback"
	"flashsale/shared/order"
	"flashsale/shared/schedule"
	"flashsale/shared/stock"
	"flashsale/shared/telemetry"
)

// batch bounds one transaction, so that a shop's other work on the server never
// waits long for it.
const batch = 500

// Config is what the function takes from its environment.
type Config struct {
	config.Redis
	config.Postgres
	config.Log
}

// A Handler expires orders. It is safe for concurrent use.
type Handler struct {
	Orders *order.Store
	Stock  *stock.Store
	Log    *slog.Logger
	Meter  *telemetry.Meter
	Pause  time.Duration // between the passes of one invocation
}

// A Result counts what the passes did.
type Result struct {
	Expired  int `json:"expired"`
	Released int `json:"released"`
}

// Invoke takes a scheduled event, or {"passes":n}.
func (h *Handler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	var sum Result
	return schedule.Run(ctx, event, h.Pause, &sum, func(ctx context.Context) error {
		done, err := h.Pass(ctx)
		sum.Expired += done.Expired
		sum.Released += done.Released
		return err
	})
}

// Pass expires all that is due and drains the release outbox. A failure of one
// half does not keep the other from its work.
func (h *Handler) Pass(ctx context.Context) (Result, error) {
	var done Result
	var failed error
	for {
		n, err := h.Orders.Expire(ctx, batch)
		done.Expired += n
		if err != nil {
			failed = fmt.Errorf("expirer: %w", err)
			break
		}
		if n < batch {
			break
		}
	}
	released, err := giveback.Drain(ctx, h.Orders, h.Stock)
	done.Released = released
	if done != (Result{}) {
		h.Log.InfoContext(ctx, "expired", "orders", done.Expired, "released", done.Released)
	}
	failed = errors.Join(failed, err)
	// 0 too, because silence is an alarm; but not of a pass that could not look.
	if failed == nil || done != (Result{}) {
		h.Meter.Put(telemetry.Count("Expired", done.Expired), telemetry.Count("Released", done.Released))
	}
	return done, failed
}
