package report

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Kind is a sort of call whose latency is of interest.
type Kind string

// The kinds.
const (
	Accepted Kind = "202"     // purchases
	Refusal  Kind = "refusal" // purchases that were refused for good, or as too early
	Busy     Kind = "busy"    // purchases answered 429 or 503, or not at all
	Poll     Kind = "poll"    // of an order's status
	Settle   Kind = "settle"  // payments and cancels
	Pass     Kind = "pass"    // admission passes
)

// Kinds in the order in which they are shown.
var Kinds = []Kind{Accepted, Refusal, Busy, Poll, Settle, Pass}

// Percentiles that are shown; the maximum comes on top.
var Percentiles = []float64{50, 90, 99, 99.9, 99.99}

// A Latency has two histograms of the same calls.
//
// Corrected counts from the moment at which a shopper wanted to send; Plain from the
// moment at which the call was sent. They differ by what the call waited in the
// generator: for a free connection, or because the generator itself was late. A
// generator that only measures Plain sends less while the target is slow, and so
// leaves out just the calls that would have been slow (coordinated omission).
type Latency struct {
	Corrected *Histogram `json:"corrected"`
	Plain     *Histogram `json:"plain"`
}

// A Histogram is an HDR histogram of microseconds, 3 digits, up to ten minutes. In
// JSON it is HdrHistogram's V2 compressed form in base64, which its tools read.
type Histogram struct{ h *hdrhistogram.Histogram }

const longest = 10 * time.Minute

// NewHistogram makes an empty one.
func NewHistogram() *Histogram {
	return &Histogram{hdrhistogram.New(1, longest.Microseconds(), 3)}
}

// Record adds a value. What is longer than ten minutes counts as ten minutes.
func (h *Histogram) Record(d time.Duration) {
	_ = h.h.RecordValue(min(max(d, 0), longest).Microseconds()) // it is in range
}

// Count is how many values there are.
func (h *Histogram) Count() int64 { return h.h.TotalCount() }

// At is the value at a percentile.
func (h *Histogram) At(percentile float64) time.Duration {
	return time.Duration(h.h.ValueAtPercentile(percentile)) * time.Microsecond
}

// Max is the greatest value, to three digits.
func (h *Histogram) Max() time.Duration { return time.Duration(h.h.Max()) * time.Microsecond }

// Equal tells whether both hold the same.
func (h *Histogram) Equal(other *Histogram) bool { return h.h.Equals(other.h) }

func (h *Histogram) add(other *Histogram) error {
	if dropped := h.h.Merge(other.h); dropped > 0 {
		return fmt.Errorf("report: %d latencies do not fit", dropped)
	}
	return nil
}

// MarshalText encodes it.
func (h *Histogram) MarshalText() ([]byte, error) {
	text, err := h.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("report: histogram: %w", err)
	}
	return text, nil
}

// UnmarshalText decodes it.
func (h *Histogram) UnmarshalText(text []byte) (err error) {
	if h.h, err = hdrhistogram.Decode(text); err != nil {
		return fmt.Errorf("report: histogram: %w", err)
	}
	return nil
}
