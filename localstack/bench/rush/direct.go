package rush

import (
	"context"
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

// Press calls the function.
func (d direct) Press(ctx context.Context, token string) (int, error) {
	return d.target.Answer(ctx, crowd.Call{Action: crowd.Purchase, ID: d.item, Token: token, Key: "bench"}).Code, nil
}

// Close has nothing to end.
func (direct) Close() {}
