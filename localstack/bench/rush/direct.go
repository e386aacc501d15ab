package rush

import (
	"context"
	"runtime"
	"strconv"

	"flashsale/localstack/stampede/crowd"
)

// direct presses in this process.
type direct struct {
	target crowd.Target
	item   string
}

// Direct opens doors to a stampede's target.
func Direct(target crowd.Target, item int64) func() (Door, error) {
	d := direct{target, strconv.FormatInt(item, 10)}
	return func() (Door, error) { return d, nil }
}

// Press calls the function. Each press is another shopper's, so it comes behind all
// work that waits: a loop that never lets go of its core for 10 ms would keep the
// answers of Redis and Kafka waiting, and no crowd that comes over a network does that.
func (d direct) Press(ctx context.Context, token string) (int, error) {
	runtime.Gosched()
	return d.target.Answer(ctx, crowd.Call{Action: crowd.Purchase, ID: d.item, Token: token, Key: "bench"}).Code, nil
}

// Close has nothing to end.
func (direct) Close() {}
