// Package telemetrytest reads figures as CloudWatch does, for tests.
//
// It promises to complain of whatever CloudWatch would drop in silence.
package telemetrytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A Told is one metric of one line.
type Told struct {
	Name       string
	Dimensions map[string]string
	Unit       string
	BySecond   bool
	Values     []float64
	At         time.Time
}

// Sum adds up the values.
func (t Told) Sum() (sum float64) {
	for _, v := range t.Values {
		sum += v
	}
	return sum
}

// Key names the metric as an alarm does: its dimensions by name, then its own.
func (t Told) Key() string {
	var parts []string
	for name, value := range t.Dimensions {
		parts = append(parts, name+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(append(parts, t.Name), " ")
}

// Sums adds up by key.
func Sums(told []Told) map[string]float64 {
	sums := map[string]float64{}
	for _, one := range told {
		sums[one.Key()] += one.Sum()
	}
	return sums
}

type root struct {
	AWS *struct {
		Timestamp  *int64
		CloudWatch []directive `json:"CloudWatchMetrics"`
	} `json:"_aws"`
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []struct {
		Name, Unit        string
		StorageResolution int
	}
}

// Read reads all lines by the rules of the Embedded Metric Format. Lines without
// _aws are the log's and left out.
func Read(t testing.TB, text []byte) []Told {
	t.Helper()
	var all []Told
	for line := range bytes.Lines(text) {
		if len(line) > 1<<20 {
			t.Errorf("a line of %d bytes, CloudWatch takes 1 MiB", len(line))
		}
		var r root
		var members map[string]any
		if err := json.Unmarshal(line, &members); err != nil {
			t.Fatalf("line %s: %v", line, err)
		}
		if _, ok := members["_aws"]; !ok {
			continue
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("line %s: %v", line, err)
		}
		if r.AWS.Timestamp == nil || len(r.AWS.CloudWatch) == 0 {
			t.Fatalf("line %s: Timestamp or CloudWatchMetrics is missing", line)
		}
		for _, d := range r.AWS.CloudWatch {
			told, err := d.read(members, time.UnixMilli(*r.AWS.Timestamp))
			if err != nil {
				t.Errorf("line %s: %v", line, err)
			}
			all = append(all, told...)
		}
	}
	return all
}

// read takes a directive's metrics from the members that it points to.
func (d directive) read(members map[string]any, at time.Time) (all []Told, err error) {
	switch {
	case d.Namespace == "" || len(d.Namespace) > 1024:
		return nil, fmt.Errorf("namespace %q", d.Namespace)
	case len(d.Metrics) == 0 || len(d.Metrics) > 100:
		return nil, fmt.Errorf("%d metrics, want 1 to 100", len(d.Metrics))
	case len(d.Dimensions) != 1 || len(d.Dimensions[0]) > 30:
		return nil, fmt.Errorf("dimensions %q, want one set of at most 30", d.Dimensions)
	case at.Before(time.Now().Add(-14*24*time.Hour)) || at.After(time.Now().Add(2*time.Hour)):
		return nil, fmt.Errorf("at %s, CloudWatch takes two weeks back and two hours ahead", at)
	}
	dimensions := map[string]string{}
	for _, name := range d.Dimensions[0] {
		value, ok := members[name].(string)
		if !ok || value == "" || len(value) > 1024 {
			return nil, fmt.Errorf("dimension %s has the value %v", name, members[name])
		}
		dimensions[name] = value
	}
	for _, m := range d.Metrics {
		if !slices.Contains([]string{"Count", "Milliseconds", "None"}, m.Unit) || (m.StorageResolution|1) > 1 && m.StorageResolution != 60 {
			return nil, fmt.Errorf("metric %s: unit %q, resolution %d", m.Name, m.Unit, m.StorageResolution)
		}
		values, err := valuesOf(members[m.Name])
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", m.Name, err)
		}
		all = append(all, Told{m.Name, dimensions, m.Unit, m.StorageResolution == 1, values, at})
	}
	return all, nil
}

func valuesOf(member any) ([]float64, error) {
	list, ok := member.([]any)
	if !ok {
		list = []any{member}
	}
	if len(list) == 0 || len(list) > 100 {
		return nil, fmt.Errorf("%d values, want 1 to 100", len(list))
	}
	var values []float64
	for _, one := range list {
		n, ok := one.(float64)
		if !ok {
			return nil, fmt.Errorf("%v is no number", one)
		}
		values = append(values, n)
	}
	return values, nil
}
