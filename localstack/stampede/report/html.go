package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// A view is what the page shows.
type view struct {
	*Report
	Verdict, Subtitle string
	Tiles             []tile
	Marks             []markedPromise
	Latency           []latencyRow
	Percentiles       []string
	ClassRows         []countRow
	AnswerRows        []countRow
	Answers, Stock    template.HTML
	Curve             template.HTML
	StockName         string
	Parameters        []tile
}

type tile struct{ Value, Name string }

type markedPromise struct {
	Promise
	Class, Sign string
}

type countRow struct {
	Name, Count, Says string
	Percent           string // width of its bar
}

// HTML is build/stampede.html: one page that needs nothing else.
func (r *Report) HTML() ([]byte, error) {
	v := view{
		Report: r, Verdict: "All promises kept", Subtitle: r.subtitle(), Tiles: r.tiles(), Latency: r.latencyRows(),
		Answers: r.answersPlot(), Stock: r.stockPlot(), Curve: r.percentilesPlot(),
		StockName: "stock, as the shoppers know it", Parameters: r.parameters(),
	}
	if r.Broken {
		v.Verdict = "A promise broke"
	}
	if r.Units == 0 {
		v.StockName = "202s"
	}
	for _, p := range r.Promises {
		m := markedPromise{p, "kept", "✓"}
		switch {
		case !p.Judged:
			m.Class, m.Sign = "unseen", "?"
		case !p.Kept:
			m.Class, m.Sign = "broken", "✗"
		}
		v.Marks = append(v.Marks, m)
	}
	for _, p := range Percentiles {
		v.Percentiles = append(v.Percentiles, "p"+plain(p))
	}
	for _, class := range Classes {
		if n := r.Classes[class]; n > 0 {
			v.ClassRows = append(v.ClassRows, row(string(class), n, r.Shoppers, classSays[class]))
		}
	}
	for _, answer := range sortedByCount(r.Answers) {
		v.AnswerRows = append(v.AnswerRows, row(answer, r.Answers[answer], total(r.Answers), ""))
	}
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		return nil, fmt.Errorf("report: page: %w", err)
	}
	return b.Bytes(), nil
}

var classSays = map[Class]string{
	Bought:     "answered 202, or 409 with the own order after a lost answer",
	Found:      "read no 202; my-order showed the order afterwards",
	SoldOut:    "refused: sold out",
	Closed:     "refused: sale closed",
	HadOrder:   "refused: an order from before this run",
	DroppedOut: "left without reading the answer, and has no order",
	GaveUp:     "heard nothing but “try again”",
	Failed:     "got an answer that no shopper should get",
	Unfinished: "the time limit came first",
}

func row(name string, n, of int, says string) countRow {
	return countRow{name, grouped(n), says, fmt.Sprintf("%.2f%%", 100*float64(n)/float64(max(of, 1)))}
}

func (r *Report) subtitle() string {
	ways := map[string]string{
		"in-process": "the real functions in one process, called by API Gateway's events, no HTTP; real Redis, Kafka and PostgreSQL on the same machine",
		"http":       "a development server over HTTP; real Redis, Kafka and PostgreSQL on the same machine",
		"target":     r.Target,
	}
	return ways[r.Way]
}

func (r *Report) tiles() []tile {
	tiles := []tile{
		{grouped(r.Shoppers), "shoppers"},
		{grouped(len(r.Orders.AcceptedMs)), "answered 202"},
	}
	n := r.goal()
	if at, ok := Reached(r.Orders.AcceptedMs, n); ok {
		tiles = append(tiles, tile{short(at), fmt.Sprintf("after the opening: 202 number %s", grouped(n))})
	}
	if at, ok := Reached(r.Orders.WrittenMs, n); ok {
		tiles = append(tiles, tile{short(at), fmt.Sprintf("after the opening: row number %s", grouped(n))})
	}
	return append(tiles,
		tile{grouped(r.Timeline.busiest(Sent)), "purchases in the busiest second"},
		tile{grouped(r.Timeline.busiest(SeenSoldOut, SeenEarly)), "refusals in the busiest second"})
}

func (r *Report) parameters() []tile {
	h := r.Habits
	units := "not known"
	if r.Units > 0 {
		units = grouped(r.Units)
	}
	admitted := "all at the opening"
	if r.Lottery {
		admitted = "by lottery, each at the own turn"
	}
	share := func(s float64) string { return plain(100*s) + " %" }
	parameters := []tile{
		{r.OpensAt.Format(time.RFC3339), "opening"},
		{units, "units"},
		{strings.Join(r.Parts, ", "), "parts"},
		{fmt.Sprint(r.Seed), "seed"},
		{fmt.Sprintf("%s up to %s before, the others within %s after", share(h.EarlyShare), time.Duration(h.Early), time.Duration(h.Spread)), "arrivals"},
		{admitted, "admitted"},
		{share(h.Double), "click twice"},
		{share(h.DropOut), "leave without reading"},
		{share(h.Pay), "of those with an order pay"},
		{share(h.Cancel), "of those with an order cancel"},
	}
	if n := r.Neighbour; n != nil {
		parameters = append(parameters,
			tile{n.Quiet.String(), "p95 of a round of the shop's other work on the same PostgreSQL, before the sale"},
			tile{n.Rush.String(), "the same in the rush"})
	}
	return parameters
}
