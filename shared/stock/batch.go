package stock

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// maxCalls bounds a pipeline: Redis reads no more while it works, and a client whose
// bytes nobody reads gives up after a while.
const maxCalls = 8

// A batch groups orders by shard for one script, remembering where each stood.
type batch struct {
	script *redis.Script
	head   []any // arguments before the orders
	calls  []*batchCall
	open   map[int]*batchCall // by shard: the call that still takes orders
}

type batchCall struct {
	keys   []string
	args   []any
	places []int
}

func newBatch(script *redis.Script, head ...any) *batch {
	return &batch{script: script, head: head, open: make(map[int]*batchCall)}
}

func (b *batch) add(shard int, keys []string, place int, args ...any) {
	c := b.open[shard]
	if c == nil || len(c.places) == maxBatch {
		c = &batchCall{keys: keys, args: append([]any(nil), b.head...)}
		b.open[shard] = c
		b.calls = append(b.calls, c)
	}
	c.args = append(c.args, args...)
	c.places = append(c.places, place)
}

// run sends the calls, several in a pipeline, and gives each order's outcome to take.
func (b *batch) run(ctx context.Context, rdb redis.UniversalClient, take func(place int, code int64) error) error {
	for calls := range slices.Chunk(b.calls, maxCalls) {
		if err := b.send(ctx, rdb, calls, take); err != nil {
			return err
		}
	}
	return nil
}

// send makes some calls. A pipeline does not recover from a script that the server
// has forgotten, so those calls are sent again with the script's text.
func (b *batch) send(ctx context.Context, rdb redis.UniversalClient, calls []*batchCall, take func(place int, code int64) error) error {
	pipe := rdb.Pipeline()
	sent := make([]*redis.Cmd, len(calls))
	for i, c := range calls {
		sent[i] = b.script.EvalSha(ctx, pipe, c.keys, c.args...)
	}
	_, _ = pipe.Exec(ctx) // the first error of those below
	for i, c := range calls {
		cmd := sent[i]
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			cmd = b.script.Eval(ctx, rdb, c.keys, c.args...)
		}
		codes, err := cmd.Slice()
		if err != nil {
			return err
		}
		if len(codes) != len(c.places) {
			return fmt.Errorf("%d outcomes for %d orders", len(codes), len(c.places))
		}
		for j, place := range c.places {
			code, err := reply(codes).number(j)
			if err != nil {
				return err
			}
			if err := take(place, code); err != nil {
				return err
			}
		}
	}
	return nil
}
