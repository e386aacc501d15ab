package apigw

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"flashsale/shared/telemetry"
)

// A Response is what a handler answers. Header names are in canonical form.
type Response struct {
	Status  int
	Headers map[string]string // may be nil; wins over the defaults
	Body    any               // []byte goes out as it is, nil is empty, the rest becomes JSON
}

// A Handler tells the story of one call.
type Handler func(ctx context.Context, r *Request) (Response, error)

// An Edge is where events come in. It may be copied.
type Edge struct {
	Log      *slog.Logger
	Origins  []string            // pages of these may call (CORS), such as https://shop.example; nil: none
	Outcomes *telemetry.Outcomes // counts by code; ACCEPTED (202) and OK are the good ends. Nil counts nothing
}

// Serve answers an event by f. An [Error] becomes its response; any other error,
// and a panic, becomes 500 INTERNAL with the request id. Only an event of a
// wrong kind is an error of the function itself.
//
// Each request is one log line: refusals at debug, because a sold-out sale makes
// nothing else; a 5xx with a cause at warn; what was not expected at error. Where
// debug is off, one refusal of each code a second is logged at info all the same,
// and says how many of its kind were suppressed since the one before.
func (e Edge) Serve(ctx context.Context, event []byte, f Handler) ([]byte, error) {
	start := time.Now()
	r, err := Parse(event)
	if err != nil {
		e.Log.LogAttrs(ctx, slog.LevelError, "request", slog.Any("cause", err))
		return nil, err
	}
	cors := e.crossOrigin(r)
	response, refusal := e.answer(ctx, r, f)
	text, err := encode(response, cors)
	if err != nil {
		refusal = asError(err, r.RequestID)
		response = refusal.response()
		if text, err = encode(response, cors); err != nil {
			return nil, err
		}
	}
	if refusal == nil && e.isPreflight(r) {
		e.record(ctx, slog.LevelInfo, r, response.Status, nil, start, 0)
		return text, nil
	}
	outcome := e.Outcomes.Of(outcomeOf(response.Status, refusal))
	took := time.Duration(0)
	if refusal == nil {
		took = time.Since(start) // a crowd's refusals would hide the others' time
	}
	outcome.Add(start, took)
	if level, suppressed, ok := e.logs(ctx, levelOf(response.Status, refusal), outcome, start); ok {
		e.record(ctx, level, r, response.Status, refusal, start, suppressed)
	}
	return text, nil
}

func outcomeOf(status int, refusal *Error) string {
	switch {
	case refusal != nil:
		return string(refusal.Code)
	case status == http.StatusAccepted:
		return "ACCEPTED"
	}
	return "OK"
}

// logs tells whether a request of that level is logged, at which, and how many
// refusals like it were not.
func (e Edge) logs(ctx context.Context, level slog.Level, o *telemetry.Outcome, at time.Time) (_ slog.Level, suppressed int64, ok bool) {
	if e.Log.Enabled(ctx, level) {
		return level, 0, true
	}
	if level == slog.LevelDebug {
		suppressed, ok = o.Sample(at)
	}
	return slog.LevelInfo, suppressed, ok && e.Log.Enabled(ctx, slog.LevelInfo)
}

// answer calls the handler; refusal is nil if it succeeded.
func (e Edge) answer(ctx context.Context, r *Request, f Handler) (response Response, refusal *Error) {
	if e.isPreflight(r) {
		return Response{Status: http.StatusNoContent}, nil
	}
	response, err := guarded(ctx, r, f)
	if err != nil {
		refusal = asError(err, r.RequestID)
		return refusal.response(), refusal
	}
	return response, nil
}

// guarded turns a panic into an error: one request's bug must not end an
// environment that serves others at the same time.
func guarded(ctx context.Context, r *Request, f Handler) (_ Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f(ctx, r)
}

func levelOf(status int, refusal *Error) slog.Level {
	switch {
	case refusal == nil:
		return slog.LevelInfo
	case refusal.Code == Internal:
		return slog.LevelError
	case refusal.Cause != nil && status >= http.StatusInternalServerError:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// record logs the route's template, since the path is the caller's own text.
func (e Edge) record(ctx context.Context, level slog.Level, r *Request, status int, refusal *Error, start time.Time, suppressed int64) {
	attrs := []slog.Attr{
		slog.String("requestId", r.RequestID), slog.String("method", r.Method), slog.String("route", r.Resource),
		slog.Int("status", status), slog.Float64("ms", time.Since(start).Seconds()*1000),
	}
	if id := telemetry.TraceID(r.TraceID); id != "" {
		attrs = append(attrs, slog.String("traceId", id))
	}
	if refusal != nil {
		attrs = append(attrs, slog.String("code", string(refusal.Code)))
		if refusal.Cause != nil {
			attrs = append(attrs, slog.String("cause", refusal.Cause.Error()))
		}
	}
	if suppressed > 0 {
		attrs = append(attrs, slog.Int64("suppressed", suppressed))
	}
	e.Log.LogAttrs(ctx, level, "request", attrs...)
}
