package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reached is when the nth of ascending moments came, false if it never did.
func Reached(ascending []int64, n int) (time.Duration, bool) {
	if n < 1 || n > len(ascending) {
		return 0, false
	}
	return time.Duration(ascending[n-1]) * time.Millisecond, true
}

// goal is the 202 and the row that count: the last unit's, or the last of all.
func (r *Report) goal() int {
	if told := len(r.Orders.AcceptedMs); r.Units == 0 || told < r.Units {
		return told
	}
	return r.Units
}

// busiest is the highest rate of a series, per second, over a whole second.
func (t *Timeline) busiest(series ...Series) int {
	const second = int(time.Second / Bin)
	best, window := 0, 0
	at := func(bin int) (n int) {
		for _, s := range series {
			n += t.Counts[s][bin]
		}
		return n
	}
	for bin := range t.Bins() {
		window += at(bin)
		if bin >= second {
			window -= at(bin - second)
		}
		best = max(best, window)
	}
	return best
}

// Summarize prints the verdict and the figures.
func (r *Report) Summarize(out io.Writer) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	say("")
	for _, p := range r.Promises {
		say("%-8s %-38s %s", p.mark(), p.Name, p.Says)
	}
	say("")
	say("%-10s %10s %9s %9s %9s %9s %9s %9s", "latency", "calls", "p50", "p90", "p99", "p99.9", "p99.99", "max")
	for _, row := range r.latencyRows() {
		say("%-10s %10s %s", row.Name, row.Count, padded(row.Corrected))
		say("%-10s %10s %s", "", "from send", padded(row.Plain))
	}
	say("")
	var classes []string
	for _, class := range Classes {
		if n := r.Classes[class]; n > 0 {
			classes = append(classes, fmt.Sprintf("%s %s", class, grouped(n)))
		}
	}
	say("%s shoppers: %s", grouped(r.Shoppers), strings.Join(classes, ", "))
	n := r.goal()
	if at, ok := Reached(r.Orders.AcceptedMs, n); ok && n > 0 {
		say("202 number %s came %s after the opening", grouped(n), at)
	}
	if at, ok := Reached(r.Orders.WrittenMs, n); ok && n > 0 {
		say("row number %s was seen %s after the opening", grouped(n), at)
	}
	say("at most %s purchases sent and %s refused in a second", grouped(r.Timeline.busiest(Sent)), grouped(r.Timeline.busiest(SeenSoldOut, SeenEarly)))
	if n := r.Neighbour; n != nil {
		say("the shop's other work on the same PostgreSQL, p95 of a round: quiet %s; in the rush %s", n.Quiet, n.Rush)
	}
	for _, example := range r.Examples {
		say("example: %s", example)
	}
	for _, note := range r.Notes {
		say("note: %s", note)
	}
	if r.Broken {
		say("A PROMISE BROKE")
	} else {
		say("all promises kept")
	}
}

func (p Promise) mark() string {
	switch {
	case !p.Judged:
		return "unseen"
	case p.Kept:
		return "kept"
	}
	return "BROKEN"
}

// A latencyRow is a kind's line in a table.
type latencyRow struct {
	Kind             Kind
	Name, Count      string
	Corrected, Plain []string
}

var kindNames = map[Kind]string{Accepted: "202", Refusal: "refusal", Busy: "try again", Poll: "poll", Settle: "pay, cancel", Pass: "pass"}

func (r *Report) latencyRows() (rows []latencyRow) {
	for _, kind := range Kinds {
		l := r.Latencies[kind]
		if l == nil || l.Corrected.Count() == 0 {
			continue
		}
		rows = append(rows, latencyRow{kind, kindNames[kind], grouped(int(l.Corrected.Count())), l.Corrected.figures(), l.Plain.figures()})
	}
	return rows
}

func (h *Histogram) figures() (texts []string) {
	for _, p := range Percentiles {
		texts = append(texts, short(h.At(p)))
	}
	return append(texts, short(h.Max()))
}

func padded(texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&b, "%9s ", text)
	}
	return strings.TrimRight(b.String(), " ")
}

// short is a duration in three digits or so.
func short(d time.Duration) string {
	switch ms := float64(d) / float64(time.Millisecond); {
	case ms < 1:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 2, 64) + " ms"
	case ms < 100:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	case ms < 1000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	default:
		return strconv.FormatFloat(ms/1000, 'f', 2, 64) + " s"
	}
}

// grouped writes 10000 as 10,000.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// sortedByCount puts the most frequent first.
func sortedByCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
}
