// Command stampede is the load test that a shop runs before its first sale: a crowd of
// shoppers, an exact account of what they were told, and a report to show around.
//
// Without -target it starts servers of its own and sells there. With one it meets a
// sale that is already set up. It promises to reach nothing but loopback unless
// -remote says so, to send no more shoppers than it was told, to end within its time
// limit, and to exit with 1 if a promise of the system broke, with 2 if it was used
// wrongly or could not do its work, and with 0 only if every promise that it could
// see was kept. docs/loadtest.md tells the rest.
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
	"runtime/debug"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/stampede/crowd"
	"flashsale/localstack/stampede/report"
	"flashsale/localstack/stampede/stage"
	"flashsale/localstack/stampede/target"
)

// memory is where the collector gets busy, so that half a million shoppers fit into 3 GB.
const memory = 2 << 30

// passesASecond is what a small machine gives out while it does nothing else.
const passesASecond = 5000

var errBroken = errors.New("a promise broke")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	redis.SetLogger(quiet{})
	debug.SetMemoryLimit(memory)
	err := run(ctx, os.Args[1:], os.Stdout)
	if ctx.Err() != nil {
		err = errors.New("interrupted; half an account is none")
	}
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errBroken):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "stampede:", err)
		os.Exit(2)
	}
}

// quiet drops what the Redis client would print: it returns the same as errors.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func run(ctx context.Context, args []string, out io.Writer) error {
	s, err := readSettings(args)
	if err != nil {
		return err
	}
	var r *report.Report
	switch {
	case len(s.merge) > 0:
		r, err = merge(s.merge)
	case s.target != "":
		r, err = meet(ctx, s, out)
	default:
		r, err = stageOwn(ctx, s, out)
	}
	if err != nil || ctx.Err() != nil {
		return err
	}
	return publish(r, s.out, out)
}

// crowd is what a crowd is like, whatever it meets.
func (s settings) crowd(out io.Writer) crowd.Config {
	return crowd.Config{
		Shoppers: s.shoppers, Part: s.part, Parts: s.parts, Seed: s.seed, Habits: s.habits, Units: s.units,
		InFlight: s.inFlight, Limit: s.limit, Patience: s.patience, Out: out,
	}
}

// stageOwn sells on servers of its own.
func stageOwn(ctx context.Context, s settings, out io.Writer) (_ *report.Report, err error) {
	_, _ = fmt.Fprintln(out, "starting servers")
	on, err := stage.Up(ctx)
	if !s.keep {
		defer func() { err = errors.Join(err, stage.Down()) }()
	}
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	var own *stage.Stage
	if s.via == "http" {
		own, err = stage.OpenProcess(ctx, on, s.dev, 2*s.inFlight, log)
	} else {
		own, err = stage.Open(ctx, on, log)
	}
	if err != nil {
		return nil, err
	}
	defer own.Close()
	if err := own.MoveIn(ctx); err != nil {
		return nil, err
	}
	tokens, err := own.Login(ctx, s.shoppers, out)
	if err != nil {
		return nil, err
	}
	lead := s.lead
	if s.lottery > 0 { // time for the passes
		lead += time.Duration(s.shoppers/passesASecond) * time.Second
	}
	opens := time.Now().Add(time.Duration(s.habits.Early) + lead).Truncate(time.Millisecond)
	if err := own.Start(ctx, s.units, opens, s.lottery); err != nil {
		return nil, err
	}
	cfg := s.crowd(out)
	cfg.Token, cfg.Opens = func(i int) string { return tokens[i] }, opens
	cfg, to := own.Attract(cfg)
	_, _ = fmt.Fprintf(out, "%d shoppers for %d units, %s, opening in %.1f s\n", s.shoppers, s.units, cfg.Way, time.Until(opens).Seconds())
	return crowd.Run(ctx, cfg, to)
}

// meet goes to a sale that is there.
func meet(ctx context.Context, s settings, out io.Writer) (*report.Report, error) {
	tokens, err := readTokens(s.tokens, s.shoppers)
	if err != nil {
		return nil, err
	}
	found, err := target.Look(ctx, s.target, s.sale, s.item)
	if err != nil {
		return nil, err
	}
	h := target.NewHTTP(s.target, 2*s.inFlight)
	cfg := s.crowd(out)
	cfg.Way, cfg.Target, cfg.Sale, cfg.Item, cfg.Lottery = "target", s.target, s.sale, found.Item, found.Lottery
	cfg.Token = func(i int) string { return tokens[i] }
	switch now := time.Now(); {
	case !s.opens.IsZero():
		cfg.Opens = s.opens
	case found.OpensAt.After(now):
		cfg.Opens = found.OpensAt
	case s.parts > 1:
		return nil, errors.New("the sale is open already, so the parts need a common -open time")
	default:
		cfg.Opens = now.Add(time.Duration(s.habits.Early) + time.Second).Truncate(time.Millisecond)
		cfg.Notes = append(cfg.Notes, "The sale was open already; the crowd's own opening was chosen.")
	}
	if s.units == 0 {
		cfg.Notes = append(cfg.Notes, "The number of units was not given, so over- and underselling were not judged.")
	}
	if s.payURL != "" {
		cfg.Pay = h.Pay(s.payURL)
	} else {
		cfg.Notes = append(cfg.Notes, "Nobody paid: there was no address to pay at.")
	}
	_, _ = fmt.Fprintf(out, "part %d/%d of %d shoppers for item %d at %s, opening in %.1f s\n",
		s.part, s.parts, s.shoppers, found.Item, s.target, time.Until(cfg.Opens).Seconds())
	return crowd.Run(ctx, cfg, h)
}

func merge(files []string) (*report.Report, error) {
	var parts []*report.Report
	for _, name := range files {
		text, err := os.ReadFile(name) //nolint:gosec // the file that the user named
		if err != nil {
			return nil, err
		}
		part, err := report.Decode(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		parts = append(parts, part)
	}
	return report.Merge(parts...)
}

// publish writes the two files and prints the verdict.
func publish(r *report.Report, base string, out io.Writer) error {
	text, err := r.Encode()
	if err != nil {
		return err
	}
	page, err := r.HTML()
	if err != nil {
		return err
	}
	if err := write(base, text, page); err != nil {
		return err
	}
	r.Summarize(out)
	_, _ = fmt.Fprintf(out, "\n%s.json  %s.html\n", base, base)
	if r.Broken {
		return errBroken
	}
	return nil
}
