package report

import (
	"fmt"
	"html/template"
	"math"
	"time"
)

// answerLayers are drawn from the ground up.
var answerLayers = []Series{SeenAccepted, SeenSoldOut, SeenEarly, SeenBusy, SeenOther}

// maxColumns keeps a long run's plot readable.
const maxColumns = 200

const binsPerSecond = float64(time.Second / Bin)

// seconds is where a bin's middle lies.
func (t *Timeline) seconds(bin int) float64 { return (float64(t.From+bin) + 0.5) / binsPerSecond }

// busyBins is how long the crowd pressed: polls and payments go on after that.
func (t *Timeline) busyBins() int {
	last := 0
	for bin := range t.Bins() {
		if t.Counts[Sent][bin]+t.Counts[Arrived][bin]+t.Counts[SeenAccepted][bin]+t.Counts[SeenSoldOut][bin]+t.Counts[SeenBusy][bin] > 0 {
			last = bin + 1
		}
	}
	return last
}

// answersPlot shows the answers to purchases, stacked, and the arrivals.
func (r *Report) answersPlot() template.HTML {
	t := &r.Timeline
	bins := t.busyBins()
	if bins == 0 {
		return ""
	}
	most := 1.0
	lines := make([][]point, len(answerLayers)+1)
	var arrivals []point
	width := (bins + maxColumns - 1) / maxColumns // of a column, in bins
	for bin := 0; bin < bins; bin += width {
		end := min(bin+width, bins)
		perSecond := binsPerSecond / float64(end-bin)
		x, total := (t.seconds(bin)+t.seconds(end-1))/2, 0.0
		lines[0] = append(lines[0], point{x, 0})
		for i, series := range answerLayers {
			total += float64(sum(t.Counts[series][bin:end])) * perSecond
			lines[i+1] = append(lines[i+1], point{x, total})
		}
		arrived := float64(sum(t.Counts[Arrived][bin:end])) * perSecond
		arrivals = append(arrivals, point{x, arrived})
		most = max(most, total, arrived)
	}
	p := newPlot("answers to purchases per second", t.seconds(0), max(t.seconds(bins-1), t.seconds(0)+1), 0, most*1.05)
	p.countAxis()
	p.timeAxis()
	for i, series := range answerLayers {
		p.area(string(series), lines[i], lines[i+1])
	}
	p.line("arrived", arrivals)
	if p.x.from < 0 {
		p.marker("opening", 0, "opening")
	}
	return p.html()
}

// stockPlot shows the stock falling and the rows rising, and marks the last unit's.
func (r *Report) stockPlot() template.HTML {
	o := &r.Orders
	if len(o.AcceptedMs) == 0 {
		return ""
	}
	n := r.goal()
	last, _ := Reached(o.AcceptedMs, n)
	if row, ok := Reached(o.WrittenMs, n); ok {
		last = max(last, row)
	}
	from, to := min(-0.1, float64(o.AcceptedMs[0])/1000), max(last.Seconds()*1.35, 0.5)
	most := float64(max(r.Units, len(o.AcceptedMs), len(o.WrittenMs)))
	p := newPlot("stock and rows", from, to, 0, most*1.05)
	p.countAxis()
	p.timeAxis()
	if r.Units > 0 {
		p.line("stock", r.stockLine(from, to))
	} else {
		p.line("stock", rising(o.AcceptedMs, from, to))
	}
	p.line("rows", rising(o.WrittenMs, from, to))
	if at, ok := Reached(o.AcceptedMs, n); ok {
		p.marker("stock", at.Seconds(), fmt.Sprintf("202 number %s after %s", grouped(n), short(at)))
	}
	if at, ok := Reached(o.WrittenMs, n); ok {
		p.marker("rows", at.Seconds(), fmt.Sprintf("row number %s after %s", grouped(n), short(at)))
	}
	return p.html()
}

// rising counts moments. It draws at most a point for each pixel.
func rising(ascending []int64, from, to float64) []point {
	points := []point{{from, 0}}
	width := (to - from) / (plotWidth - left - right)
	for i, ms := range ascending {
		x := float64(ms) / 1000
		if x > to {
			break
		}
		if i == 0 || i == len(ascending)-1 || x-points[len(points)-1].x >= width {
			points = append(points, point{x, float64(i)}, point{x, float64(i + 1)})
		} else {
			points[len(points)-1].y = float64(i + 1)
		}
	}
	return append(points, point{to, points[len(points)-1].y})
}

// stockLine is what the shoppers know of the stock: units that were sold less those
// that were given back.
func (r *Report) stockLine(from, to float64) []point {
	sold := rising(r.Orders.AcceptedMs, from, to)
	back, t, bin := 0, &r.Timeline, 0
	points := make([]point, 0, len(sold))
	for _, pt := range sold {
		for bin < t.Bins() && t.seconds(bin) < pt.x {
			back += t.Counts[SeenCancelled][bin]
			bin++
		}
		points = append(points, point{pt.x, max(0, float64(r.Units+back)-pt.y)})
	}
	return points
}

// percentilesPlot has both axes logarithmic: nines to the right, time upwards.
func (r *Report) percentilesPlot() template.HTML {
	lowest, highest := math.Inf(1), math.Inf(-1)
	kinds := []Kind{Accepted, Refusal, Poll}
	for _, kind := range kinds {
		if l := r.Latencies[kind]; l != nil && l.Corrected.Count() > 0 {
			lowest = min(lowest, logMs(min(l.Plain.At(1), l.Corrected.At(1))))
			highest = max(highest, logMs(l.Corrected.Max()))
		}
	}
	if lowest > highest {
		return ""
	}
	const nines = 4.3
	p := newPlot("latency by percentile", 0, nines, math.Floor(lowest), math.Ceil(highest+1e-9))
	for v := p.y.from; v <= p.y.to; v++ {
		p.gridY(v, powers(v))
	}
	for _, percentile := range []float64{0, 50, 90, 99, 99.9, 99.99} {
		p.gridX(nine(percentile), "p"+plain(percentile))
	}
	for _, kind := range kinds {
		l := r.Latencies[kind]
		if l == nil || l.Corrected.Count() == 0 {
			continue
		}
		p.line("plain "+string(classOf[kind]), l.Plain.curve(nines, p.y.from))
		p.line(string(classOf[kind]), l.Corrected.curve(nines, p.y.from))
	}
	return p.html()
}

// classOf has the colour of a kind.
var classOf = map[Kind]Series{Accepted: SeenAccepted, Refusal: SeenSoldOut, Poll: SeenPoll}

func nine(percentile float64) float64 { return -math.Log10(1 - percentile/100) }

func logMs(d time.Duration) float64 {
	return math.Log10(max(float64(d)/float64(time.Millisecond), 0.001))
}

// curve ends where there is no value left to tell one percentile from the next, and
// stays above the floor: the fastest few are not shown.
func (h *Histogram) curve(nines, floor float64) (points []point) {
	end := min(nines, math.Log10(float64(max(h.Count(), 2))))
	for i := range 121 {
		x := end * float64(i) / 120
		points = append(points, point{x, max(floor, logMs(h.At(100*(1-math.Pow(10, -x)))))})
	}
	return points
}

// powers names a power of ten of milliseconds.
func powers(v float64) string {
	switch {
	case v < 0:
		return plain(math.Pow(10, v+3)) + " µs"
	case v < 3:
		return plain(math.Pow(10, v)) + " ms"
	default:
		return plain(math.Pow(10, v-3)) + " s"
	}
}
