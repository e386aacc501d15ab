// Command bench takes the figures of the goals and prints them beside those of peers.
//
// It promises honest peers (see package rival), measured by turns on the same servers
// and cores, and an error instead of figures where a wrong number was sold. A goal that
// is missed is told, and is no error. bench.sh starts the servers and builds what is
// measured; docs/benchmarks.md tells the rest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/bench/measure"
	"flashsale/localstack/bench/rival"
	"flashsale/localstack/bench/table"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	redis.SetLogger(quiet{})
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// quiet drops what the Redis client would print: it returns the same as errors.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func run(ctx context.Context, args []string, out io.Writer) error {
	if rival.IsRival() {
		return rival.Serve(ctx)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "", "only these measures, by `name`, separated by commas")
	file := flags.String("out", "build/bench.json", "a `file` for the rows")
	profile := flags.String("cpuprofile", "", "a `file` for a profile of this process")
	check := flags.Bool("check", false, "only look whether the options are good")
	tools := measure.Tools{Events: "functions"}
	flags.StringVar(&tools.Dev, "dev", "build/dev", "the development server's `program`")
	flags.StringVar(&tools.Programs, "programs", "build/"+runtime.GOARCH, "the `folder` of the functions' programs")
	flags.StringVar(&tools.Emulator, "emulator", "", "the Lambda runtime emulator's `program`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	names, err := table.Choose(*only)
	if err != nil || *check {
		return err
	}
	stop, err := profiled(*profile)
	if err != nil {
		return err
	}
	rows, err := measure.All(ctx, measure.Full(), tools, names, out)
	stop()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		if err := table.Check(rows); err != nil {
			return err
		}
	}
	text, err := table.Encode(rows)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(*file), 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(*file, text, 0o600); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "\n%d cores, %s\n", runtime.NumCPU(), runtime.Version())
	if len(names) != 1 { // one measure has printed its table already
		table.Print(out, rows)
	}
	return nil
}

// profiled profiles until stop is called; without a file it does nothing.
func profiled(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	out, err := os.Create(file) //nolint:gosec // the file that the user named
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = out.Close()
	}, nil
}
