package apigw

import (
	"math"
	"sync"

	"flashsale/shared/plainjson"
)

// A Glance is an event read in place, without allocating: what a refusal that is
// the same for everybody needs. All it returns is part of the event.
//
// It knows plain events only. For any other, and where a method says false,
// [Edge.Serve] is the way: it knows every form.
type Glance struct {
	parts
	fields [maxFields]field
	n      int
	last   recall
}

// Glances are used again and again, for what they recall and because they are large.
var glances = sync.Pool{New: func() any { return new(Glance) }}

// Look reads an event. It is false for one that is not plain, good or not. Either way
// [Glance.Done] comes next.
func Look(event []byte) (*Glance, bool) {
	g := glances.Get().(*Glance)
	return g, g.look(event)
}

// Done gives the Glance back. What it returned is still part of the event.
func (g *Glance) Done() {
	g.event = nil
	glances.Put(g)
}

// parts are where the event's single values stand; 0 to 0 is missing.
type parts struct {
	event                                   []byte
	method, path, resource, requestID, body span
	plain, base64                           bool // the body: it means itself; it is base64
}

// A span is event[from:to].
type span struct{ from, to uint32 }

// A field is one value of a path parameter or a header. A header with several
// values has a field for each, all with the same name.
type field struct {
	name, value span
	kind        kind
	plain       bool // the value means itself
}

type kind uint8

const (
	param kind = iota
	single
	multi
)

// maxFields is more than fits into API Gateway's 10 KB of headers in practice,
// where each stands in both forms.
const maxFields = 128

func (g *Glance) look(event []byte) bool {
	if len(event) > math.MaxInt32 {
		return false
	}
	g.parts, g.n, g.last.to = parts{event: event, plain: true}, 0, 0
	c := plainjson.New(event)
	g.read(&c)
	if !c.Done() {
		return false
	}
	if g.last.to > 0 {
		g.last.keep(event)
	}
	// An HTTP API's event has no httpMethod, a load balancer's no request id.
	return g.method.from < g.method.to && g.path.from < g.path.to && g.requestID.from < g.requestID.to
}

// Method is the event's method in upper case.
func (g *Glance) Method() []byte { return g.at(g.method) }

// Resource is the route's template.
func (g *Glance) Resource() []byte { return g.at(g.resource) }

// RequestID is API Gateway's id of the request.
func (g *Glance) RequestID() []byte { return g.at(g.requestID) }

func (g *Glance) at(s span) []byte { return g.event[s.from:s.to:s.to] }

// Param returns a parameter of the route's template, nil if there is none.
func (g *Glance) Param(name string) (value []byte, ok bool) {
	value, _, ok = g.only(param, name)
	return value, ok
}

// Header returns the only value of a header, nil if there is none. False:
// several values, or one that is not plain.
func (g *Glance) Header(name string) (value []byte, ok bool) {
	value, found, ok := g.only(multi, name)
	if !found {
		value, _, ok = g.only(single, name)
	}
	return value, ok
}

// only does not know either where a parameter's name comes in another case.
func (g *Glance) only(kind kind, name string) (value []byte, found, ok bool) {
	for i := range g.n {
		f := &g.fields[i]
		if f.kind != kind || int(f.name.to-f.name.from) != len(name) || !plainjson.EqualFold(g.at(f.name), name) {
			continue
		}
		if found || !f.plain || kind == param && string(g.at(f.name)) != name {
			return nil, true, false
		}
		value, found = g.at(f.value), true
	}
	return value, found, true
}
