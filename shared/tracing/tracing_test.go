package tracing_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"flashsale/shared/config"
	"flashsale/shared/tracing"
)

const caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// collector is a tracer, and what its collector got last.
func collector(t *testing.T, status int) (*tracing.Tracer, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	var got, log bytes.Buffer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Reset()
		if r.URL.Path == "/v1/traces" && r.Header.Get("Content-Type") == "application/json" {
			_, _ = io.Copy(&got, r.Body)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return tracing.New(config.Tracing{Endpoint: server.URL + "/"}, "purchase", slog.New(slog.NewJSONHandler(&log, nil))), &got, &log
}

func TestSend(t *testing.T) {
	t.Parallel()
	tracer, got, log := collector(t, http.StatusOK)
	at := time.Unix(1_700_000_000, 5)
	parent := tracer.Begin("purchase", tracing.Server, caller, at)
	parent.Set("flashsale.sale.id", 7)
	child := parent.Child("publish", tracing.Producer)
	child.End()
	parent.End()
	tracer.Send(t.Context(), parent, nil, child)
	var sent struct {
		ResourceSpans []struct {
			Resource struct {
				Attributes []struct {
					Key   string
					Value struct{ StringValue string }
				}
			}
			ScopeSpans []struct {
				Spans []struct {
					TraceID, SpanID, ParentSpanID, Name, StartTimeUnixNano, EndTimeUnixNano string

					Kind       int
					Attributes []struct {
						Key   string
						Value struct{ StringValue string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(got.Bytes(), &sent); err != nil || log.Len() > 0 {
		t.Fatalf("sent %s: %v, logged %s", got, err, log)
	}
	if service := sent.ResourceSpans[0].Resource.Attributes[0]; service.Key != "service.name" || service.Value.StringValue != "purchase" {
		t.Errorf("service %+v", service)
	}
	spans := sent.ResourceSpans[0].ScopeSpans[0].Spans
	if len(spans) != 2 {
		t.Fatalf("sent %s, want two spans", got)
	}
	first, second := spans[0], spans[1]
	if first.TraceID != caller[3:35] || first.ParentSpanID != caller[36:52] || first.Kind != 2 || first.StartTimeUnixNano != "1700000000000000005" {
		t.Errorf("the first span is %+v, want the caller's child", first)
	}
	if len(first.Attributes) != 1 || first.Attributes[0].Value.StringValue != "7" {
		t.Errorf("attributes %+v", first.Attributes)
	}
	if second.TraceID != first.TraceID || second.ParentSpanID != first.SpanID || second.Kind != 4 || second.EndTimeUnixNano < second.StartTimeUnixNano {
		t.Errorf("the second span is %+v, want a child of %s", second, first.SpanID)
	}
}

// TestParents begins with what callers send.
func TestParents(t *testing.T) {
	t.Parallel()
	tracer, _, _ := collector(t, http.StatusOK)
	for parent, follows := range map[string]bool{
		caller:                       true,
		"01" + caller[2:] + "-later": true,
		"":                           false, "nonsense": false, "ff" + caller[2:]: false, caller + "-more": false, strings.ToUpper(caller): false,
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": false,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01": false,
		strings.Replace(caller, "4bf9", "zzzz", 1):                false,
	} {
		span := tracer.Begin("purchase", tracing.Server, parent, time.Now())
		got := span.Traceparent()
		if len(got) != len(caller) || strings.Contains(got, caller[3:35]) != follows || strings.Contains(got, caller[36:52]) {
			t.Errorf("parent %q: got %s, want a new span, of the same trace: %t", parent, got, follows)
		}
	}
	if span := tracer.Begin("purchase", tracing.Server, caller[:53]+"00", time.Now()); span != nil {
		t.Errorf("a trace that is not recorded: got %s, want none", span.Traceparent())
	}
}

func TestOff(t *testing.T) {
	t.Parallel()
	off := tracing.New(config.Tracing{}, "purchase", silent())
	if off != nil {
		t.Fatal("a tracer without an endpoint")
	}
	span := off.Begin("purchase", tracing.Server, caller, time.Now())
	span.Set("a", 1)
	child := span.Child("publish", tracing.Producer)
	child.End()
	off.Send(t.Context(), span, child)
	ctx := tracing.With(t.Context(), child)
	if got := tracing.Parent(ctx); got != "" || ctx != t.Context() {
		t.Errorf("parent %q, want none, and the context as it was", got)
	}
}

// TestACollectorThatFails is logged and changes nothing.
func TestACollectorThatFails(t *testing.T) {
	t.Parallel()
	tracer, _, log := collector(t, http.StatusServiceUnavailable)
	span := tracer.Begin("purchase", tracing.Server, "", time.Now())
	span.End()
	tracer.Send(t.Context(), span)
	if !strings.Contains(log.String(), "503") {
		t.Errorf("logged %s, want the answer", log)
	}
}

// TestACollectorThatHangs is left behind.
func TestACollectorThatHangs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	tracer := tracing.New(config.Tracing{Endpoint: server.URL}, "purchase", silent())
	span := tracer.Begin("purchase", tracing.Server, "", time.Now())
	span.End()
	tracer.Send(t.Context(), span) // the test's own time is the limit
}

func FuzzBegin(f *testing.F) {
	tracer := tracing.New(config.Tracing{Endpoint: "http://localhost:1"}, "purchase", silent())
	f.Add(caller)
	f.Add("01" + caller[2:] + "-later")
	f.Fuzz(func(t *testing.T, parent string) {
		if span := tracer.Begin("x", tracing.Server, parent, time.Now()); span != nil {
			if got := span.Traceparent(); len(got) != len(caller) {
				t.Errorf("parent %q: got %q", parent, got)
			}
		}
	})
}
