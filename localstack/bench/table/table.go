// Package table is what a benchmark run found: rows of measures beside their peers.
//
// It promises that a ratio is always value / peer_value, for times too, and that a
// measure without a peer has null there and never zero.
package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Names of the measures, in their order.
var Names = []string{"refusal", "reserve", "writer", "whole-path", "http", "memory", "cold-start"}

// Total is the row of a whole run's time.
const Total = "total"

// compared are the measures all of whose rows have a peer.
var compared = []string{"refusal", "reserve", "writer"}

// A Row is one measure beside one peer, or alone.
type Row struct {
	Name      string   `json:"name"`
	Value     float64  `json:"value"`
	Unit      string   `json:"unit"` // what is measured
	Peer      *string  `json:"peer"`
	PeerValue *float64 `json:"peer_value"`
	Ratio     *float64 `json:"ratio"`

	Goal Goal `json:"-"`
}

// A Goal bounds a row's ratio, or its value if it has no peer. The zero one is none.
type Goal struct {
	AtLeast, AtMost float64
}

// Alone is a row without a peer.
func Alone(name string, value float64, unit string, goal Goal) Row {
	return Row{Name: name, Value: value, Unit: unit, Goal: goal}
}

// Beside is a row with a peer.
func Beside(name string, value float64, unit, peer string, peerValue float64, goal Goal) Row {
	ratio := value / peerValue
	return Row{Name: name, Value: value, Unit: unit, Peer: &peer, PeerValue: &peerValue, Ratio: &ratio, Goal: goal}
}

// Met tells whether the row reaches its goal; a row without one always does.
func (r Row) Met() bool {
	got := r.Value
	if r.Ratio != nil {
		got = *r.Ratio
	}
	return got >= r.Goal.AtLeast && (r.Goal.AtMost == 0 || got <= r.Goal.AtMost)
}

func (r Row) goal() string {
	times := ""
	if r.Ratio != nil {
		times = " ×"
	}
	switch {
	case r.Goal.AtLeast > 0:
		return "≥ " + number(r.Goal.AtLeast) + times
	case r.Goal.AtMost > 0:
		return "≤ " + number(r.Goal.AtMost) + times
	default:
		return ""
	}
}

// Choose reads a list of measures, separated by commas. An empty one is empty: all of them.
func Choose(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	chosen := strings.Split(list, ",")
	for _, name := range chosen {
		if !slices.Contains(Names, name) {
			return nil, fmt.Errorf("there is no measure %q, but %s", name, strings.Join(Names, ", "))
		}
	}
	return chosen, nil
}

// Check refuses a table that lacks a row of a whole run, or has one of another name.
func Check(rows []Row) error {
	var faults []error
	all := append(slices.Clone(Names), Total)
	for _, name := range all {
		if !slices.ContainsFunc(rows, func(r Row) bool { return r.Name == name }) {
			faults = append(faults, fmt.Errorf("table: no row %q", name))
		}
	}
	for _, r := range rows {
		switch {
		case !slices.Contains(all, r.Name):
			faults = append(faults, fmt.Errorf("table: unknown measure %q", r.Name))
		case r.Ratio == nil && slices.Contains(compared, r.Name):
			faults = append(faults, fmt.Errorf("table: %s (%s) has no peer", r.Name, r.Unit))
		}
	}
	return errors.Join(faults...)
}

// Median is the middle value, the mean of the middle two of an even number.
func Median(values ...float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Encode makes build/bench.json.
func Encode(rows []Row) ([]byte, error) {
	text, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("table: %w", err) // an infinite ratio
	}
	return append(text, '\n'), nil
}

// Print writes the table for people.
func Print(w io.Writer, rows []Row) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(out, "measure\tvalue\t\tpeer\t\tratio\tgoal\t")
	for _, r := range rows {
		peer, peerValue, ratio, verdict := "", "", "", ""
		if r.Peer != nil {
			peer, peerValue, ratio = *r.Peer, number(*r.PeerValue), number(*r.Ratio)
		}
		if !r.Met() {
			verdict = "missed"
		}
		_, _ = fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, number(r.Value), r.Unit, peer, peerValue, ratio, r.goal(), verdict)
	}
	_ = out.Flush()
}

// number has three digits that mean something.
func number(x float64) string {
	switch {
	case x >= 100 || x == float64(int64(x)):
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
}
