package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// The size of a plot's picture and of the margins around its field.
const (
	plotWidth, plotHeight = 960.0, 300.0
	left, right           = 64.0, 18.0
	top, bottom           = 18.0, 34.0
)

// A plot is an SVG in the making. Its colours are the page's, by class.
type plot struct {
	b      strings.Builder
	x, y   scale
	labels int // of markers: each a line lower
}

// A scale maps values to the picture.
type scale struct{ from, to, low, high float64 }

func (s scale) at(v float64) float64 {
	if s.to == s.from {
		return s.low
	}
	return s.low + (v-s.from)/(s.to-s.from)*(s.high-s.low)
}

func newPlot(title string, x0, x1, y0, y1 float64) *plot {
	p := &plot{x: scale{x0, x1, left, plotWidth - right}, y: scale{y0, y1, plotHeight - bottom, top}}
	p.add(`<svg viewBox="0 0 %g %g" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg">`, plotWidth, plotHeight, template.HTMLEscapeString(title))
	return p
}

func (p *plot) add(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

func (p *plot) html() template.HTML {
	p.add(`</svg>`)
	return template.HTML(p.b.String()) //nolint:gosec // numbers, and texts that were escaped
}

// gridX draws a line up from a value of the x axis.
func (p *plot) gridX(v float64, label string) {
	x := p.x.at(v)
	p.add(`<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, x, x, top, plotHeight-bottom)
	p.add(`<text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x, plotHeight-bottom+18, template.HTMLEscapeString(label))
}

// gridY draws a line across from a value of the y axis.
func (p *plot) gridY(v float64, label string) {
	y := p.y.at(v)
	p.add(`<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, left, plotWidth-right, y, y)
	p.add(`<text class="tick" x="%.1f" y="%.1f" text-anchor="end">%s</text>`, left-8, y+4, template.HTMLEscapeString(label))
}

// A point of a line.
type point struct{ x, y float64 }

func (p *plot) path(points []point) string {
	var b strings.Builder
	for i, pt := range points {
		command := 'L'
		if i == 0 {
			command = 'M'
		}
		fmt.Fprintf(&b, "%c%.1f %.1f", command, p.x.at(pt.x), p.y.at(pt.y))
	}
	return b.String()
}

func (p *plot) line(class string, points []point) {
	if len(points) > 0 {
		p.add(`<path class="line %s" d="%s"/>`, class, p.path(points))
	}
}

// area fills what lies between two lines of equal length.
func (p *plot) area(class string, lower, upper []point) {
	if len(upper) == 0 {
		return
	}
	back := make([]point, len(lower))
	for i, pt := range lower {
		back[len(lower)-1-i] = pt
	}
	p.add(`<path class="area %s" d="%sZ"/>`, class, p.path(upper)+"L"+p.path(back)[1:])
}

// marker is a line up with a text at its side.
func (p *plot) marker(class string, v float64, label string) {
	x, anchor, dx := p.x.at(v), "start", 7.0
	if x > plotWidth*0.62 {
		anchor, dx = "end", -7
	}
	p.add(`<line class="mark %s" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, class, x, x, top, plotHeight-bottom)
	p.add(`<text class="label %s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`,
		class, x+dx, top+14+float64(p.labels)*19, anchor, template.HTMLEscapeString(label))
	p.labels++
}

// steps are round values from 0 or below up to most, about n of them.
func steps(from, to float64, n int) (values []float64, step float64) {
	raw := (to - from) / float64(n)
	if raw <= 0 || math.IsInf(raw, 0) || math.IsNaN(raw) {
		return []float64{from}, 1
	}
	magnitude := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if step = factor * magnitude; step >= raw {
			break
		}
	}
	for i := math.Ceil(from / step); i*step <= to+step/1e6; i++ {
		values = append(values, i*step)
	}
	return values, step
}

// timeAxis is in seconds after the opening.
func (p *plot) timeAxis() {
	values, _ := steps(p.x.from, p.x.to, 10)
	for _, v := range values {
		p.gridX(v, plain(v)+" s")
	}
}

func (p *plot) countAxis() {
	values, _ := steps(0, p.y.to, 5)
	for _, v := range values {
		p.gridY(v, compact(v))
	}
}

// plain writes a number without needless digits.
func plain(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6+0, 'f', -1, 64) }

// compact writes 20000 as 20k.
func compact(v float64) string {
	switch {
	case v >= 1e6:
		return plain(v/1e6) + "M"
	case v >= 1e4:
		return plain(v/1e3) + "k"
	default:
		return plain(v)
	}
}
