package tracing

import (
	"encoding/hex"
	"strconv"
)

// otlp is OTLP's ExportTraceServiceRequest in JSON: ids in hex, 64-bit numbers as text.
type otlp struct {
	ResourceSpans [1]struct {
		Resource struct {
			Attributes []attribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans [1]struct {
			Scope struct {
				Name string `json:"name"`
			} `json:"scope"`
			Spans []otlpSpan `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

type otlpSpan struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	ParentID   string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       Kind        `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes"`
}

type attribute struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

type anyValue struct {
	String string `json:"stringValue"`
}

func (s *Span) otlp() otlpSpan {
	o := otlpSpan{
		TraceID: hex.EncodeToString(s.trace[:]), SpanID: hex.EncodeToString(s.id[:]), Name: s.name, Kind: s.kind,
		Start: strconv.FormatInt(s.start.UnixNano(), 10), End: strconv.FormatInt(s.stop.UnixNano(), 10), Attributes: s.attributes,
	}
	if s.parent != [8]byte{} {
		o.ParentID = hex.EncodeToString(s.parent[:])
	}
	return o
}
