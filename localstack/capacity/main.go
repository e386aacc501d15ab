// Command capacity says what must be raised or bought before a sale, what breaks
// first without it, and what it costs; for first come, first served and for the
// lottery side by side. docs/capacity.md explains it.
//
// It promises to ask nobody: no AWS, no network. It ends within seconds.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"flashsale/localstack/capacity/forecast"
)

// benches are where unit costs may be, the newest first.
var benches = []string{"build/bench.json", "docs/bench.json"}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "capacity:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("capacity", flag.ContinueOnError)
	peak := flags.Float64("peak", 300_000, "shoppers who press in the first second if nothing holds them back")
	shoppers := flags.Float64("shoppers", 0, "all who come (5/3 of the peak)")
	items := flags.Float64("items", 10_000, "units on sale")
	spread := flags.Duration("spread", time.Minute, "of the lottery")
	shards := flags.Float64("shards", 1, "of the sale, each on a Redis node of its own")
	warm := flags.Float64("warm", 0, "environments that are there before the opening, WarmEnvironments of the stack")
	had := flags.String("have", "", "what was raised already, such as 'Lambda, concurrency=40000; Kafka, pollers=16', `list`")
	prices := flags.String("prices", "", "a price list, `file` (the built-in one of us-east-1)")
	bench := flags.String("bench", "", "unit costs, `file` (build/bench.json, else docs/bench.json)")
	result := flags.String("o", "build/capacity.json", "where the answer goes as JSON, `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("there is no argument %q, only flags", flags.Arg(0))
	}
	have, err := forecast.ParseHaving(*had)
	if err != nil {
		return err
	}
	files := benches
	if *bench != "" {
		files = []string{*bench}
	}
	measured, err := forecast.ReadMeasured(files...)
	if err != nil {
		return err
	}
	list, err := forecast.ReadPrices(*prices)
	if err != nil {
		return err
	}
	answer, err := forecast.New(forecast.Question{
		Peak: *peak, Shoppers: *shoppers, Items: *items, Spread: *spread, Shards: *shards, Warm: *warm, Have: have,
	}, measured, list)
	if err != nil {
		return err
	}
	if err := write(*result, answer); err != nil {
		return err
	}
	if err := answer.Print(out, list); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "\nThe same with more figures:", *result)
	return err
}

func write(name string, answer forecast.Forecast) error {
	text, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}
