package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"flashsale/localstack/stampede/report"
)

const (
	maxShoppers = 2_000_000
	maxLimit    = time.Hour
)

// settings is what the command line says, checked.
type settings struct {
	shoppers, units int
	part, parts     int
	seed            uint64
	habits          report.Habits
	inFlight        int
	limit, patience time.Duration
	out             string

	via, dev string // the own stage
	lead     time.Duration
	lottery  time.Duration
	keep     bool

	target, tokens, payURL string
	sale, item             int64
	opens                  time.Time

	merge []string
}

func readSettings(args []string) (settings, error) {
	var s settings
	var part, open string
	var remote, merging bool
	flags := flag.NewFlagSet("stampede", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&s.shoppers, "shoppers", 20_000, "how many shoppers, over all parts")
	flags.IntVar(&s.units, "items", 0, "units on sale; with a target 0 is unknown, without one a fiftieth of the shoppers")
	flags.Uint64Var(&s.seed, "seed", 1, "what the shoppers do is drawn from it")
	flags.IntVar(&s.inFlight, "inflight", 0, "purchases at a time, and as many other calls (256; with a target 1000)")
	flags.DurationVar(&s.limit, "limit", 5*time.Minute, "the rush ends after it, whoever is still inside")
	flags.DurationVar(&s.patience, "patience", time.Minute, "after the rush, for orders to be written and units to come back")
	flags.StringVar(&s.out, "out", "", "reports are `path`.json and .html (build/stampede)")
	flags.Float64Var(&s.habits.EarlyShare, "early-share", 0.1, "share that arrives before the opening")
	flags.DurationVar((*time.Duration)(&s.habits.Early), "early", 2*time.Second, "at most this much before")
	flags.DurationVar((*time.Duration)(&s.habits.Spread), "spread", 10*time.Second, "the others arrive within it")
	flags.Float64Var(&s.habits.Double, "double", 0.05, "share that clicks twice")
	flags.Float64Var(&s.habits.DropOut, "dropout", 0.01, "share that never reads the answer")
	flags.Float64Var(&s.habits.Pay, "pay", 0.7, "share of those with an order that pays")
	flags.Float64Var(&s.habits.Cancel, "cancel", 0.05, "share of those with an order that cancels")
	flags.StringVar(&s.via, "via", "direct", "without a target: direct calls the functions in this process, http a development server")
	flags.StringVar(&s.dev, "dev", "build/dev", "the development server's `program`, for -via http")
	flags.DurationVar(&s.lottery, "lottery", 0, "without a target: the sale admits its shoppers one after another over it, by passes (with one, the sale says so)")
	flags.BoolVar(&s.keep, "keep", false, "leave the own servers up for the next run")
	flags.StringVar(&s.target, "target", "", "the `address` of a sale that is set up, before /api")
	flags.BoolVar(&remote, "remote", false, "the target may be another machine")
	flags.StringVar(&s.tokens, "tokens", "", "a `file` with one bearer token a line, for the target")
	flags.StringVar(&part, "part", "1/1", "which part of the shoppers comes from here, such as 2/8; needs a target")
	flags.Int64Var(&s.sale, "sale", 0, "the target's sale `id`")
	flags.Int64Var(&s.item, "item", 0, "the item's `id`, if the sale has several")
	flags.StringVar(&s.payURL, "pay-url", "", "an `address` with {orderId} that pays an order by POST")
	flags.StringVar(&open, "open", "", "without a target: how long after the set-up the first may come (3s); with one: the opening as a `time`, if it is not the sale's")
	flags.BoolVar(&merging, "merge", false, "merge the reports named as arguments")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(os.Stdout)
		flags.Usage()
		return s, err
	case err != nil:
		return s, err
	}
	if s.part, s.parts, err = report.ParsePart(part); err != nil {
		return s, err
	}
	if merging {
		s.merge = flags.Args()
		s.out = cmp.Or(s.out, "build/stampede")
		if len(s.merge) == 0 {
			return s, errors.New("-merge needs reports to merge")
		}
		return s, nil
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if err := s.check(); err != nil {
		return s, err
	}
	if s.target != "" {
		return s, s.completeTarget(open, remote)
	}
	return s, s.completeOwn(open)
}

