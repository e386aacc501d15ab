package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"

	"flashsale/localstack/dev/gateway"
	"flashsale/localstack/dev/lambda"
	"flashsale/localstack/dev/shop"
	"flashsale/localstack/stampede/crowd"
)

// A Direct target calls the functions of its own process. Their events are those of
// the development server's gateway, byte by byte, except for the shopper's own parts:
// making each from an HTTP request would cost more than many an answer.
type Direct struct {
	forms map[kind]form
	last  atomic.Pointer[refusal]
}

// NewDirect takes the functions by their folders' names.
func NewDirect(functions map[string]lambda.Invoke) (*Direct, error) {
	d := &Direct{forms: map[kind]form{}}
	for _, k := range []kind{
		{crowd.Purchase, false}, {crowd.Purchase, true}, {crowd.Status, false}, {crowd.Cancel, false}, {crowd.MyOrder, false}, {crowd.Admission, false},
	} {
		f, err := record(k, functions)
		if err != nil {
			return nil, err
		}
		d.forms[k] = f
	}
	return d, nil
}

// A kind of call has events of one form.
type kind struct {
	action crowd.Action
	pass   bool // it brings an admission pass
}

// A form is an event with gaps.
type form struct {
	invoke lambda.Invoke
	parts  [][]byte // the text before each gap, and the rest
	gaps   []int    // what comes into each: an index of what event is given
	size   int
}

// The gaps, and what stands in them in the recorded event.
const (
	id = iota
	token
	key
	pass
	requestID
)

var marks = [...]string{id: "gap-of-the-id", token: "gap.of.token", key: "gap-of-the-key", pass: "gap-of-the-pass"}

// record lets the gateway make an event and finds the gaps in it.
func record(k kind, functions map[string]lambda.Invoke) (form, error) {
	var f form
	var event []byte
	listeners := make(map[string]lambda.Invoke, len(functions))
	for name, invoke := range functions {
		listeners[name] = func(_ context.Context, got []byte) ([]byte, error) {
			f.invoke, event = invoke, bytes.Clone(got)
			return []byte(`{"statusCode":200,"body":""}`), nil
		}
	}
	request := httptest.NewRequest(k.action.Method(), k.action.Path(marks[id]), http.NoBody)
	request.Header.Set("Authorization", "Bearer "+marks[token])
	if k.action == crowd.Purchase {
		request.Header.Set("Idempotency-Key", marks[key])
	}
	if k.pass {
		request.Header.Set("X-Admission-Pass", marks[pass])
	}
	w := httptest.NewRecorder()
	gateway.New(shop.Routes, listeners, slog.New(slog.DiscardHandler)).ServeHTTP(w, request)
	if event == nil {
		return form{}, fmt.Errorf("target: the gateway has no route for %s %s", request.Method, request.URL.Path)
	}
	f.split(event, append(marks[:requestID:requestID], w.Header().Get("X-Amzn-Requestid")))
	return f, nil
}

// split cuts the event at the marks.
func (f *form) split(event []byte, marks []string) {
	f.size = len(event)
	for {
		at, gap := len(event), -1
		for i, mark := range marks {
			if found := bytes.Index(event, []byte(mark)); found >= 0 && found < at {
				at, gap = found, i
			}
		}
		f.parts = append(f.parts, event[:at])
		if gap < 0 {
			return
		}
		f.gaps = append(f.gaps, gap)
		event = event[at+len(marks[gap]):]
	}
}

// event fills the gaps, from b on. What comes into them needs no escapes.
func (f *form) event(b []byte, fill [5]string) []byte {
	b = slices.Grow(b, f.size+2*(len(fill[token])+len(fill[pass]))+64)
	for i, gap := range f.gaps {
		b = append(b, f.parts[i]...)
		b = append(b, fill[gap]...)
	}
	return append(b, f.parts[len(f.gaps)]...)
}

// A refusal is an answer that many get, read once.
type refusal struct {
	text   []byte
	answer crowd.Answer
}

// events are buffers that were used before, as those of Lambda's runtime are: making
// one for each call would be much of the time that a refusal takes.
var events = sync.Pool{New: func() any { return new([]byte) }}

// Answer calls the function. As with Lambda, a caller who goes away does not stop it.
func (d *Direct) Answer(ctx context.Context, c crowd.Call) crowd.Answer {
	f := d.forms[kind{c.Action, c.Pass != ""}]
	buffer := events.Get().(*[]byte) //nolint:forcetypeassert // the pool has nothing else
	*buffer = f.event((*buffer)[:0], [5]string{c.ID, c.Token, c.Key, c.Pass, lambda.RequestID()})
	defer events.Put(buffer)
	text, err := f.invoke(context.WithoutCancel(ctx), *buffer)
	if err != nil {
		return crowd.Answer{Code: http.StatusBadGateway}
	}
	if last := d.last.Load(); last != nil && bytes.Equal(last.text, text) {
		return last.answer
	}
	answer, err := read(text)
	if err != nil {
		return crowd.Answer{Code: http.StatusBadGateway}
	}
	if answer.Code == http.StatusGone {
		d.last.Store(&refusal{bytes.Clone(text), answer})
	}
	return answer
}

// read takes a proxy integration's answer apart.
func read(text []byte) (crowd.Answer, error) {
	var proxy struct {
		StatusCode int
		Headers    map[string]string
		Body       string
	}
	if err := json.Unmarshal(text, &proxy); err != nil {
		return crowd.Answer{}, fmt.Errorf("target: %w", err)
	}
	if proxy.StatusCode == 0 {
		return crowd.Answer{}, errors.New("target: the function's answer has no status")
	}
	return crowd.ReadAnswer(proxy.StatusCode, seconds(proxy.Headers["Retry-After"]), []byte(proxy.Body)), nil
}
