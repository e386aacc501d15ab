// Package rush lets many shoppers press "Buy" at once, as fast as the sale answers.
//
// It promises that each shopper presses until the answer is final, and that it counts
// every answer. It is leaner than a stampede, whose shoppers also double-click, poll
// and pay: here the generator shares the cores with what it measures.
package rush

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Door is a place at which one shopper after the other presses.
type Door interface {
	// Press returns the status of the answer. An error means that there was none.
	Press(ctx context.Context, token string) (status int, err error)
	Close()
}

// wait is before a shopper who was told to try again does so: what the API asks for.
const wait = time.Second

// A Result is a rush, seen by its shoppers.
type Result struct {
	Accepted []time.Duration // after the opening, ascending
	Refused  int             // 409 and 410
	Again    int             // other answers, after which a shopper pressed again
	Took     time.Duration
}

// Last is when the last unit was accepted.
func (r Result) Last() time.Duration {
	if len(r.Accepted) == 0 {
		return 0
	}
	return r.Accepted[len(r.Accepted)-1]
}

// Run opens that many doors and, at the opening, lets one shopper for each token press.
func Run(ctx context.Context, open func() (Door, error), doors int, tokens []string, opens time.Time) (Result, error) {
	all := make([]Door, doors)
	for i := range all {
		door, err := open()
		if err != nil {
			return Result{}, fmt.Errorf("rush: %w", err)
		}
		defer door.Close()
		all[i] = door
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &queue{tokens: tokens, opens: opens, back: make(chan int, len(tokens)), won: make([][]time.Duration, doors)}
	c.left.Store(int64(len(tokens)))
	time.Sleep(time.Until(opens))
	var pressing sync.WaitGroup
	for i, door := range all {
		pressing.Go(func() {
			if err := c.press(ctx, door, i); err != nil {
				cancel(fmt.Errorf("rush: %w", err))
			}
		})
	}
	pressing.Wait()
	r := Result{
		Accepted: slices.Sorted(slices.Values(slices.Concat(c.won...))), Refused: int(c.refused.Load()),
		Again: int(c.again.Load()), Took: time.Since(opens),
	}
	return r, context.Cause(ctx)
}

type queue struct {
	tokens []string
	opens  time.Time
	next   atomic.Int64
	left   atomic.Int64 // shoppers without a final answer
	back   chan int     // those who press again
	won    [][]time.Duration

	refused, again atomic.Int64
}

func (c *queue) press(ctx context.Context, door Door, at int) error {
	for {
		shopper, ok := c.shopper(ctx)
		if !ok {
			return nil
		}
		status, err := door.Press(ctx, c.tokens[shopper])
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case status == 202:
			c.won[at] = append(c.won[at], time.Since(c.opens))
		case status == 409 || status == 410:
			c.refused.Add(1)
		case status == 503 || status == 429 || status == 403:
			c.again.Add(1)
			time.AfterFunc(wait, func() { c.back <- shopper })
			continue
		default:
			return fmt.Errorf("a shopper was answered %d", status)
		}
		if c.left.Add(-1) == 0 {
			close(c.back)
		}
	}
}

// shopper is who presses next: those who have not yet, then those who wait.
func (c *queue) shopper(ctx context.Context) (int, bool) {
	if i := c.next.Add(1) - 1; i < int64(len(c.tokens)) {
		return int(i), true
	}
	select {
	case i, ok := <-c.back:
		return i, ok
	case <-ctx.Done():
		return 0, false
	}
}

// Refusals lets losers press for a while, all doors at once, and returns the refusals a
// second.
func Refusals(ctx context.Context, open func() (Door, error), doors int, losers []string, during time.Duration) (float64, error) {
	var n, next atomic.Int64
	var mu sync.Mutex
	var failed error
	var pressing sync.WaitGroup
	began := time.Now()
	for range doors {
		pressing.Go(func() {
			door, err := open()
			if err == nil {
				defer door.Close()
				for err == nil && time.Since(began) < during {
					var status int
					status, err = door.Press(ctx, losers[int(next.Add(1))%len(losers)])
					if err == nil && status != 410 {
						err = fmt.Errorf("rush: a loser was answered %d", status)
					}
					n.Add(1)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	pressing.Wait()
	return float64(n.Load()) / time.Since(began).Seconds(), failed
}