func (s *settings) check() error {
	h := s.habits
	switch {
	case s.shoppers < 1 || s.shoppers > maxShoppers:
		return fmt.Errorf("-shoppers %d is not 1 to %d", s.shoppers, maxShoppers)
	case s.parts > s.shoppers:
		return fmt.Errorf("%d shoppers do not fill %d parts", s.shoppers, s.parts)
	case s.units < 0 || s.inFlight < 0:
		return errors.New("-items and -inflight are not negative")
	case s.limit < time.Second || s.limit > maxLimit:
		return fmt.Errorf("-limit %s is not 1s to %s", s.limit, maxLimit)
	case s.patience < time.Second || s.patience > maxLimit:
		return fmt.Errorf("-patience %s is not 1s to %s", s.patience, maxLimit)
	case h.Early < 0 || h.Spread < report.Duration(time.Millisecond):
		return errors.New("-early is 0s or more, -spread 1ms or more")
	case s.lottery < 0 || s.lottery > maxLimit:
		return fmt.Errorf("-lottery %s is not 0s to %s", s.lottery, maxLimit)
	case s.via != "direct" && s.via != "http":
		return fmt.Errorf("-via %q is not direct or http", s.via)
	}
	for name, share := range map[string]float64{
		"early-share": h.EarlyShare, "double": h.Double, "dropout": h.DropOut, "pay": h.Pay, "cancel": h.Cancel, "pay and -cancel": h.Pay + h.Cancel,
	} {
		if !(share >= 0 && share <= 1.000001) { // NaN too
			return fmt.Errorf("-%s %v is no share from 0 to 1", name, share)
		}
	}
	return nil
}

func (s *settings) completeOwn(open string) (err error) {
	for name, set := range map[string]bool{
		"-tokens": s.tokens != "", "-part": s.parts > 1, "-sale": s.sale != 0, "-item": s.item != 0, "-pay-url": s.payURL != "",
	} {
		if set {
			return fmt.Errorf("%s needs a -target", name)
		}
	}
	s.units = cmp.Or(s.units, max(1, s.shoppers/50))
	s.inFlight = cmp.Or(s.inFlight, 256)
	s.out = cmp.Or(s.out, "build/stampede")
	s.lead, err = time.ParseDuration(cmp.Or(open, "3s"))
	if err != nil || s.lead < time.Second || s.lead > time.Hour {
		return fmt.Errorf("-open %q is not a duration from 1s to 1h", open)
	}
	if s.via == "http" {
		if _, err := os.Stat(s.dev); err != nil {
			return fmt.Errorf("-dev: %w (make run builds it)", err)
		}
	}
	return nil
}

func (s *settings) completeTarget(open string, remote bool) error {
	u, err := url.Parse(s.target)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" {
		return errors.New("-target is not an address such as https://host/stage")
	}
	switch {
	case !remote && !isLoopback(u.Hostname()):
		return fmt.Errorf("%s is another machine. A stampede is an attack unless its owner agreed: -remote (make: REMOTE=yes) says that they did", u.Host)
	case s.sale < 1:
		return errors.New("a target needs -sale")
	case s.tokens == "":
		return errors.New("a target needs -tokens, a file with one bearer token a line")
	case s.via != "direct":
		return errors.New("-via is for a stampede without a target")
	case s.lottery != 0:
		return errors.New("-lottery is for a stampede without a target, whose sale has one or not")
	case s.payURL != "" && !strings.Contains(s.payURL, "{orderId}"):
		return errors.New("-pay-url has no {orderId} in it")
	}
	if s.payURL != "" {
		p, err := url.Parse(s.payURL)
		if err != nil || p.Host == "" {
			return errors.New("-pay-url is no address")
		}
		if !remote && !isLoopback(p.Hostname()) {
			return fmt.Errorf("-pay-url: %s is another machine; -remote allows it", p.Host)
		}
	}
	if open != "" {
		if s.opens, err = time.Parse(time.RFC3339, open); err != nil {
			return fmt.Errorf("-open %q is not a time such as 2026-12-01T18:00:00Z", open)
		}
	}
	s.inFlight = cmp.Or(s.inFlight, 1000)
	base := "build/stampede"
	if s.parts > 1 {
		base = fmt.Sprintf("build/stampede-%dof%d", s.part, s.parts)
	}
	s.out = cmp.Or(s.out, base)
	return nil
}

// isLoopback judges names by what they are, not by what a resolver says they are.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// readTokens reads as many tokens as there are shoppers: line i is shopper i, in every part.
func readTokens(path string, n int) ([]string, error) {
	file, err := os.Open(path) //nolint:gosec // the file that the user named
	if err != nil {
		return nil, fmt.Errorf("-tokens: %w", err)
	}
	defer func() { _ = file.Close() }()
	tokens := make([]string, 0, n)
	scan := bufio.NewScanner(file)
	for len(tokens) < n && scan.Scan() {
		if token := strings.TrimSpace(scan.Text()); token != "" {
			tokens = append(tokens, token)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("-tokens: %w", err)
	}
	if len(tokens) < n {
		return nil, fmt.Errorf("-tokens: %s has %d tokens, %d shoppers need one each", path, len(tokens), n)
	}
	return tokens, nil
}

func write(base string, text, page []byte) error {
	if err := os.MkdirAll(filepath.Dir(base), 0o750); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(base+".json", text, 0o600), os.WriteFile(base+".html", page, 0o600))
}
