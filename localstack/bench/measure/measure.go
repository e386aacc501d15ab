// Package measure takes the figures of the design's goals, ours beside our peers'.
//
// It promises that what is compared ran in the same minute on the same servers, by
// turns, and that a median stands for the rounds. The generator shares the machine's
// cores with what it measures; all contenders have the same one. A run that sells a
// wrong number of units has no figures: it is an error.
package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"flashsale/localstack/bench/table"
)

// Sizes say how much is done of each.
type Sizes struct {
	Rounds int // by turns, of what is short

	Refusals, Asked    int // events of a round: refused by ourselves, and by asking Redis
	Reserves, Callers  int
	Orders, OneByOne   int // events through the writer, and orders in a transaction each
	Shoppers, Units    int // in one process
	HTTPShoppers       int
	HTTPUnits, Doors   int
	HTTPRounds         int
	Refusing           time.Duration // refusals by HTTP, after the sell-out
	Load               time.Duration // of a purchase environment
	Functions          []string      // whose cold start is measured
	Starts             int           // of each
	BenchmarkedClients int           // of redis-benchmark
}

// Full are the sizes of the goals.
func Full() Sizes {
	return Sizes{
		Rounds: 5, Refusals: 500_000, Asked: 4_000, Reserves: 50_000, Callers: 256, Orders: 10_000, OneByOne: 1500,
		Shoppers: 500_000, Units: 10_000, HTTPShoppers: 50_000, HTTPUnits: 10_000, Doors: 128, HTTPRounds: 2, Refusing: 3 * time.Second,
		Load: 20 * time.Second, Starts: 3, BenchmarkedClients: 50,
		Functions: []string{
			"purchase", "orderstatus", "payment", "saleinfo", "orderwriter", "expirer", "stockkeeper", "saleadmin", "migrate",
		},
	}
}

// Tools are programs that are measured or measured by.
type Tools struct {
	Dev      string // the development server
	Emulator string // of Lambda's runtime
	Programs string // the folder of <function>/bootstrap, for this machine
	Events   string // the folder of functions, with their golden events
}

// All takes all figures, or those of the named measures alone. It tells out how far it is.
func All(ctx context.Context, sizes Sizes, tools Tools, only []string, out io.Writer) (rows []table.Row, err error) {
	start := time.Now()
	b, err := open(ctx, sizes, tools)
	if err != nil {
		return nil, err
	}
	defer b.close()
	measures := map[string]func(context.Context) ([]table.Row, error){
		"refusal": b.refusal, "reserve": b.reserve, "writer": b.writer, "whole-path": b.wholePath,
		"http": b.http, "memory": b.memory, "cold-start": b.coldStart,
	}
	for _, name := range table.Names {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		began := time.Now()
		some, err := measures[name](ctx)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return rows, fmt.Errorf("measure: %s: %w", name, err)
		}
		rows = append(rows, some...)
		_, _ = fmt.Fprintf(out, "%s, after %.0f s of work\n", name, time.Since(began).Seconds())
		table.Print(out, some)
	}
	if len(only) == 0 {
		rows = append(rows, table.Alone(table.Total, time.Since(start).Seconds(), "s for all of it, but building", table.Goal{AtMost: 600}))
	}
	return rows, nil
}
