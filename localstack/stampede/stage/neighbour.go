package stage

import (
	"context"
	"fmt"
	"time"

	"flashsale/localstack/neighbour"
	"flashsale/localstack/stampede/report"
)

// listening is how long the neighbour is heard while nothing else goes on.
const listening = 2 * time.Second

// MoveIn starts the shop's other work on the same database server: what it feels of the sale is in
// the report.
func (s *Stage) MoveIn(ctx context.Context) error {
	business, err := neighbour.MoveIn(ctx, s.pool.Config().ConnString())
	if err != nil {
		return fmt.Errorf("stage: neighbour: %w", err)
	}
	s.later(business.Close)
	working, stop := context.WithCancel(ctx)
	s.later(stop)
	business.Watch(working)
	s.fare = func() report.Rounds {
		r := business.Take()
		return report.Rounds{Done: r.Done, Failed: r.Failed, P95: report.Duration(r.P95), Longest: report.Duration(r.Longest)}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(listening):
	}
	s.quiet = s.fare()
	return nil
}
