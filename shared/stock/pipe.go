package stock

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxPiped bounds the calls that are sent together: the first waits for the last.
	maxPiped = 128
	// A round trip that takes as long as pipeStalls may be on a dead connection. So a
	// further one is begun beside it, up to maxPipes: nobody queues behind a dead socket.
	pipeStalls = 20 * time.Millisecond
	maxPipes   = 8
)

// A pipe sends the calls that concurrent callers make of one script in one shard
// together. While a round trip is under way the next calls gather, so a lone
// caller waits for nobody and a crowd costs few packets. Nothing is left in it
// once its callers have gone, so an environment may be frozen then.
type pipe struct {
	script *redis.Script

	mu      sync.Mutex
	queue   []*piped
	senders int
	sent    time.Time // when the last round trip began
}

type piped struct {
	ctx  context.Context
	keys []string
	args []any
	done chan struct{} // closed when cmd is answered
	cmd  *redis.Cmd
}

// run makes one call. After an error its outcome is unknown, as always; a call
// that was not sent before its ctx ended never is.
func (p *pipe) run(ctx context.Context, rdb redis.UniversalClient, keys []string, args ...any) (reply, error) {
	c := &piped{ctx: ctx, keys: keys, args: args, done: make(chan struct{})}
	p.mu.Lock()
	p.queue = append(p.queue, c)
	idle := p.senders == 0 || p.senders < maxPipes && time.Since(p.sent) > pipeStalls
	if idle {
		p.senders++
		p.sent = time.Now()
	}
	p.mu.Unlock()
	if idle {
		go p.send(rdb)
	}
	select {
	case <-c.done:
		return c.cmd.Slice()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// send works until the queue is empty.
func (p *pipe) send(rdb redis.UniversalClient) {
	for {
		runtime.Gosched() // callers that are about to queue are faster than a round trip
		calls := p.take()
		if calls == nil {
			return
		}
		p.exchange(rdb, calls)
		for _, c := range calls {
			close(c.done)
		}
	}
}

// take returns the next calls whose callers still wait; nil ends the sender.
func (p *pipe) take() []*piped {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls := make([]*piped, 0, min(len(p.queue), maxPiped))
	n := 0
	for ; n < len(p.queue) && len(calls) < maxPiped; n++ {
		if c := p.queue[n]; c.ctx.Err() == nil {
			calls = append(calls, c)
		}
	}
	p.queue = p.queue[n:]
	if len(calls) == 0 {
		p.senders--
		p.queue = nil // it is empty
		return nil
	}
	p.sent = time.Now()
	return calls
}

// exchange has all calls answered. A pipeline does not recover from a script that
// the server has forgotten, so those calls are sent again with the script's text.
func (p *pipe) exchange(rdb redis.UniversalClient, calls []*piped) {
	ctx, cancel := patience(calls)
	defer cancel()
	pipeline := rdb.Pipeline()
	for _, c := range calls {
		c.cmd = p.script.EvalSha(ctx, pipeline, c.keys, c.args...)
	}
	_, _ = pipeline.Exec(ctx) // the first error of those below
	for _, c := range calls {
		if redis.HasErrorPrefix(c.cmd.Err(), "NOSCRIPT") {
			c.cmd = p.script.Eval(ctx, pipeline, c.keys, c.args...)
		}
	}
	if pipeline.Len() > 0 {
		_, _ = pipeline.Exec(ctx)
	}
}

// patience ends with the last caller's.
func patience(calls []*piped) (context.Context, context.CancelFunc) {
	var last time.Time
	for _, c := range calls {
		deadline, ok := c.ctx.Deadline()
		if !ok {
			return context.WithCancel(context.Background())
		}
		if deadline.After(last) {
			last = deadline
		}
	}
	return context.WithDeadline(context.Background(), last)
}
