package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"flashsale/localstack/stampede/report"
)

var elsewhere = regexp.MustCompile(`(?i)<script|<link|<img|@import|url\(|\b(src|href)=`)

func TestPage(t *testing.T) {
	t.Parallel()
	bad := again(t, whole())
	bad.Orders.Lost = 3
	bad.Examples = []string{`shopper 1: <b>&"'`}
	bad.Notes = []string{"</style>"}
	bad.Judge()
	beside := whole()
	beside.Neighbour = &report.Neighbour{
		Quiet: report.Rounds{Done: 200, P95: report.Duration(1500 * time.Microsecond), Longest: report.Duration(2 * time.Millisecond)},
		Rush:  report.Rounds{Failed: 7},
	}
	empty := report.NewRecorder(report.Report{OpensAt: opening, Parts: []string{"1/1"}}).Close(nil)
	for name, test := range map[string]struct {
		report *report.Report
		want   []string
	}{
		"kept":   {again(t, whole()), []string{"All promises kept", "202 number 40", "row number 40", "p99.99"}},
		"broken": {bad, []string{"A promise broke", "3 lost", "&lt;b&gt;"}},
		"beside": {again(t, beside), []string{"1.50 ms, the longest of 200 2.00 ms, 0 failed", "no round, 7 failed"}},
		"empty":  {empty, []string{"A promise broke"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := test.report.HTML()
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(string(page), want) {
					t.Errorf("the page has no %q", want)
				}
			}
			text := strings.ReplaceAll(string(page), `xmlns="http://www.w3.org/2000/svg"`, "")
			if found := elsewhere.FindString(text); found != "" || strings.Contains(text, "://") && test.report.Target == "" {
				t.Errorf("the page needs something from elsewhere: %q", found)
			}
			if strings.Contains(text, "NaN") || strings.Contains(text, "ZgotmplZ") || strings.Contains(text, "Inf") {
				t.Error("the page has figures that are none")
			}
			wellFormed(t, page)
		})
	}
}

func wellFormed(t *testing.T, page []byte) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(string(page)))
	decoder.Entity = xml.HTMLEntity
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
	}
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	h := report.NewHistogram()
	for _, d := range []time.Duration{-time.Second, time.Millisecond, time.Second, time.Hour} {
		h.Record(d)
	}
	if h.Count() != 4 || h.Max() < 9*time.Minute || h.Max() > 11*time.Minute {
		t.Errorf("got %d values up to %s, want 4 up to ten minutes", h.Count(), h.Max())
	}
	if got := h.At(75); got < 999*time.Millisecond || got > 1002*time.Millisecond {
		t.Errorf("third quarter: got %s, want 1s to three digits", got)
	}
	if err := h.UnmarshalText([]byte("no histogram")); err == nil {
		t.Error("nonsense was decoded, want an error")
	}
}
