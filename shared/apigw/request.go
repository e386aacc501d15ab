// Package apigw is the edge to API Gateway: an event of a REST API's Lambda
// proxy comes in, a response goes out.
//
// It promises one vocabulary of error codes with one status each, one log line
// per request without tokens or shoppers' data, and that no internal text
// reaches a caller: what is not an [Error] is answered 500 INTERNAL.
package apigw

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Request is what a handler needs of an event.
type Request struct {
	Method    string            // upper case
	Path      string            // as called, without the stage
	Resource  string            // the route's template, such as /orders/{orderId}
	Params    map[string]string // of the template, as called
	RequestID string
	TraceID   string // X-Ray's, may be empty

	headers   []header
	body      string
	base64    bool
	bodyPlain bool
}

// A header is one value of a header.
type header struct {
	name, value string
	key         uint32 // the same for all values of one key of the event
	kind        kind
	plain       bool // the value means itself
}

// event has only the fields that are used: decoding costs a third of the full
// structs' time.
type event struct {
	Method       string              `json:"httpMethod"`
	Path         string              `json:"path"`
	Resource     string              `json:"resource"`
	Params       map[string]string   `json:"pathParameters"`
	Headers      map[string]string   `json:"headers"`
	MultiHeaders map[string][]string `json:"multiValueHeaders"`
	Body         string              `json:"body"`
	IsBase64     bool                `json:"isBase64Encoded"`
	Context      struct {
		RequestID string `json:"requestId"`
	} `json:"requestContext"`
}

// Parse reads an event. An error means that it is not from a REST API's proxy,
// which is a mistake in the wiring and not the caller's.
func Parse(event []byte) (*Request, error) {
	g, plain := Look(event)
	defer g.Done()
	if plain {
		return g.request(), nil
	}
	return decode(event)
}

// request copies the event: Lambda's runtime uses its buffer again.
func (g *Glance) request() *Request {
	text := string(g.event)
	at := func(s span) string { return text[s.from:s.to] }
	r := &Request{
		Method: at(g.method), Path: at(g.path), Resource: at(g.resource),
		RequestID: at(g.requestID),
		body:      at(g.body), bodyPlain: g.plain, base64: g.base64,
		headers: make([]header, 0, g.n),
	}
	for _, f := range g.fields[:g.n] {
		if f.kind != param {
			r.headers = append(r.headers, header{at(f.name), at(f.value), f.name.from, f.kind, f.plain})
			continue
		}
		if r.Params == nil {
			r.Params = make(map[string]string)
		}
		r.Params[at(f.name)] = meaning(at(f.value), f.plain)
	}
	r.trace()
	return r
}

// decode reads any event that encoding/json does.
func decode(text []byte) (*Request, error) {
	var e event
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("apigw: event: %w", err)
	}
	// An HTTP API's event has no httpMethod, a load balancer's no request id.
	if e.Method == "" || e.Path == "" || e.Context.RequestID == "" {
		return nil, errors.New("apigw: the event is not from a REST API's Lambda proxy")
	}
	r := &Request{
		Method: e.Method, Path: e.Path, Resource: e.Resource, Params: e.Params,
		RequestID: e.Context.RequestID,
		body:      e.Body, bodyPlain: true, base64: e.IsBase64,
	}
	for name, value := range e.Headers {
		r.headers = append(r.headers, header{name, value, 0, single, true})
	}
	for name, values := range e.MultiHeaders {
		for _, value := range values {
			r.headers = append(r.headers, header{name, value, 0, multi, true})
		}
	}
	r.trace()
	return r, nil
}

func (r *Request) trace() {
	if trace := r.Header("X-Amzn-Trace-Id"); len(trace) > 0 {
		r.TraceID = trace[0]
	}
}

// meaning is what a string of the event means, given as it stands there.
func meaning(text string, plain bool) string {
	if plain {
		return text
	}
	var value string
	if err := json.Unmarshal([]byte(`"`+text+`"`), &value); err != nil {
		panic(err) // the scanner has checked it
	}
	return value
}

// Only refuses every method but these. API Gateway routes by method, but a
// handler must not buy because somebody wired OPTIONS to it.
func (r *Request) Only(methods ...string) error {
	if slices.Contains(methods, r.Method) {
		return nil
	}
	allowed := strings.Join(methods, ", ")
	return &Error{Code: MethodNotAllowed, Message: "Only " + allowed + " is possible here.", Allow: allowed}
}

// Header returns all values of a header, whatever the case of its name; nil if
// there are none. The multi-value form wins, since the single one keeps only
// the last value of a repeated header.
func (r *Request) Header(name string) []string {
	if values := r.values(multi, name); values != nil {
		return values
	}
	return r.values(single, name)
}

func (r *Request) values(kind kind, name string) (values []string) {
	for i, h := range r.headers {
		if h.kind == kind && strings.EqualFold(h.name, name) && !r.replaced(i) {
			values = append(values, meaning(h.value, h.plain))
		}
	}
	return values
}

// replaced tells whether the same key comes again: the last one counts, as in
// encoding/json.
func (r *Request) replaced(i int) bool {
	h := &r.headers[i]
	return slices.ContainsFunc(r.headers[i+1:], func(later header) bool {
		return later.kind == h.kind && later.name == h.name && later.key != h.key
	})
}

// Body returns the body's bytes, a BAD_REQUEST if it is not the base64 that it
// claims to be. Only a handler that asks for the body can fail by it.
func (r *Request) Body() ([]byte, error) {
	text := meaning(r.body, r.bodyPlain)
	if !r.base64 {
		return []byte(text), nil
	}
	body, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, &Error{Code: BadRequest, Message: "The body could not be read.", Cause: err}
	}
	return body, nil
}
