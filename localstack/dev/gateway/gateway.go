// Package gateway answers HTTP as an API Gateway REST API with Lambda proxy
// integration does.
//
// It promises that a function sees the same event here and when deployed, and that
// every answer of the gateway itself has the API's error form
// {"error":"CODE","message":"..."}. Differences: net/http spells header names
// canonically, and there are no throttles.
package gateway

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/localstack/dev/lambda"
)

const (
	maxBody            = 10 << 20         // API Gateway's payload limit
	integrationTimeout = 29 * time.Second // API Gateway's own
)

// A Route leads one method of a resource to a function.
type Route struct {
	Method   string
	Resource string // such as /api/flash-sales/{saleId}; a parameter fills one segment
	Function string
	Timeout  time.Duration // the function's own; 0 means API Gateway's 29 s
	NoPage   bool          // no page calls it, so OPTIONS is unknown
}

// Gateway is the HTTP handler of a REST API.
type Gateway struct {
	resources []resource
	log       *slog.Logger
	now       func() time.Time
	last      atomic.Pointer[answer] // a refusal: a crowd gets the same one, again and again
}

type resource struct {
	path     string
	segments []string
	methods  map[string]target
	allow    []string // the methods in their sequence
}

type target struct {
	name    string
	invoke  lambda.Invoke
	timeout time.Duration
}

// New makes a gateway. Where two resources fit a path, the first in routes wins, so
// those with fixed segments come first. OPTIONS goes to a resource's first function
// that pages call, which knows the allowed origins. A route to a missing function is
// a mistake in the table and panics.
func New(routes []Route, functions map[string]lambda.Invoke, log *slog.Logger) *Gateway {
	g := &Gateway{log: log, now: time.Now}
	for _, route := range routes {
		invoke, ok := functions[route.Function]
		if !ok {
			panic("gateway: no function " + route.Function)
		}
		t := target{name: route.Function, invoke: invoke, timeout: route.Timeout}
		if t.timeout == 0 {
			t.timeout = integrationTimeout
		}
		r := g.resource(route.Resource)
		r.methods[route.Method] = t
		if _, ok := r.methods[http.MethodOptions]; !ok && !route.NoPage {
			r.methods[http.MethodOptions] = t
			r.allow = append(r.allow, http.MethodOptions)
		}
		r.allow = append(r.allow, route.Method)
	}
	return g
}

func (g *Gateway) resource(path string) *resource {
	for i := range g.resources {
		if g.resources[i].path == path {
			return &g.resources[i]
		}
	}
	g.resources = append(g.resources, resource{
		path: path, segments: strings.Split(path, "/"), methods: make(map[string]target),
	})
	return &g.resources[len(g.resources)-1]
}

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	res, params, ok := g.find(r.URL.EscapedPath())
	if !ok {
		refuse(w, http.StatusNotFound, "NOT_FOUND", "There is nothing at this address.")
		return
	}
	to, ok := res.methods[r.Method]
	if !ok {
		w.Header().Set("Allow", strings.Join(res.allow, ", "))
		refuse(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "This address does not know that method.")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			refuse(w, http.StatusRequestEntityTooLarge, "REQUEST_TOO_LARGE", "The body is over 10 MB.")
			return
		}
		refuse(w, http.StatusBadRequest, "BAD_REQUEST", "The body could not be read.")
		return
	}
	id := lambda.RequestID()
	w.Header().Set("X-Amzn-Requestid", id)
	event := events.Get().(*[]byte) //nolint:forcetypeassert // the pool has nothing else
	*event = appendEvent((*event)[:0], r, res.path, params, body, id, g.now())
	answer, err := lambda.Call(r.Context(), to.invoke, to.timeout, *event)
	failure, failed := errors.AsType[*lambda.Error](err)
	if err == nil {
		err = g.write(w, answer)
	}
	if err != nil {
		g.fail(w, to, id, err)
	}
	if !failed || failure.Type != lambda.TimedOut { // else it may still read the event
		events.Put(event)
	}
}

// events are buffers that are used again, as those of Lambda's runtime are.
var events = sync.Pool{New: func() any { return new([]byte) }}

// fail is what API Gateway does with a function that failed: 502, or 504 where its
// own patience ended. The cause goes to the log only.
func (g *Gateway) fail(w http.ResponseWriter, to target, id string, err error) {
	g.log.Error("function failed", "function", to.name, "requestId", id, "error", err)
	status := http.StatusBadGateway
	if failure, ok := errors.AsType[*lambda.Error](err); ok && failure.Type == lambda.TimedOut && to.timeout == integrationTimeout {
		status = http.StatusGatewayTimeout
	}
	refuse(w, status, "INTERNAL", "Something went wrong. Request id: "+id)
}

// find splits before it decodes, so that %2F stays inside its parameter.
func (g *Gateway) find(escapedPath string) (*resource, map[string]string, bool) {
	segments := strings.Split(escapedPath, "/")
	for i := range g.resources {
		if params, ok := g.resources[i].match(segments); ok {
			return &g.resources[i], params, true
		}
	}
	return nil, nil, false
}

// write sends a function's answer. It writes nothing if the answer is malformed.
func (g *Gateway) write(w http.ResponseWriter, text []byte) error {
	a := g.last.Load()
	if a == nil || string(text) != a.text {
		var err error
		if a, err = readAnswer(text); err != nil {
			return err
		}
		if a.status == http.StatusGone {
			g.last.Store(a)
		}
	}
	maps.Copy(w.Header(), a.headers)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
	return nil
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "message": message})
}
