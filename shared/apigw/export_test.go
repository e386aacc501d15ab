package apigw

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
)

// Decode is the full decoder, with which Parse must always agree.
var Decode = decode

// Look uses this Glance, whatever it recalls.
func (g *Glance) Look(event []byte) bool { return g.look(event) }

// Recalled tells whether the last event's context was compared instead of read.
func (g *Glance) Recalled() bool { return len(g.last.text) > 0 && g.last.to == 0 && g.requestID.to > 0 }

// Same tells whether two have found the same in an event.
func (g *Glance) Same(other *Glance) bool {
	mine, others := g.parts, other.parts
	mine.event, others.event = nil, nil
	return reflect.DeepEqual(mine, others) && slices.Equal(g.fields[:g.n], other.fields[:other.n]) && bytes.Equal(g.event, other.event)
}

// A Meaning is all that a request says, in a form that can be compared.
type Meaning struct {
	Method, Path, Resource, RequestID string
	Params                            map[string]string
	Headers                           map[string][]string
	Body                              string
	BodyFails                         bool
}

// MeaningOf asks for every header by its own name.
func MeaningOf(r *Request) Meaning {
	body, err := r.Body()
	m := Meaning{
		r.Method, r.Path, r.Resource, r.RequestID, map[string]string{}, map[string][]string{}, string(body), err != nil,
	}
	maps.Copy(m.Params, r.Params)
	for _, h := range r.headers {
		values := slices.Clone(r.Header(h.name))
		slices.Sort(values) // two spellings have no order
		m.Headers[h.name] = values
	}
	return m
}
