package apigw

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// A Response is what a handler answers. Header names are in canonical form.
type Response struct {
	Status  int
	Headers map[string]string // may be nil; wins over the defaults
	Body    any               // []byte goes out as it is, nil is empty, the rest becomes JSON
}

// A Handler tells the story of one call.
type Handler func(ctx context.Context, r *Request) (Response, error)

// An Edge is where events come in. It has no state and may be copied.
type Edge struct {
	Log     *slog.Logger
	Origins []string // pages of these may call (CORS), such as https://shop.example; nil: none
}

// Serve answers an event by f. An [Error] becomes its response; any other error,
// and a panic, becomes 500 INTERNAL with the request id. Only an event of a
// wrong kind is an error of the function itself.
//
// Each request is one log line: refusals at debug, because a sold-out sale makes
// nothing else; a 5xx with a cause at warn; what was not expected at error.
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
	if level := levelOf(response.Status, refusal); e.Log.Enabled(ctx, level) {
		e.record(ctx, level, r, response.Status, refusal, start)
	}
	return text, nil
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
func (e Edge) record(ctx context.Context, level slog.Level, r *Request, status int, refusal *Error, start time.Time) {
	attrs := []slog.Attr{
		slog.String("requestId", r.RequestID), slog.String("method", r.Method), slog.String("route", r.Resource),
		slog.Int("status", status), slog.Float64("ms", time.Since(start).Seconds()*1000),
	}
	if refusal != nil {
		attrs = append(attrs, slog.String("code", string(refusal.Code)))
		if refusal.Cause != nil {
			attrs = append(attrs, slog.String("cause", refusal.Cause.Error()))
		}
	}
	e.Log.LogAttrs(ctx, level, "request", attrs...)
}
