package drill_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flashsale/localstack/chaos/drill"
)

// TestDocs compares the drills with docs/faults.md: each has its word on what an operator sees, and
// its row in the table of a run, in the sequence and with the columns that the program prints.
func TestDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	told, run, ok := strings.Cut(string(text), "\n## A run\n")
	if !ok {
		t.Fatal("docs/faults.md has no section: A run")
	}
	run, _, _ = strings.Cut(run, "\n## ")
	var want []string
	rows := make([]drill.Row, 0, len(drill.All()))
	for _, d := range drill.All() {
		want = append(want, d.Name)
		rows = append(rows, drill.Row{Name: d.Name})
	}

	name := regexp.MustCompile("`([a-z-]+)`")
	var explained, printed []string
	for line := range strings.Lines(told) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			for _, found := range name.FindAllStringSubmatch(cells[1], -1) {
				explained = append(explained, found[1])
			}
		}
	}
	for line := range strings.Lines(run) {
		if found := name.FindStringSubmatch(line); found != nil && strings.HasPrefix(line, "| `") {
			printed = append(printed, found[1])
		}
	}
	if !slices.Equal(printed, want) {
		t.Errorf("rows of the run: got %q, want %q", printed, want)
	}
	slices.Sort(explained)
	slices.Sort(want)
	if !slices.Equal(explained, want) {
		t.Errorf("drills explained: got %q, want %q", explained, want)
	}

	var table bytes.Buffer
	drill.Markdown(&table, rows)
	head, _, _ := strings.Cut(table.String(), "\n")
	if !strings.Contains(run, "\n"+head+"\n") {
		t.Errorf("the run's columns are not %s", head)
	}
}
