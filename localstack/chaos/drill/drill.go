// Package drill breaks the system while it sells, and looks whether its promise held.
//
// A drill is one fault during one rush of shoppers, on real servers of our own. When the fault is
// over, whatever is still unsold is bought by fresh shoppers. Then every unit must be sold, none
// twice, every 202 must have its row, and stock + holds = quota must hold in Redis.
package drill

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// A Drill is one fault.
type Drill struct {
	Name  string
	Fault string // in the table
	Quick bool   // also part of `make test`

	cluster  bool          // Redis is the cluster
	brokers  bool          // Kafka is the three brokers
	shards   int           // of the sale; 0 is one
	window   time.Duration // payment window of the sale; 0 is ten minutes
	child    bool          // the functions run in a process of their own
	explains excuse        // which false 202s the fault explains
	asleep   bool          // purchases sleep too, so that none is in time
	clockOff time.Duration // of the rows, so that opinions on the time to pay differ
	late     bool          // records must land after their release, or the drill proves nothing
	soldOut  bool          // strike when nearly all is sold
	noTopic  bool          // the orders topic does not exist when the rush begins
	failures []failpoint   // at which the child kills itself, one after the other

	// strike makes the fault and returns when it is over.
	strike func(ctx context.Context, s *stage) error
}

// An excuse says which 202s may be false after a fault: those that Redis gave while it knew less
// than it had promised.
type excuse int

const (
	none      excuse = iota
	forgotten        // those acknowledged in the last second before a failover: the replica had not heard
	damaged          // those acknowledged between somebody's damage and its repair
)

const (
	units    = 400
	shoppers = 600
	arrival  = 5 * time.Second // over which the shoppers arrive
	headway  = time.Second     // of the rush before the fault
)

// All lists the drills in the sequence of the table.
func All() []Drill {
	return slices.Concat(redisDrills(), clusterDrills(), kafkaDrills(), postgresDrills(), processDrills(), timeDrills())
}

// Run does one drill. Its error means that it could not be done; what it found is in the row.
func (d Drill) Run(ctx context.Context, park Park, log *slog.Logger) (row Row, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	s, err := open(ctx, d, park, log)
	if err != nil {
		return Row{}, fmt.Errorf("%s: %w", d.Name, err)
	}
	defer s.close()
	row = Row{Name: d.Name, Fault: d.Fault, Shoppers: shoppers, Units: units}

	beside := s.neighbour.watch(ctx)
	quiet := beside.during(ctx, time.Second)
	rushing := make(chan struct{})
	go func() {
		defer close(rushing)
		s.rush(ctx, shoppers, arrival)
	}()
	ahead := headway
	if d.soldOut {
		ahead = arrival * units / shoppers
	}
	if err := sleep(ctx, ahead); err != nil {
		return row, err
	}
	s.struck = time.Now()
	if err := d.strike(ctx, s); err != nil {
		return row, fmt.Errorf("%s: strike: %w", d.Name, err)
	}
	over := time.Now()
	<-rushing
	row.Busy = beside.since(quiet)
	row.settle(ctx, s, over)
	return row, ctx.Err()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// during repeats do until d has passed, waiting between.
func during(ctx context.Context, d, between time.Duration, do func() error) error {
	for end := time.Now().Add(d); time.Now().Before(end); {
		if err := do(); err != nil {
			return err
		}
		if err := sleep(ctx, between); err != nil {
			return err
		}
	}
	return nil
}
