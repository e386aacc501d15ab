package telemetry

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// Namespace is where CloudWatch keeps the figures.
const Namespace = "FlashSale"

// maxValues is how many values CloudWatch takes of one figure in one line.
const maxValues = 100

// A Meter writes a function's figures, each line with the dimension Function. Nil
// writes nothing. It is safe for concurrent use.
type Meter struct {
	out      io.Writer
	function string // the deployed function's name
	now      func() time.Time

	mu sync.Mutex // so that lines do not mix
}

// NewMeter makes a Meter.
func NewMeter(out io.Writer, function string, now func() time.Time) *Meter {
	return &Meter{out: out, function: function, now: now}
}

// A Figure is one metric of a line, with up to maxValues values.
type Figure struct {
	name, unit string
	values     []float64
	bySecond   bool // CloudWatch keeps it by the second, not by the minute
}

// Count is a figure that counts or measures in plain numbers.
func Count[N int | int64](name string, n N) Figure {
	return Figure{name: name, unit: "Count", values: []float64{float64(n)}}
}

// Yes is a figure of 1 or 0.
func Yes(name string, yes bool) Figure {
	if yes {
		return Count(name, 1)
	}
	return Count(name, 0)
}

// Put writes one line.
func (m *Meter) Put(figures ...Figure) {
	if m != nil && len(figures) > 0 {
		m.put(m.now(), "", figures...)
	}
}

// A line is in the form that CloudWatch's documentation calls the Embedded Metric Format.
type line struct {
	Timestamp int64       `json:"Timestamp"` // milliseconds
	Metrics   []directive `json:"CloudWatchMetrics"`
}

type directive struct {
	Namespace  string       `json:"Namespace"`
	Dimensions [][]string   `json:"Dimensions"`
	Metrics    []definition `json:"Metrics"`
}

type definition struct {
	Name       string `json:"Name"`
	Unit       string `json:"Unit"`
	Resolution int    `json:"StorageResolution,omitempty"`
}

// put writes what was so at that time, with the outcome as a second dimension if there is one.
func (m *Meter) put(at time.Time, outcome string, figures ...Figure) {
	told := map[string]any{"Function": m.function}
	names := []string{"Function"}
	if outcome != "" {
		told["Outcome"] = outcome
		names = append(names, "Outcome")
	}
	d := directive{Namespace: Namespace, Dimensions: [][]string{names}}
	for _, f := range figures {
		one := definition{Name: f.name, Unit: f.unit}
		if f.bySecond {
			one.Resolution = 1
		}
		d.Metrics = append(d.Metrics, one)
		if told[f.name] = any(f.values); len(f.values) == 1 {
			told[f.name] = f.values[0]
		}
	}
	told["_aws"] = line{at.UnixMilli(), []directive{d}}
	text, err := json.Marshal(told)
	if err != nil {
		panic(err) // texts and finite numbers marshal
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = m.out.Write(append(text, '\n')) // there is nowhere to complain
}
