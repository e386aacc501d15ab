package drill

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Write prints the rows as one table and, below it, what broke.
func Write(out io.Writer, rows []Row) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "name\tfault\tload\tacknowledged\trows\tended\trejected\tlost\tfalse\toversold\tstranded\trecovered\tslowest\tshop\t")
	for _, r := range rows {
		verdict := "ok"
		if len(r.Broken) > 0 {
			verdict = "BROKEN"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d for %d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f s\t%.2f s\t%s\t%s\n",
			r.Name, r.Fault, r.Shoppers, r.Units, r.Acknowledged, r.Active, r.Ended, r.Rejected, r.Lost, r.False, r.Oversold, r.Stranded,
			r.Recovery.Seconds(), r.Slowest.Seconds(), r.Busy, verdict)
	}
	_ = w.Flush()
	for _, r := range rows {
		for reason, n := range r.Why {
			_, _ = fmt.Fprintf(out, "%s: %d rejected: %s\n", r.Name, n, reason)
		}
		for _, b := range r.Broken {
			_, _ = fmt.Fprintf(out, "BROKEN %s: %s\n", r.Name, b)
		}
	}
}
