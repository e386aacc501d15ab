package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/localstack/capacity/forecast"
)

func TestCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "capacity")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, append([]string{"-o", filepath.Join(dir, "new", "capacity.json")}, args...)...)
		cmd.Dir = filepath.Join("..", "..")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	said, err := run("-bench", "docs/bench.json", "-peak", "3000", "-items", "100", "-spread", "20s", "-prices", "localstack/capacity/forecast/prices/us-east-1.json")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{"5,000 shoppers", "docs/bench.json (2", "us-east-1", "check the price list", "What breaks first:", "What to ask preflight for:", "What it costs, USD:"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "new", "capacity.json"))
	if err != nil {
		t.Fatal(err)
	}
	var answer forecast.Forecast
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Ways) != 4 || answer.Ways[0].Name != "first-come" || answer.Ways[2].Name != "lottery" {
		t.Errorf("capacity.json has the ways %+v; want first-come and lottery, each twice", answer.Ways)
	}

	for name, args := range map[string][]string{
		"a crowd below its peak": {"-bench", "docs/bench.json", "-peak", "10", "-shoppers", "5"},
		"no number":              {"-bench", "docs/bench.json", "-peak", "NaN"},
		"items that are none":    {"-bench", "docs/bench.json", "-items", "NaN"},
		"shoppers without end":   {"-bench", "docs/bench.json", "-shoppers", "Inf"},
		"more than there are":    {"-bench", "docs/bench.json", "-peak", "1e300"},
		"more of nothing":        {"-bench", "docs/bench.json", "-have", "luck=7"},
		"half a shard":           {"-bench", "docs/bench.json", "-shards", "0.5"},
		"a word too many":        {"-bench", "docs/bench.json", "300000"},
		"no unit costs":          {"-bench", "nowhere.json"},
		"no prices":              {"-bench", "docs/bench.json", "-prices", "nowhere.json"},
	} {
		if said, err := run(args...); err == nil || strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "capacity: ") {
			t.Errorf("%s: %v, %q; want one clear line and an error", name, err, said)
		}
	}
}
