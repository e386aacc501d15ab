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
	Long  bool   // waits for a minute

	cluster    bool          // Redis is the cluster
	parted     bool          // nodes of the cluster, or brokers, can be cut off from each other
	brokers    bool          // Kafka is the three brokers
	shards     int           // of the sale; 0 is one
	window     time.Duration // payment window of the sale; 0 is ten minutes
	child      bool          // the functions run in a process of their own
	explains   excuse        // which false 202s the fault explains
	asleep     bool          // purchases sleep too, so that none is in time
	rowsOff    time.Duration // the database's clock is off
	hostsOff   time.Duration // and that of the hosts
	hosts      []string      // of these functions
	remoteKeys bool          // the tokens' keys are fetched from the provider
	stepping   bool          // the clocks step while it runs
	twice      bool          // two writers have each event at once
	soldOut    bool          // strike when nearly all is sold
	missing    []string      // topics that do not exist when the rush begins: orders, letters
	freezes    string        // the function that the child runs alone; the others are here
	failures   []failpoint   // at which the child kills itself, one after the other

	// strike makes the fault and returns when it is over.
	strike   func(ctx context.Context, s *stage) error
	happened meeting // nil does not ask
	// besides tells what must hold in the end beyond the promises; nil is nothing.
	besides func(ctx context.Context, s *stage) error
}

// An excuse says which 202s may be false after a fault: those that Redis gave while it knew less
// than it had promised.
type excuse int

const (
	none      excuse = iota
	forgotten        // as many as there are 202s that its successor, or an older copy, did not know of
	deleted          // second ones of shoppers whose first hold was deleted, and one for each unit that a deleted hold had without a row
)

const (
	units    = 400
	shoppers = 600
	arrival  = 5 * time.Second // over which the shoppers arrive
	headway  = time.Second     // of the rush before the fault
)

// All lists the drills in the sequence of the table.
func All() []Drill {
	return slices.Concat(redisDrills(), clusterDrills(), partedDrills(), latchedDrills(), kafkaDrills(), postgresDrills(), processDrills(), frozenDrills(), timeDrills(), joinedDrills(), olderDrills(), []Drill{editDrill()}, calmDrill())
}

// Beside tells whether the drill is done while others are, on servers of its own: it waits more than
// it works, or needs servers that the others do not.
func (d Drill) Beside() bool { return d.Long || d.cluster || d.brokers }

// Run does one drill. Its error means that it could not be done; what it found is in the row.
func (d Drill) Run(ctx context.Context, park Park, log *slog.Logger) (row Row, err error) {
	s, err := open(ctx, d, park, log)
	if err != nil {
		return Row{}, fmt.Errorf("%s: %w", d.Name, err)
	}
	defer s.close()
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	row = Row{Name: d.Name, Fault: d.Fault, Shoppers: shoppers, Units: units}

	go s.machine.watch(ctx)
	beside := s.neighbour.Watch(ctx)
	calm := beside.During(ctx, 3*time.Second)
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
	if s.brokers {
		if err := s.findBusy(ctx); err != nil {
			return row, fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	s.struck = time.Now()
	if err := d.strike(ctx, s); err != nil {
		return row, fmt.Errorf("%s: strike: %w", d.Name, err)
	}
	over := time.Now()
	time.AfterFunc(time.Second, func() { close(s.over) })
	<-rushing
	row.Busy = beside.Since(calm)
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
