package apigw

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A pair is a header of an answer.
type pair struct{ name, value string }

// encode writes the form that API Gateway expects of a proxy. It does so by hand:
// this is half of a refusal's work.
func encode(r Response, cors []pair) ([]byte, error) {
	body, ok := r.Body.([]byte)
	if !ok && r.Body != nil {
		var err error
		if body, err = json.Marshal(r.Body); err != nil {
			return nil, fmt.Errorf("apigw: body: %w", err)
		}
	}
	headers := append(make([]pair, 0, 12), pair{"Cache-Control", "no-store"})
	if len(body) > 0 {
		headers = append(headers, pair{"Content-Type", "application/json"})
	}
	for _, h := range cors {
		headers = set(headers, h)
	}
	for name, value := range r.Headers {
		headers = set(headers, pair{name, value})
	}
	slices.SortFunc(headers, func(a, b pair) int { return strings.Compare(a.name, b.name) })

	text := make([]byte, 0, 512+len(body)+len(body)/8)
	text = append(text, `{"statusCode":`...)
	text = strconv.AppendInt(text, int64(r.Status), 10)
	text = append(text, `,"headers":`...)
	separator := byte('{') // there is one header at least
	for _, h := range headers {
		text = appendString(append(text, separator), h.name)
		text = appendString(append(text, ':'), h.value)
		separator = ','
	}
	text = appendString(append(text, `},"body":`...), body)
	return append(text, '}'), nil
}

// set replaces a header of that name.
func set(headers []pair, h pair) []pair {
	if i := slices.IndexFunc(headers, func(old pair) bool { return old.name == h.name }); i >= 0 {
		headers[i] = h
		return headers
	}
	return append(headers, h)
}

// appendString writes a JSON string. Quotes and backslashes are what a body is
// full of; encoding/json takes care of anything else that is not printable ASCII.
func appendString[T string | []byte](dst []byte, s T) []byte {
	start := len(dst)
	dst = append(dst, '"')
	done := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(append(dst, s[done:i]...), '\\')
			done = i
		case c < ' ' || c >= 0x7f:
			quoted, err := json.Marshal(string(s))
			if err != nil {
				panic(err) // a string always marshals
			}
			return append(dst[:start], quoted...)
		}
	}
	return append(append(dst, s[done:]...), '"')
}
