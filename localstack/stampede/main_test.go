package main_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/localstack/stampede/liar"
	"flashsale/localstack/stampede/report"
)

// binary is the command, built by TestMain: what it exits with is part of its promise.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	folder, err := os.MkdirTemp("", "flashsale-stampede-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "stampede:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	binary = filepath.Join(folder, "stampede")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".") //nolint:noctx // bounded by the test
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "stampede: build: %v: %s\n", err, output)
		return 1
	}
	// The tests wait more than they compute, so they need not wait for a core of their own.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, "stampede:", err)
		return 1
	}
	return m.Run()
}

// stampede runs the command in a folder and returns its exit code and all it printed.
func stampede(t *testing.T, folder string, args ...string) (int, string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, args...)
	command.Dir = folder
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	if command.ProcessState == nil {
		t.Fatalf("stampede: %v", err)
	}
	return command.ProcessState.ExitCode(), output.String()
}

const shoppers, units = 200, 20

// meet are the arguments for a liar.
func meet(t *testing.T, folder string, shop *liar.Shop, more ...string) []string {
	t.Helper()
	server := httptest.NewServer(shop)
	t.Cleanup(server.Close)
	var tokens strings.Builder
	for i := range shoppers {
		fmt.Fprintf(&tokens, "shopper-%d\n", i)
	}
	file := filepath.Join(folder, "tokens")
	if err := os.WriteFile(file, []byte(tokens.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return append([]string{
		"-target", server.URL, "-tokens", file, "-sale", fmt.Sprint(liar.Sale), "-shoppers", fmt.Sprint(shoppers), "-items", fmt.Sprint(units),
		"-pay-url", server.URL + "/pay/{orderId}", "-early", "0s", "-spread", "300ms", "-double", "0.3", "-dropout", "0.1", "-cancel", "0.2",
		"-pay", "0.6", "-patience", "3s", "-limit", "30s",
	}, more...)
}

func read(t *testing.T, path string) *report.Report {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := report.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The verdict is worth something only if it can be the other one.
func TestVerdict(t *testing.T) {
	t.Parallel()
	for lie, broken := range map[liar.Lie]string{
		liar.Honest:         "",
		liar.Flaky:          "",
		liar.GivesUp:        "",
		liar.Late:           "",
		liar.OneTooMany:     "Never one too many",
		liar.LosesOrder:     "Never one lost",
		liar.ShowsAnother:   "Nobody sees another's order",
		liar.SecondOrder:    "One order for a shopper",
		liar.SameOrder:      "Answers and order ids agree",
		liar.KeepsUnit:      "Nothing undersold",
		liar.Rejects:        "Never one lost",
		liar.ForgetsPayment: "Payments and cancels last",
		liar.ForgetsCancel:  "Payments and cancels last",
		liar.NeverWrites:    "Every order is written",
		liar.Breaks:         "No strange answers",
		liar.OnlyBusy:       "Every shopper is accounted for",
		liar.HadBefore:      "Nobody sees another's order",
		liar.Draws:          "",
		liar.AdmitsEarly:    "Nobody buys before the own turn",
		liar.NeverAdmits:    "Every shopper is accounted for",
	} {
		t.Run(string(lie), func(t *testing.T) {
			t.Parallel()
			folder, shop, want := t.TempDir(), liar.New(lie, units), 0
			more := []string{}
			if broken != "" {
				want = 1
			}
			if lie == liar.OnlyBusy || lie == liar.NeverAdmits {
				more = append(more, "-limit", "4s") // else they try for a minute
			}
			if lie == liar.Draws || lie == liar.AdmitsEarly {
				more = append(more, "-early", "500ms", "-early-share", "0.2") // who press before their turn
			}
			code, output := stampede(t, folder, meet(t, folder, shop, more...)...)
			if code != want {
				t.Errorf("exit code %d, want %d; it said\n%s", code, want, output)
			}
			r := read(t, filepath.Join(folder, "build", "stampede.json"))
			kept := true
			for _, p := range r.Promises {
				if p.Name == broken {
					kept = p.Kept
				}
			}
			if broken != "" && kept {
				t.Errorf("promise %q is kept, want broken: %+v", broken, r.Promises)
			}
			if (lie == liar.Honest || lie == liar.Late || lie == liar.Draws) && (r.Orders.Active() != units || shop.Held() != units) {
				t.Errorf("orders with a unit: reported %d, in the shop %d, want %d", r.Orders.Active(), shop.Held(), units)
			}
		})
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	for _, lie := range []liar.Lie{liar.Honest, liar.Late} {
		t.Run(string(lie), func(t *testing.T) {
			t.Parallel()
			testParts(t, liar.New(lie, units))
		})
	}
}

// testParts has two parts at a shop, whose merged verdict must be that of a single run.
func testParts(t *testing.T, shop *liar.Shop) {
	t.Helper()
	folder := t.TempDir()
	args := meet(t, folder, shop, "-open", time.Now().Add(2*time.Second).Truncate(time.Second).Add(time.Second).Format(time.RFC3339))
	done := make(chan string, 2)
	for _, part := range []string{"1/2", "2/2"} {
		go func() {
			code, output := stampede(t, folder, slices.Concat(args, []string{"-part", part})...)
			if code != 0 {
				t.Errorf("part %s: exit code %d, want 0; it said\n%s", part, code, output)
			}
			done <- part
		}()
	}
	<-done
	<-done
	one, two := filepath.Join(folder, "build", "stampede-1of2.json"), filepath.Join(folder, "build", "stampede-2of2.json")
	code, output := stampede(t, folder, "-merge", "-out", "whole", one, two)
	if code != 0 {
		t.Fatalf("merge: exit code %d, want 0; it said\n%s", code, output)
	}
	whole := read(t, filepath.Join(folder, "whole.json"))
	if whole.Shoppers != shoppers || shop.Shoppers() != shoppers {
		t.Errorf("shoppers: merged %d, in the shop %d, want %d", whole.Shoppers, shop.Shoppers(), shoppers)
	}
	if whole.Orders.Active() != units || whole.Orders.Told != whole.Orders.IDs.Distinct() {
		t.Errorf("orders: %d with a unit, %d told of, %d different; want %d with a unit, and no difference",
			whole.Orders.Active(), whole.Orders.Told, whole.Orders.IDs.Distinct(), units)
	}
	if code, output := stampede(t, folder, "-merge", one, one); code != 2 || !strings.Contains(output, "twice") {
		t.Errorf("the same part twice: exit code %d, %q, want 2 and what is wrong", code, output)
	}
	if code, output := stampede(t, folder, "-merge", "-out", "half", one); code != 0 || !strings.Contains(output, "missing: 2/2") {
		t.Errorf("one part of two: exit code %d, want 0 and a note; it said\n%s", code, output)
	}
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "few")
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ args, want string }{
		"another machine":      {"-target http://192.0.2.1 -sale 7 -tokens few", "another machine"},
		"a name that is none":  {"-target http://localhost.example.com -sale 7 -tokens few", "another machine"},
		"pays elsewhere":       {"-target http://localhost:1 -sale 7 -tokens few -pay-url http://192.0.2.1/{orderId}", "another machine"},
		"pays one order":       {"-target http://localhost:1 -sale 7 -tokens few -pay-url http://localhost/pay", "{orderId}"},
		"no address":           {"-target localhost:3000", "-target"},
		"no sale":              {"-target http://localhost:1 -tokens few", "-sale"},
		"no tokens":            {"-target http://localhost:1 -sale 7", "-tokens"},
		"too few tokens":       {"-target http://localhost:1 -sale 7 -tokens few -shoppers 3", "has 2 tokens"},
		"no token file":        {"-target http://localhost:1 -sale 7 -tokens none", "none"},
		"nobody is there":      {"-target http://127.0.0.1:1 -sale 7 -tokens few -shoppers 2", "status 0"},
		"part without target":  {"-part 1/2", "needs a -target"},
		"no part":              {"-part 3/2", "3/2"},
		"nobody":               {"-shoppers 0", "-shoppers"},
		"too many":             {"-shoppers 2000001", "-shoppers"},
		"no share":             {"-pay 0.8 -cancel 0.3", "share"},
		"no limit":             {"-limit 0s", "-limit"},
		"too long":             {"-limit 2h", "-limit"},
		"no way":               {"-via pigeon", "pigeon"},
		"no server program":    {"-via http -dev ./none", "none"},
		"no lead":              {"-open soon", "soon"},
		"no lottery":           {"-lottery -1s", "-lottery"},
		"the target's lottery": {"-target http://localhost:1 -sale 7 -tokens few -lottery 3s", "-lottery"},
		"unknown flag":         {"-shopers 3", "shopers"},
		"unknown argument":     {"now", "now"},
		"nothing to merge":     {"-merge", "-merge"},
		"merge what is none":   {"-merge few", "few"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, output := stampede(t, folder, strings.Fields(test.args)...)
			if code != 2 || !strings.Contains(output, test.want) || strings.Count(output, "\n") != 1 {
				t.Errorf("exit code %d, %q; want 2 and one line with %q", code, output, test.want)
			}
		})
	}
}
