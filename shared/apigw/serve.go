package apigw

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
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
	response, refusal := e.answer(ctx, r, f)
	text, err := encode(response, e.crossOrigin(r))
	if err != nil {
		refusal = asError(err, r.RequestID)
		response = refusal.response()
		if text, err = encode(response, e.crossOrigin(r)); err != nil {
			return nil, err
		}
	}
	e.record(ctx, r, response.Status, refusal, time.Since(start))
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

// record logs the route's template, since the path is the caller's own text.
func (e Edge) record(ctx context.Context, r *Request, status int, refusal *Error, took time.Duration) {
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("requestId", r.RequestID), slog.String("method", r.Method),
		slog.String("route", r.Resource), slog.Int("status", status), slog.Float64("ms", took.Seconds()*1000),
	}
	if refusal != nil {
		level = slog.LevelDebug
		attrs = append(attrs, slog.String("code", string(refusal.Code)))
		if refusal.Cause != nil {
			attrs = append(attrs, slog.String("cause", refusal.Cause.Error()))
			if status >= http.StatusInternalServerError {
				level = slog.LevelWarn
			}
		}
		if refusal.Code == Internal {
			level = slog.LevelError
		}
	}
	e.Log.LogAttrs(ctx, level, "request", attrs...)
}

func (e Edge) isPreflight(r *Request) bool {
	return len(e.Origins) > 0 && r.Method == http.MethodOptions &&
		r.Header("Origin") != nil && r.Header("Access-Control-Request-Method") != nil
}

// crossOrigin returns the CORS headers of an answer, nil where CORS is off.
func (e Edge) crossOrigin(r *Request) map[string]string {
	if len(e.Origins) == 0 {
		return nil
	}
	// Caches must know that the answer depends on it, also where it is not allowed.
	headers := map[string]string{"Vary": "Origin"}
	origin := r.Header("Origin")
	if len(origin) != 1 || !slices.Contains(e.Origins, origin[0]) {
		return headers
	}
	headers["Access-Control-Allow-Origin"] = origin[0]
	if e.isPreflight(r) {
		headers["Access-Control-Allow-Methods"] = "GET, POST, DELETE"
		headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type, Idempotency-Key, X-Admission-Pass"
		headers["Access-Control-Max-Age"] = "600"
		return headers
	}
	headers["Access-Control-Expose-Headers"] = "Location, Retry-After"
	return headers
}

// encode writes the form that API Gateway expects of a proxy.
func encode(r Response, more map[string]string) ([]byte, error) {
	headers := map[string]string{"Cache-Control": "no-store"}
	body, ok := r.Body.([]byte)
	if !ok && r.Body != nil {
		var err error
		if body, err = json.Marshal(r.Body); err != nil {
			return nil, fmt.Errorf("apigw: body: %w", err)
		}
	}
	if len(body) > 0 {
		headers["Content-Type"] = "application/json"
	}
	for _, set := range []map[string]string{more, r.Headers} {
		maps.Copy(headers, set)
	}
	return json.Marshal(struct {
		StatusCode int               `json:"statusCode"`
		Headers    map[string]string `json:"headers"`
		Body       string            `json:"body"`
	}{r.Status, headers, string(body)})
}
