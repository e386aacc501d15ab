package table_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"flashsale/localstack/bench/table"
)

func all() []table.Row {
	return []table.Row{
		table.Beside("refusal", 500_000, "a second", "redis", 10_000, table.Goal{AtLeast: 50}),
		table.Beside("reserve", 30_000, "a second", "redis-benchmark", 60_000, table.Goal{AtLeast: 0.7}),
		table.Beside("writer", 1, "a second", "insert", 2, table.Goal{}),
		table.Alone("whole-path", 0.9, "s", table.Goal{AtMost: 1}),
		table.Beside("http", 2, "s", "article", 20, table.Goal{AtMost: 0.125}),
		table.Alone("memory", 40, "MB", table.Goal{AtMost: 64}),
		table.Alone("cold-start", 120, "ms", table.Goal{AtMost: 100}),
		table.Alone("total", 400, "s", table.Goal{AtMost: 600}),
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	text, err := table.Encode(all())
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]any
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 8 {
		t.Fatalf("rows: got %d, want 8", len(rows))
	}
	for _, row := range rows {
		for _, field := range []string{"name", "value", "unit", "peer", "peer_value", "ratio"} {
			if _, ok := row[field]; !ok {
				t.Errorf("%s: no field %q", row["name"], field)
			}
		}
		if len(row) != 6 {
			t.Errorf("%s: got %d fields, want 6", row["name"], len(row))
		}
	}
	if rows[4]["ratio"] != 0.1 || rows[4]["peer_value"] != 20.0 || rows[3]["ratio"] != nil || rows[3]["peer"] != nil {
		t.Errorf("got %v and %v, want a ratio of 0.1, and null without a peer", rows[4], rows[3])
	}
}

func TestGoals(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	table.Print(&out, all())
	for line := range strings.Lines(out.String()) {
		missed := strings.HasPrefix(line, "reserve") || strings.HasPrefix(line, "cold-start")
		if got := strings.Contains(line, "missed"); got != missed {
			t.Errorf("missed: got %t, want %t: %s", got, missed, line)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	if err := table.Check(all()); err != nil {
		t.Errorf("a whole table: got %v, want nil", err)
	}
	for name, rows := range map[string][]table.Row{
		"without memory":         slices.Delete(all(), 5, 6),
		"without its time":       all()[:7],
		"an unknown measure":     append(all(), table.Alone("speed", 1, "", table.Goal{})),
		"a refusal without peer": append(all(), table.Alone("refusal", 1, "", table.Goal{})),
	} {
		if table.Check(rows) == nil {
			t.Errorf("%s: got nil, want an error", name)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][]string{"": nil, "memory": {"memory"}, "writer,refusal": {"writer", "refusal"}} {
		if got, err := table.Choose(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v; want %q", list, got, err, want)
		}
	}
	for _, list := range []string{"typo", "refusal,typo", "refusal,", "total", " memory"} {
		if got, err := table.Choose(list); err == nil {
			t.Errorf("%q: got %q, want an error", list, got)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for want, values := range map[float64][]float64{0: nil, 3: {9, 3, 1}, 2.5: {4, 2, 3, 1}} {
		if got := table.Median(values...); got != want {
			t.Errorf("median of %v: got %v, want %v", values, got, want)
		}
	}
}
