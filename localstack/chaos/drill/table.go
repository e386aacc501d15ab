package drill

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// columns are the table's, without the fault and the verdict.
var columns = []string{
	"drill", "202", "rows", "ended", "rejected", "lost", "false", "oversold", "stranded",
	"whole again after s", "slowest purchase s", "shop",
}

func (r Row) cells() []string {
	cells := []string{r.Name}
	for _, n := range []int{r.Acknowledged, r.Active, r.Ended, r.Rejected, r.Lost, r.False, r.Oversold, r.Stranded} {
		cells = append(cells, strconv.Itoa(n))
	}
	return append(cells, fmt.Sprintf("%.1f", r.Recovery.Seconds()), fmt.Sprintf("%.2f", r.Slowest.Seconds()), r.Busy)
}

// Write prints the rows as one table and, below it, what broke.
func Write(out io.Writer, rows []Row) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, strings.Join(columns, "\t")+"\tload\tfault\t")
	for _, r := range rows {
		verdict := "ok"
		if len(r.Broken) > 0 {
			verdict = "BROKEN"
		}
		_, _ = fmt.Fprintf(w, "%s\t%d for %d\t%s\t%s\n", strings.Join(r.cells(), "\t"), r.Shoppers, r.Units, r.Fault, verdict)
	}
	_ = w.Flush()
	for _, r := range rows {
		for _, reason := range slices.Sorted(maps.Keys(r.Why)) {
			_, _ = fmt.Fprintf(out, "%s: %d rejected: %s\n", r.Name, r.Why[reason], reason)
		}
		for _, b := range r.Broken {
			_, _ = fmt.Fprintf(out, "BROKEN %s: %s\n", r.Name, b)
		}
	}
}

// Markdown prints the rows as docs/faults.md has them. A promise that broke is in bold.
func Markdown(out io.Writer, rows []Row) {
	_, _ = fmt.Fprintf(out, "| %s |\n%s|\n", strings.Join(columns, " | "), strings.Repeat("|---", len(columns)))
	for _, r := range rows {
		cells := r.cells()
		cells[0] = "`" + r.Name + "`"
		if len(r.Broken) > 0 {
			cells[0] += " **BROKEN**"
		}
		_, _ = fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
	}
}
