package apigw_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"flashsale/shared/apigw"
)

// TestFixedIsWhatServeAnswers compares both ways of the same refusal, the log line too.
func TestFixedIsWhatServeAnswers(t *testing.T) {
	t.Parallel()
	const shop, app = "https://shop.example", "https://app.example"
	events := map[string][]byte{
		"no origin":        event(""),
		"allowed":          event(`"headers":{"origin":"` + shop + `"}`),
		"the second":       event(`"multiValueHeaders":{"Origin":["` + app + `"]}`),
		"another":          event(`"headers":{"Origin":"https://other.example"}`),
		"an empty one":     event(`"headers":{"Origin":""}`),
		"both forms":       event(`"headers":{"Origin":"` + app + `"},"multiValueHeaders":{"origin":["` + shop + `"]}`),
		"a browser's":      compact(t, "purchase"),
		"no match, longer": event(`"headers":{"Origin":"` + shop + `.evil"}`),
	}
	refusals := map[string]*apigw.Error{
		"sold out":      apigw.Refuse(apigw.SoldOut, "This item is sold out."),
		"not open":      {Code: apigw.SaleNotOpen, Message: "Später \"heute\".", Fields: map[string]any{"opensAt": time.Unix(0, 0).UTC()}, RetryAfter: time.Second},
		"unknown item":  apigw.Refuse(apigw.UnknownItem, "There is no such item."),
		"malformed":     apigw.Unauthorized(nil),
		"wrong method":  {Code: apigw.MethodNotAllowed, Message: "No.", Allow: "POST"},
		"with a cause":  apigw.Busy(time.Second, errBroken),
		"a cause below": apigw.Unauthorized(errBroken),
	}
	for _, origins := range [][]string{nil, {shop}, {shop, app}, {shop, ""}} {
		for name, refusal := range refusals {
			for kind, event := range events {
				var slow, fast bytes.Buffer
				want, err := apigw.Edge{Log: debugLog(&slow), Origins: origins}.Serve(t.Context(), event, returns(apigw.Response{}, refusal))
				if err != nil {
					t.Fatal(err)
				}
				edge := apigw.Edge{Log: debugLog(&fast), Origins: origins}
				g, plain := apigw.Look(event)
				if !plain {
					t.Fatalf("%s is not plain", kind)
				}
				got, ok := edge.Refuse(t.Context(), g, edge.Fix(refusal), time.Now())
				if !ok || !bytes.Equal(got, want) {
					t.Errorf("%s, %s, %q: got %s, %t; want %s", name, kind, origins, got, ok, want)
				}
				if got, want := logged(t, &fast), logged(t, &slow); got != want {
					t.Errorf("%s, %s: logged %s, want %s", name, kind, got, want)
				}
			}
		}
	}
}

func TestRefuseLeavesTheUnusualToServe(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	edge := apigw.Edge{Log: debugLog(&log), Origins: []string{"https://shop.example"}}
	soldOut := edge.Fix(apigw.Refuse(apigw.SoldOut, "Gone."))
	for name, event := range map[string][]byte{
		"two origins":     event(`"multiValueHeaders":{"Origin":["a","b"]}`),
		"two spellings":   event(`"headers":{"Origin":"a","origin":"b"}`),
		"escaped origin":  event(`"headers":{"Origin":"https:\/\/shop.example"}`),
		"maybe preflight": compact(t, "preflight"),
	} {
		g, plain := apigw.Look(event)
		if !plain {
			t.Fatalf("%s is not plain", name)
		}
		if got, ok := edge.Refuse(t.Context(), g, soldOut, time.Now()); ok {
			t.Errorf("%s: got %s, want that Serve must answer", name, got)
		}
	}
	if log.Len() > 0 {
		t.Errorf("logged %s, want nothing", &log)
	}
}

func TestInternalCannotBeFixed(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("Fix took INTERNAL, which must name its request")
		}
	}()
	apigw.Edge{}.Fix(apigw.Refuse(apigw.Internal, "No."))
}

var errBroken = errors.New("broken")

func debugLog(w *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// logged is the one line without what no two calls share.
func logged(t *testing.T, log *bytes.Buffer) string {
	t.Helper()
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, log)
	}
	if _, ok := line["ms"]; !ok {
		t.Errorf("the line has no ms: %s", log)
	}
	delete(line, "time")
	delete(line, "ms")
	text, err := json.Marshal(line)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
