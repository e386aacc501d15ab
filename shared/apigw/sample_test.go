package apigw_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"testing"
	"time"

	"flashsale/shared/apigw"
	"flashsale/shared/telemetry"
)

// sampling is an edge at level info, with its log.
func sampling(level slog.Level) (apigw.Edge, *bytes.Buffer) {
	var log bytes.Buffer
	return apigw.Edge{
		Log:      telemetry.NewLogger(&log, level),
		Outcomes: (*telemetry.Meter)(nil).Outcomes("Purchases"),
	}, &log
}

// TestSampledRefusals refuses a crowd within one second, and one more after it.
func TestSampledRefusals(t *testing.T) {
	t.Parallel()
	edge, log := sampling(slog.LevelInfo)
	soldOut := edge.Fix(apigw.Refuse(apigw.SoldOut, "Gone."))
	text := event(`"headers":{"X-Amzn-Trace-Id":"Root=1-67891233-abcdef012345678912345678;Sampled=0"}`)
	start := time.Now()
	refuse := func(at time.Time) {
		g, plain := apigw.Look(text)
		if !plain {
			t.Fatal("not plain")
		}
		if _, ok := edge.Refuse(t.Context(), g, soldOut, at); !ok {
			t.Fatal("no answer")
		}
	}
	for range 1000 {
		refuse(start)
	}
	refuse(start.Add(time.Second))
	var lines []map[string]any
	for line := range bytes.Lines(log.Bytes()) {
		var one map[string]any
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lines = append(lines, one)
	}
	if len(lines) != 2 || lines[0]["suppressed"] != nil || lines[1]["suppressed"] != 999.0 {
		t.Fatalf("logged %v, want two lines, the second with 999 suppressed", lines)
	}
	one := lines[1]
	if one["level"] != "INFO" || one["code"] != "SOLD_OUT" || one["requestId"] != "r1" || one["traceId"] != "1-67891233-abcdef012345678912345678" {
		t.Errorf("logged %v, want level, code and both ids", one)
	}
}

// TestEveryLevelHasItsLines serves the same by both ways at each level.
func TestEveryLevelHasItsLines(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]int{slog.LevelDebug: 40, slog.LevelInfo: 1, slog.LevelWarn: 0} {
		edge, log := sampling(level)
		soldOut := edge.Fix(apigw.Refuse(apigw.SoldOut, "Gone."))
		start := time.Now()
		for range 20 {
			g, plain := apigw.Look(event(""))
			if !plain {
				t.Fatal("not plain")
			}
			_, _ = edge.Refuse(t.Context(), g, soldOut, start)
			if _, err := edge.Serve(t.Context(), event(""), returns(apigw.Response{}, apigw.Refuse(apigw.SoldOut, "Gone."))); err != nil {
				t.Fatal(err)
			}
		}
		more := 0
		if level == slog.LevelInfo { // one for each further second on a machine that was asleep
			more = int(time.Since(start) / time.Second)
		}
		if got := bytes.Count(log.Bytes(), []byte("\n")); got < want || got > want+more {
			t.Errorf("%s: %d lines, want %d to %d", level, got, want, want+more)
		}
	}
}

func TestOutcomesOfServe(t *testing.T) {
	t.Parallel()
	edge, _ := sampling(slog.LevelError)
	edge.Origins = []string{"https://shop.example"}
	for _, answers := range []apigw.Handler{
		returns(apigw.Response{Status: 202}, nil), returns(apigw.Response{Status: 200}, nil), returns(apigw.Response{Status: 204}, nil),
		returns(apigw.Response{}, apigw.Refuse(apigw.SoldOut, "Gone.")), returns(apigw.Response{}, errBroken),
		returns(apigw.Response{Status: 200, Body: func() {}}, nil),
	} {
		if _, err := edge.Serve(t.Context(), event(""), answers); err != nil {
			t.Fatal(err)
		}
	}
	// A preflight is the browser's question, not a shopper's.
	if _, err := edge.Serve(t.Context(), compact(t, "preflight"), returns(apigw.Response{Status: 202}, nil)); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"ACCEPTED": 1, "OK": 2, "SOLD_OUT": 1, "INTERNAL": 2}
	if got := edge.Outcomes.Totals(); !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}
