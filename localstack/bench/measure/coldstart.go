package measure

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"flashsale/localstack/bench/table"
	"flashsale/localstack/deploy/emulator"
)

var initTime = regexp.MustCompile(`INIT REPORT\(durationMs: ([0-9.]+)\)`)

// small are the functions without a client of a database or Kafka.
var small = map[string]bool{"saleinfo": true}

// coldStart starts each program in the emulator of Lambda's runtime, and weighs it. The
// time is the init that the emulator reports: until the program asks for its first event.
func (b *bench) coldStart(ctx context.Context) ([]table.Row, error) {
	var times, sizes []table.Row
	for _, name := range b.Functions {
		program, err := filepath.Abs(filepath.Join(b.Programs, name, "bootstrap"))
		if err != nil {
			return nil, err
		}
		found, err := os.Stat(program)
		if err != nil {
			return nil, fmt.Errorf("%w (make build makes it)", err)
		}
		golden, err := filepath.Glob(filepath.Join(b.Events, name, "testdata", "*.json"))
		if err != nil || len(golden) == 0 {
			return nil, fmt.Errorf("%s has no golden event, %w", name, err)
		}
		event, err := os.ReadFile(golden[0])
		if err != nil {
			return nil, err
		}
		var starts []float64
		for range b.Starts {
			took, err := b.start(ctx, emulator.Function{Emulator: b.Emulator, Program: program, Env: b.environment()}, event)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			starts = append(starts, took)
		}
		most := 16.0
		if small[name] {
			most = 8
		}
		times = append(times, table.Alone("cold-start", table.Median(starts...), "ms, "+name, table.Goal{AtMost: 100}))
		sizes = append(sizes, table.Alone("cold-start", float64(found.Size())/1e6, "MB of program, "+name, table.Goal{AtMost: most}))
	}
	return append(times, sizes...), nil
}

func (b *bench) start(ctx context.Context, f emulator.Function, event []byte) (float64, error) {
	e, err := emulator.Start(ctx, f)
	if err != nil {
		return 0, err
	}
	defer e.Stop()
	if _, err := e.Invoke(ctx, event); err != nil {
		return 0, err
	}
	// What it says comes through a pipe, maybe later than the answer.
	for range 100 {
		if init := initTime.FindStringSubmatch(e.Output()); init != nil {
			return strconv.ParseFloat(init[1], 64)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return 0, fmt.Errorf("the emulator did not report the init: %s", e.Output())
}
