package report

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// Bin is the width of a timeline's bins.
const Bin = 100 * time.Millisecond

// A Series is what a timeline counts.
type Series string

// The series. The answers are those to purchases.
const (
	Arrived       Series = "arrived" // shoppers
	Sent          Series = "sent"    // purchases
	SeenAccepted  Series = "accepted"
	SeenSoldOut   Series = "soldOut"
	SeenEarly     Series = "early"
	SeenBusy      Series = "busy"
	SeenOther     Series = "other"
	SeenPoll      Series = "polls"
	SeenPaid      Series = "paid"
	SeenCancelled Series = "cancelled"
)

var allSeries = []Series{
	Arrived, Sent, SeenAccepted, SeenSoldOut, SeenEarly, SeenBusy, SeenOther, SeenPoll, SeenPaid, SeenCancelled,
}

// A Timeline counts by bins of 100 ms. Bin n begins n × 100 ms after the opening;
// all series begin with bin From and are equally long.
type Timeline struct {
	From   int              `json:"from"`
	Counts map[Series][]int `json:"counts"`
}

func newTimeline() Timeline {
	t := Timeline{Counts: make(map[Series][]int, len(allSeries))}
	for _, series := range allSeries {
		t.Counts[series] = nil
	}
	return t
}

// Bins is how many there are.
func (t *Timeline) Bins() int { return len(t.Counts[Arrived]) }

func (t *Timeline) add(series Series, after time.Duration, n int) {
	bin := int(after / Bin)
	if after < 0 { // division rounds towards zero
		bin = int((after+1)/Bin) - 1
	}
	t.addBin(series, bin, n)
}

func (t *Timeline) addBin(series Series, bin, n int) {
	if t.Bins() == 0 {
		t.From = bin
	}
	before, behind := max(0, t.From-bin), max(0, bin-(t.From+t.Bins())+1)
	if before+behind > 0 {
		for name, counts := range t.Counts {
			t.Counts[name] = slices.Concat(make([]int, before), counts, make([]int, behind))
		}
		t.From -= before
	}
	t.Counts[series][bin-t.From] += n
}

func (t *Timeline) merge(other *Timeline) error {
	for name, counts := range other.Counts {
		if _, ok := t.Counts[name]; !ok {
			return fmt.Errorf("report: unknown series %q", name)
		}
		if len(counts) != other.Bins() {
			return fmt.Errorf("report: series %q is not as long as the others", name)
		}
	}
	for name, counts := range other.Counts {
		for i, n := range counts {
			t.addBin(name, other.From+i, n)
		}
	}
	return nil
}

// Fingerprints are 64 bits of each order id, so that parts can be compared without a
// list of all ids. In JSON they are base64 of 8 bytes each, ascending.
type Fingerprints []uint64

func fingerprint(orderID string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(orderID)) // never fails
	return h.Sum64()
}

// Distinct counts the different ones.
func (f Fingerprints) Distinct() int {
	sorted := slices.Sorted(slices.Values(f))
	return len(slices.Compact(sorted))
}

// MarshalText encodes them.
func (f Fingerprints) MarshalText() ([]byte, error) {
	var raw []byte
	for _, id := range slices.Sorted(slices.Values(f)) {
		raw = binary.BigEndian.AppendUint64(raw, id)
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText decodes them.
func (f *Fingerprints) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(raw)%8 != 0 {
		return errors.New("report: the order ids' fingerprints are broken")
	}
	*f = nil
	for ; len(raw) > 0; raw = raw[8:] {
		*f = append(*f, binary.BigEndian.Uint64(raw))
	}
	return nil
}
