package forecast

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Print writes the answer as tables.
func (f Forecast) Print(w io.Writer, prices Prices) error {
	q := f.Question
	var b strings.Builder
	fmt.Fprintf(&b, "%s shoppers, %s of them in the first second; %s units; the lottery spreads them over %v.\n", number(q.Shoppers), number(q.Peak), number(q.Items), q.Spread)
	fmt.Fprintf(&b, "Unit costs: %s. Prices: %s; check the price list, above all %s, which are assumed.\n", f.Measured.From, f.Prices, strings.Join(prices.Assumed(), ", "))

	if len(q.Have) > 0 {
		fmt.Fprintf(&b, "Raised already: %s.\n", q.Have)
	}
	b.WriteString("\nWhat it needs, beside what there is without asking (* is more):\n")
	f.table(&b, "there is", f.needs())
	b.WriteString("\nWhat breaks first:\n")
	for _, way := range f.Ways {
		fmt.Fprintf(&b, "  %s: %s\n", way.Name, way.breaks())
	}
	for i, n := range f.wanted() {
		if i == 0 {
			b.WriteString("\nHow to get more:\n")
		}
		fmt.Fprintf(&b, "  %s (%s): %s. Source: %s.\n", n.Name, n.Unit, n.How, n.Source)
	}
	b.WriteString("\nWhat to ask preflight for:\n")
	for _, way := range f.Ways {
		fmt.Fprintf(&b, "  %s: \"peak\":%.0f\n", way.Name, way.Preflight)
	}
	b.WriteString("\nHow it goes, with all that and with what there is:\n")
	f.table(&b, "", f.outcomes())
	fmt.Fprintf(&b, "\nWhat it costs, %s:\n", prices.Currency)
	f.table(&b, "", f.costs())
	_, err := io.WriteString(w, b.String())
	return err
}

// A row is a name, what stands beside it, and a cell for each way.
type row struct {
	name, beside string
	cells        []string
}

func (f Forecast) table(b *strings.Builder, beside string, rows []row) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := f.each("", func(s Scenario) string { return s.Name })
	head.beside = beside
	rows = append([]row{head}, rows...)
	widest := 0
	for _, r := range rows {
		widest = max(widest, len(r.name))
	}
	for _, r := range rows {
		_, _ = fmt.Fprintf(t, "%-*s\t%s\t%s\t\n", widest, r.name, r.beside, strings.Join(r.cells, "\t"))
	}
	_ = t.Flush()
}

func (f Forecast) needs() (rows []row) {
	for _, name := range f.names() {
		r := row{name: name}
		for _, way := range f.Ways {
			n := find(way.Needs, name)
			cell := "-"
			if n.Name != "" {
				r.beside = number(n.Have)
				cell = number(n.Need) + " "
				if n.Times > 1 {
					cell = number(n.Need) + "*"
				}
			}
			r.cells = append(r.cells, cell)
		}
		rows = append(rows, r)
	}
	return rows
}

// breaks says what is too small first.
func (s Scenario) breaks() string {
	if s.Bottleneck == "" {
		return "nothing, it has all that it needs"
	}
	return fmt.Sprintf("%s (%.1f times what there is)", s.Bottleneck, find(s.Needs, s.Bottleneck).Times)
}

// names lists all needs of all ways, in the order of a request's way.
func (f Forecast) names() (names []string) {
	for _, name := range order {
		if slices.ContainsFunc(f.Ways, func(s Scenario) bool { return find(s.Needs, name).Name != "" }) {
			names = append(names, name)
		}
	}
	return names
}

// wanted are the needs that some way has more of than there is. Where one way's help is
// not another's, each is named.
func (f Forecast) wanted() (wanted []Need) {
	for _, name := range f.names() {
		var need Need
		var ways, advice []string
		for _, way := range f.Ways {
			if n := find(way.Needs, name); n.Times > 1 {
				need = n
				ways, advice = append(ways, way.Name), append(advice, n.How)
			}
		}
		if len(ways) == 0 {
			continue
		}
		if len(slices.Compact(slices.Clone(advice))) > 1 {
			for i, way := range ways {
				advice[i] = way + ": " + advice[i]
			}
			need.How = strings.Join(advice, "; ")
		}
		wanted = append(wanted, need)
	}
	return wanted
}

func (f Forecast) each(name string, cell func(Scenario) string) row {
	r := row{name: name}
	for _, way := range f.Ways {
		r.cells = append(r.cells, cell(way))
	}
	return r
}

func (f Forecast) outcomes() []row {
	of := func(name string, value func(Outcome) string) row {
		return f.each(name, func(s Scenario) string { return value(s.Ample) + " / " + value(s.Default) })
	}
	return []row{
		of("sold", func(o Outcome) string { return number(o.Wins) }),
		of("sold out after, s", func(o Outcome) string { return seconds(o.SoldOut) }),
		of("last row after, s", func(o Outcome) string { return seconds(o.LastRow) }),
		of("presses, again and again", func(o Outcome) string { return number(o.Presses) }),
		of("shoppers who gave up", func(o Outcome) string { return number(o.GaveUp) }),
	}
}

func (f Forecast) costs() (rows []row) {
	for i := range f.Ways[0].Bill.Sale {
		rows = append(rows, f.each(f.Ways[0].Bill.Sale[i].What, func(s Scenario) string { return money(s.Bill.Sale[i].Cost) }))
		if a, b := f.Ways[0].Bill.Sale[i].What, f.Ways[1].Bill.Sale[i].What; a != b {
			rows[i].name = a + " or " + b
		}
	}
	rows = append(rows, f.each("a sale", func(s Scenario) string { return money(s.Bill.SaleSum) }))
	for i := range f.Ways[0].Bill.Month {
		rows = append(rows, f.each(f.Ways[0].Bill.Month[i].What, func(s Scenario) string { return money(s.Bill.Month[i].Cost) }))
	}
	return append(rows, f.each("a month, without sales", func(s Scenario) string { return money(s.Bill.MonthSum) }))
}

// number writes whole numbers with commas.
func number(n float64) string {
	digits := strconv.FormatInt(int64(math.Round(n)), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func seconds(s float64) string {
	if s == 0 {
		return "never"
	}
	return strconv.FormatFloat(s, 'f', 1, 64)
}

func money(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }
