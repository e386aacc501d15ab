// Package schedule runs a scheduled function's passes.
//
// EventBridge fires at most once a minute and at least once. So a scheduled
// event means two passes, half a minute apart, and the package promises nothing
// about overlap: every pass must be safe to run twice at once.
package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Pause is how long a deployed function waits between its two passes.
const Pause = 30 * time.Second

// maxPasses keeps a typing error from running a function until its timeout.
const maxPasses = 100

// event is EventBridge's scheduled event, or an operator's {"passes":n}.
type event struct {
	Source string `json:"source"`
	Passes *int   `json:"passes"`
}

// Run calls pass as often as the event says, pause apart, and answers with what
// sum points to. A pass that fails does not keep the next from running; the
// errors are joined, so the invocation is seen to have failed.
func Run(ctx context.Context, payload []byte, pause time.Duration, sum any, pass func(context.Context) error) ([]byte, error) {
	n, err := passes(payload)
	if err != nil {
		return nil, err
	}
	var failed error
	for i := range n {
		if i > 0 {
			if err := wait(ctx, pause); err != nil {
				return nil, errors.Join(failed, err)
			}
		}
		failed = errors.Join(failed, pass(ctx))
	}
	if failed != nil {
		return nil, failed
	}
	return json.Marshal(sum)
}

func passes(payload []byte) (int, error) {
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return 0, fmt.Errorf("schedule: neither a scheduled event nor {\"passes\":n}: %w", err)
	}
	switch {
	case e.Source == "aws.events":
		return 2, nil
	case e.Passes == nil:
		return 0, errors.New(`schedule: neither a scheduled event nor {"passes":n}`)
	case *e.Passes < 1 || *e.Passes > maxPasses:
		return 0, fmt.Errorf("schedule: passes must be 1 to %d", maxPasses)
	}
	return *e.Passes, nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("schedule: %w", ctx.Err())
	}
}
