// Package report is what a stampede found: figures that add up over parts, and a
// verdict that is computed from them alone.
//
// It promises that parts merge exactly: counts add up, order ids are compared across
// parts, and histograms keep every value's bucket. So the verdict on merged parts is
// the one that a single run would have got, but for one promise: how many units are
// left no part sees, so each presses on for all its patience, and what was undersold is
// judged only if every part heard "sold out" to its end.
package report

import (
	"encoding/json"
	"fmt"
	"time"
)

// Schema is the version of the JSON form, described in docs/loadtest.md.
const Schema = 2

// A Class is what became of a shopper. Each is in exactly one.
type Class string

// The classes.
const (
	Bought     Class = "bought"     // was answered 202, or 409 with the own order after a lost answer
	Found      Class = "found"      // read no 202, but my-order shows an order afterwards
	SoldOut    Class = "soldOut"    // refused: 410 SOLD_OUT
	Closed     Class = "closed"     // refused: 410 SALE_CLOSED
	HadOrder   Class = "hadOrder"   // refused: 409 for an order from before this run
	DroppedOut Class = "droppedOut" // left without reading the answer, and has no order
	GaveUp     Class = "gaveUp"     // only 429, 503 or no answer at all, however often
	Failed     Class = "failed"     // an answer that no shopper should get
	Unfinished Class = "unfinished" // the time limit came first
)

// Classes in the order in which they are shown.
var Classes = []Class{Bought, Found, SoldOut, Closed, HadOrder, DroppedOut, GaveUp, Failed, Unfinished}

// A Report is build/stampede.json.
type Report struct {
	Schema   int       `json:"schema"`
	Way      string    `json:"way"`    // in-process, http or target
	Target   string    `json:"target"` // its address, empty in one process
	Parts    []string  `json:"parts"`  // such as 2/8
	Seed     uint64    `json:"seed"`
	OpensAt  time.Time `json:"opensAt"`
	Lottery  bool      `json:"lottery"`  // the sale admits its shoppers one after another
	Shoppers int       `json:"shoppers"` // of these parts
	Units    int       `json:"units"`    // 0: not known, so over- and underselling are not judged
	Habits   Habits    `json:"habits"`

	Classes   map[Class]int     `json:"classes"`
	Answers   map[string]int    `json:"answers"` // of all calls, such as "POST 410 SOLD_OUT"
	Orders    Orders            `json:"orders"`
	System    *System           `json:"system"`    // null: the system was not asked
	Neighbour *Neighbour        `json:"neighbour"` // null: there was none
	Timeline  Timeline          `json:"timeline"`
	Latencies map[Kind]*Latency `json:"latencies"`
	Examples  []string          `json:"examples"` // some of what broke
	Notes     []string          `json:"notes"`

	Promises []Promise `json:"promises"`
	Broken   bool      `json:"broken"`
}

// Habits are how shoppers behave. Shares are 0 to 1.
type Habits struct {
	EarlyShare float64  `json:"earlyShare"` // arrive before the opening,
	Early      Duration `json:"early"`      // at most this much
	Spread     Duration `json:"spread"`     // the others arrive within it after the opening, most at once
	Double     float64  `json:"double"`     // press twice
	DropOut    float64  `json:"dropOut"`    // never read the answer
	Pay        float64  `json:"pay"`        // of those with an order
	Cancel     float64  `json:"cancel"`     // of those with an order
}

// A Duration is text such as "10s" in JSON.
type Duration time.Duration

// MarshalText writes it as Go does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads it as Go does.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// Orders is what the shoppers know of their orders.
type Orders struct {
	Told     int            `json:"told"`     // orders that a shopper was told of, or found
	IDs      Fingerprints   `json:"ids"`      // of those orders
	Ends     map[string]int `json:"ends"`     // their states at the end, by asking for each
	Unopened int            `json:"unopened"` // PENDING at the end and never payable

	Lost    int `json:"lost"`    // told of, and unknown or REJECTED at the end
	Foreign int `json:"foreign"` // answers that showed another order, item or sale than the one asked for
	Double  int `json:"double"`  // second orders of a shopper
	Undone  int `json:"undone"`  // payments or cancels that were accepted and did not last
	Early   int `json:"early"`   // 202s before the shopper's turn in the lottery

	// SoldOutLast tells that after the rush shoppers pressed once more and the last
	// heard "sold out": whatever was left then was undersold.
	SoldOutLast bool `json:"soldOutLast"`

	AcceptedMs []int64 `json:"acceptedMs"` // when each shopper's first 202 came, read or not, after the opening; ascending
	WrittenMs  []int64 `json:"writtenMs"`  // when each row was seen
}

// Active counts the orders that hold a unit at the end.
func (o *Orders) Active() int { return o.Ends["PENDING"] + o.Ends["PAID"] }

// System is the system's own account, by saleadmin's report.
type System struct {
	Rows      map[string]int `json:"rows"` // by state
	Sold      int            `json:"sold"`
	Stock     int            `json:"stock"`
	Conserved bool           `json:"conserved"`
	Drift     int            `json:"drift"`
	Waiting   int            `json:"waiting"` // unconfirmed holds, releases and records: 0 once it is quiet
}

// Total counts all rows.
func (s *System) Total() (n int) {
	for _, rows := range s.Rows {
		n += rows
	}
	return n
}

// Encode writes the JSON form.
func (r *Report) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return append(text, '\n'), nil
}

// Decode reads the JSON form.
func Decode(text []byte) (*Report, error) {
	r := new(Report)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("report: schema %d, want %d", r.Schema, Schema)
	}
	return r, nil
}
