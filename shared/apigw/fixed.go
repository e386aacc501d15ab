package apigw

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"flashsale/shared/telemetry"
)

// A Fixed answer is a refusal that is the same for everybody, encoded once for
// each page that may call.
type Fixed struct {
	refusal *Error
	level   slog.Level
	outcome *telemetry.Outcome
	origins []string
	answers [][]byte // as origins; the last one is for all others
}

// Fix prepares a refusal, which must not change any more. It may not be INTERNAL,
// which names its request, and its fields must become JSON: both are mistakes of
// the program, so Fix panics.
func (e Edge) Fix(refusal *Error) *Fixed {
	if refusal.Code == Internal {
		panic("apigw: INTERNAL cannot be fixed")
	}
	f := &Fixed{refusal: refusal, level: levelOf(refusal.Code.Status(), refusal), origins: e.Origins}
	f.outcome = e.Outcomes.Of(string(refusal.Code))
	for _, origin := range append(e.Origins[:len(e.Origins):len(e.Origins)], "") {
		answer, err := encode(refusal.response(), e.allow(origin, false))
		if err != nil {
			panic(err)
		}
		f.answers = append(f.answers, answer)
	}
	return f
}

// For returns the answer to a page of that origin, nil for none. Nobody may
// change it.
func (f *Fixed) For(origin []byte) []byte {
	for i, allowed := range f.origins {
		if string(origin) == allowed {
			return f.answers[i]
		}
	}
	return f.answers[len(f.origins)]
}

// Refuse answers the event that g has looked at, as [Edge.Serve] answers it if
// its handler returns f's refusal, counts it, and makes the same log line. Nobody
// may change the answer. False: this is for Serve, and nothing was logged.
func (e Edge) Refuse(ctx context.Context, g *Glance, f *Fixed, start time.Time) (answer []byte, ok bool) {
	origin, ok := g.Header("Origin")
	if !ok || string(g.Method()) == http.MethodOptions { // it may be a preflight
		return nil, false
	}
	f.outcome.Add(start, 0)
	if level, suppressed, ok := e.logs(ctx, f.level, f.outcome, start); ok {
		e.record(ctx, level, g.known(), f.refusal.Code.Status(), f.refusal, start, suppressed)
	}
	return f.For(origin), true
}

// known is what a log line tells of the request.
func (g *Glance) known() *Request {
	r := &Request{RequestID: string(g.RequestID()), Method: string(g.Method()), Resource: string(g.Resource())}
	if trace, ok := g.Header("X-Amzn-Trace-Id"); ok {
		r.TraceID = string(trace)
	}
	return r
}
