// Command chaos breaks the system while it sells, one fault after the other, and prints a table.
//
// It starts servers of its own on loopback, breaks those, and stops them. It promises to end
// within 20 minutes, with status 1 if a promise of the system broke and 2 if a drill could not be done.
package main

import (
	"bytes"
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
	"sync"
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
	code := status(err)
	if code != 0 {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	os.Exit(code)
}

// status is what the process ends with. That a promise broke comes first.
func status(err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errBroken):
		return 1
	default:
		return 2
	}
}

// judged adds to what could not be done that a promise broke.
func judged(rows []drill.Row, err error) error {
	if slices.ContainsFunc(rows, func(r drill.Row) bool { return len(r.Broken) > 0 }) {
		return errors.Join(errBroken, err)
	}
	return err
}

// quiet drops what the Redis client would print: it returns the same as errors.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func run(ctx context.Context, args []string, out io.Writer) error {
	if drill.IsChild() {
		return drill.Child(ctx)
	}
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	names := flags.String("fault", "", "only these drills, by `name`, separated by commas")
	list := flags.Bool("list", false, "list the drills")
	keep := flags.Bool("keep", false, "leave the servers up for the next run")
	markdown := flags.String("markdown", "", "also write the table to this `file`, as docs/faults.md has it")
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
	rows, err := lanes(ctx, drills, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})), out, *keep)
	return errors.Join(err, write(*markdown, rows))
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

// lanes are two series of drills at once, each on servers of its own.
func lanes(ctx context.Context, drills []drill.Drill, log *slog.Logger, out io.Writer, keep bool) (rows []drill.Row, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var mu, starting sync.Mutex
	var running sync.WaitGroup
	found := map[string]drill.Row{}
	sets := map[string]bool{"chaos": false, "chaos-beside": true}
	for set := range sets {
		// A run that was killed may have left servers behind proxies that are gone.
		if !keep {
			err = errors.Join(err, drill.Park{Set: set}.Down())
		}
	}
	if err != nil {
		return nil, err
	}
	for set, beside := range sets {
		park := drill.Park{Set: set, Starting: &starting}
		if !keep {
			defer func() { err = errors.Join(err, park.Down()) }()
		}
		running.Go(func() {
			for _, d := range drills {
				if d.Beside() != beside {
					continue
				}
				began := time.Now()
				row, failed := d.Run(ctx, park, log)
				mu.Lock()
				_, _ = fmt.Fprintf(out, "%-16s %3.0f s  %s\n", d.Name, time.Since(began).Seconds(), d.Fault)
				if failed == nil {
					found[d.Name] = row
				}
				err = errors.Join(err, failed)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	for _, d := range drills {
		if row, ok := found[d.Name]; ok {
			rows = append(rows, row)
		}
	}
	_, _ = fmt.Fprintln(out)
	drill.Write(out, rows)
	return rows, judged(rows, err)
}

// write puts the table into a file; without a name nowhere.
func write(name string, rows []drill.Row) error {
	if name == "" {
		return nil
	}
	var text bytes.Buffer
	drill.Markdown(&text, rows)
	return os.WriteFile(name, text.Bytes(), 0o644) //nolint:gosec // anybody may read it
}
