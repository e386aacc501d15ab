// Command chaos breaks the system while it sells, one fault after the other, and prints a table.
//
// It starts servers of its own on loopback, breaks those, and stops them. It promises to end
// within 20 minutes, with status 1 if a promise of the system broke and 2 if a drill could not be done.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/chaos/drill"
)

// limit is for all drills together.
const limit = 19 * time.Minute

var errBroken = errors.New("a promise broke")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	redis.SetLogger(quiet{})
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, errBroken):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(2)
	}
}

// quiet drops what the Redis client would print: it returns the same as errors.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	if drill.IsChild() {
		return drill.Child(ctx)
	}
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	names := flags.String("fault", "", "only these drills, by `name`, separated by commas")
	list := flags.Bool("list", false, "list the drills")
	keep := flags.Bool("keep", false, "leave the servers up for the next run")
	verbose := flags.Bool("v", false, "show what the functions log")
	if err := flags.Parse(args); err != nil {
		return err
	}
	drills, err := chosen(*names)
	if err != nil {
		return err
	}
	if *list {
		for _, d := range drills {
			_, _ = fmt.Fprintf(out, "%-16s %s\n", d.Name, d.Fault)
		}
		return nil
	}
	level := slog.LevelError + 1
	if *verbose {
		level = slog.LevelInfo
	}
	park := drill.Park{Set: "chaos"}
	if !*keep {
		defer func() { err = errors.Join(err, park.Down()) }()
	}
	return all(ctx, drills, park, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})), out)
}

// chosen picks drills by their names; without names all.
func chosen(names string) ([]drill.Drill, error) {
	drills := drill.All()
	if names == "" {
		return drills, nil
	}
	var some []drill.Drill
	for name := range strings.SplitSeq(names, ",") {
		at := slices.IndexFunc(drills, func(d drill.Drill) bool { return d.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("no drill %q; -list shows them", name)
		}
		some = append(some, drills[at])
	}
	return some, nil
}

func all(ctx context.Context, drills []drill.Drill, park drill.Park, log *slog.Logger, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var rows []drill.Row
	var failed error
	for _, d := range drills {
		began := time.Now()
		row, err := d.Run(ctx, park, log)
		_, _ = fmt.Fprintf(out, "%-16s %3.0f s  %s\n", d.Name, time.Since(began).Seconds(), d.Fault)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		rows = append(rows, row)
	}
	_, _ = fmt.Fprintln(out)
	drill.Write(out, rows)
	if slices.ContainsFunc(rows, func(r drill.Row) bool { return len(r.Broken) > 0 }) {
		return errors.Join(errBroken, failed)
	}
	return failed
}
