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
	SourceIP  string

	event event
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
		Identity  struct {
			SourceIP string `json:"sourceIp"`
		} `json:"identity"`
	} `json:"requestContext"`
}

// Parse reads an event. An error means that it is not from a REST API's proxy,
// which is a mistake in the wiring and not the caller's.
func Parse(text []byte) (*Request, error) {
	r := &Request{}
	e := &r.event
	if err := json.Unmarshal(text, e); err != nil {
		return nil, fmt.Errorf("apigw: event: %w", err)
	}
	// An HTTP API's event has no httpMethod, a load balancer's no request id.
	if e.Method == "" || e.Path == "" || e.Context.RequestID == "" {
		return nil, errors.New("apigw: the event is not from a REST API's Lambda proxy")
	}
	r.Method, r.Path, r.Resource, r.Params = e.Method, e.Path, e.Resource, e.Params
	r.RequestID, r.SourceIP = e.Context.RequestID, e.Context.Identity.SourceIP
	if trace := r.Header("X-Amzn-Trace-Id"); len(trace) > 0 {
		r.TraceID = trace[0]
	}
	return r, nil
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
	var values []string
	for key, more := range r.event.MultiHeaders {
		if strings.EqualFold(key, name) {
			values = append(values, more...)
		}
	}
	if values != nil {
		return values
	}
	for key, value := range r.event.Headers {
		if strings.EqualFold(key, name) {
			values = append(values, value)
		}
	}
	return values
}

// Body returns the body's bytes, a BAD_REQUEST if it is not the base64 that it
// claims to be. Only a handler that asks for the body can fail by it.
func (r *Request) Body() ([]byte, error) {
	if !r.event.IsBase64 {
		return []byte(r.event.Body), nil
	}
	body, err := base64.StdEncoding.DecodeString(r.event.Body)
	if err != nil {
		return nil, &Error{Code: BadRequest, Message: "The body could not be read.", Cause: err}
	}
	return body, nil
}
