package drill

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/localstack/dev/lambda"
)

// twice gives each event to two invocations at once, as a consumer does that loses its partitions
// in the middle of one. Every other time both are given up at once, as if they took too long, and
// go on all the same while the event comes again.
type twice struct {
	writer  lambda.Invoke
	events  atomic.Int64
	running sync.WaitGroup
}

var errGivenUp = errors.New("drill: given up")

func (t *twice) invoke(ctx context.Context, event []byte) ([]byte, error) {
	type answer struct {
		text []byte
		err  error
	}
	first := make(chan answer, 2)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	var both sync.WaitGroup
	for range 2 {
		both.Add(1)
		t.running.Go(func() {
			defer both.Done()
			text, err := t.writer(ctx, event)
			first <- answer{text, err}
		})
	}
	t.running.Go(func() { both.Wait(); cancel() })
	if t.events.Add(1)%2 == 1 {
		return nil, errGivenUp
	}
	a := <-first
	return a.text, a.err
}
