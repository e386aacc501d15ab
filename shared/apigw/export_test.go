package apigw

import (
	"maps"
	"slices"
)

// Decode is the full decoder, with which Parse must always agree.
var Decode = decode

// A Meaning is all that a request says, in a form that can be compared.
type Meaning struct {
	Method, Path, Resource, RequestID, SourceIP string
	Params                                      map[string]string
	Headers                                     map[string][]string
	Body                                        string
	BodyFails                                   bool
}

// MeaningOf asks for every header by its own name.
func MeaningOf(r *Request) Meaning {
	body, err := r.Body()
	m := Meaning{
		r.Method, r.Path, r.Resource, r.RequestID, r.SourceIP, map[string]string{}, map[string][]string{}, string(body), err != nil,
	}
	maps.Copy(m.Params, r.Params)
	for _, h := range r.headers {
		values := slices.Clone(r.Header(h.name))
		slices.Sort(values) // two spellings have no order
		m.Headers[h.name] = values
	}
	return m
}
