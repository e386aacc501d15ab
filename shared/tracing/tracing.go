// Package tracing tells an OpenTelemetry collector how an order went, from the
// purchase through Kafka to its row.
//
// It promises that what is off costs nothing, that a collector that is away
// delays a shopper by no more than patience and fails nothing, and that spans
// have left before the invocation answers. It speaks OTLP over HTTP in JSON by
// itself: the official exporter would make each binary a third larger.
package tracing

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"flashsale/shared/config"
)

// Header is W3C's name of the header that leads from one process to the next, in
// HTTP and in Kafka.
const Header = "traceparent"

// patience is how long a collector may take. It stands beside the function, or near.
const patience = 200 * time.Millisecond

// A Kind is what a span is to its parent, as OpenTelemetry numbers it.
type Kind int

// The kinds that an order meets.
const (
	Server   Kind = 2
	Producer Kind = 4
	Consumer Kind = 5
)

// A Tracer sends spans. Nil sends none, and so do its spans. It is safe for concurrent use.
type Tracer struct {
	url, service string
	log          *slog.Logger
	client       http.Client
}

// New makes a tracer, nil without an endpoint. service names the function.
func New(cfg config.Tracing, service string, log *slog.Logger) *Tracer {
	if cfg.Endpoint == "" {
		return nil
	}
	return &Tracer{
		url: strings.TrimSuffix(cfg.Endpoint, "/") + "/v1/traces", service: service, log: log,
		client: http.Client{Timeout: patience},
	}
}

// A Span is one step of an order's way. Nil is none.
type Span struct {
	tracer      *Tracer
	name        string
	kind        Kind
	trace       [16]byte
	id, parent  [8]byte
	start, stop time.Time
	attributes  []attribute
}

// Begin starts a span at that time. parent is a traceparent; without one, or with
// one that cannot be read, a trace begins. Nil if the parent's trace is not recorded.
func (t *Tracer) Begin(name string, kind Kind, parent string, at time.Time) *Span {
	if t == nil {
		return nil
	}
	s := &Span{tracer: t, name: name, kind: kind, start: at}
	trace, id, sampled, ok := parse(parent)
	switch {
	case ok && !sampled:
		return nil
	case ok:
		s.trace, s.parent = trace, id
	default:
		fill(s.trace[:])
	}
	fill(s.id[:])
	return s
}

// Child starts a step of this one.
func (s *Span) Child(name string, kind Kind) *Span {
	if s == nil {
		return nil
	}
	return s.tracer.Begin(name, kind, s.Traceparent(), time.Now())
}

// Set adds an attribute.
func (s *Span) Set(key string, value any) {
	if s != nil {
		s.attributes = append(s.attributes, attribute{key, anyValue{fmt.Sprint(value)}})
	}
}

// End stops the clock.
func (s *Span) End() {
	if s != nil {
		s.stop = time.Now()
	}
}

// Traceparent is what the next process takes as its parent; "" of nil.
func (s *Span) Traceparent() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("00-%x-%x-01", s.trace, s.id)
}

// parse reads version 00 of W3C's form, and what later ones have in common with it.
func parse(text string) (trace [16]byte, id [8]byte, sampled, ok bool) {
	if len(text) < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-' || text[:2] == "ff" ||
		text[:2] == "00" && len(text) != 55 || strings.ToLower(text) != text {
		return trace, id, false, false
	}
	var flags [1]byte
	_, err1 := hex.Decode(trace[:], []byte(text[3:35]))
	_, err2 := hex.Decode(id[:], []byte(text[36:52]))
	_, err3 := hex.Decode(flags[:], []byte(text[53:55]))
	ok = err1 == nil && err2 == nil && err3 == nil && trace != [16]byte{} && id != [8]byte{}
	return trace, id, flags[0]&1 == 1, ok
}

// fill makes a random id. It hides nothing, so it need not be secret.
func fill(id []byte) {
	for i := range id {
		id[i] = byte(rand.Uint32()) //nolint:gosec // see above
	}
}

type key struct{}

// With makes the span the parent of what ctx is used for.
func With(ctx context.Context, s *Span) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, s)
}

// Parent is the traceparent of what ctx is used for, "" if it is not traced.
func Parent(ctx context.Context) string {
	s, _ := ctx.Value(key{}).(*Span)
	return s.Traceparent()
}

// Send sends spans that have ended; nil ones are left out. A failure is logged.
func (t *Tracer) Send(ctx context.Context, spans ...*Span) {
	var list []otlpSpan
	for _, s := range spans {
		if s != nil {
			list = append(list, s.otlp())
		}
	}
	if t == nil || len(list) == 0 {
		return
	}
	if err := t.post(context.WithoutCancel(ctx), list); err != nil {
		t.log.WarnContext(ctx, "spans were not sent", "spans", len(list), "error", err)
	}
}

func (t *Tracer) post(ctx context.Context, spans []otlpSpan) error {
	var body otlp
	body.ResourceSpans[0].Resource.Attributes = []attribute{{"service.name", anyValue{t.service}}}
	body.ResourceSpans[0].ScopeSpans[0].Scope.Name = "flashsale"
	body.ResourceSpans[0].ScopeSpans[0].Spans = spans
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := t.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body) // so that the connection is kept
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answered %s", response.Status)
	}
	return nil
}
