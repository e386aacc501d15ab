package browser_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A fault changes single answers on their way to the page.
type fault struct {
	method string // "" is any
	path   string // the path has it
	times  int    // how often, -1 is always

	lose   bool // the server has done it, but its answer never comes
	cut    bool // the server never hears of it
	status int  // this answer instead of the server's
	header map[string]string
	body   string // {asked} becomes the path's last part
}

// put adds a fault and returns how to take it away.
func (p *shopper) put(f fault) (remove func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, &f)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		f.times = 0
	}
}

// find takes the fault for a request and notes the call.
func (p *shopper) find(r *network.Request) *fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil
	}
	key, _ := r.Headers["Idempotency-Key"].(string)
	pass, _ := r.Headers["X-Admission-Pass"].(string)
	p.seen = append(p.seen, strings.TrimSpace(r.Method+" "+u.Path+" "+key+" "+pass))
	for _, f := range p.faults {
		if f.times != 0 && (f.method == "" || f.method == r.Method) && strings.Contains(u.Path, f.path) {
			f.times--
			return f
		}
	}
	return nil
}

// calls are the page's calls whose line has that text.
func (p *shopper) calls(part string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []string
	for _, call := range p.seen {
		if strings.Contains(call, part) {
			found = append(found, call)
		}
	}
	return found
}

func (p *shopper) complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.errors
}

// listen puts this process between the page and the server, and keeps complaints: an error in
// the page's code, and what its Content-Security-Policy forbade.
func (p *shopper) listen() {
	p.t.Helper()
	err := chromedp.Listen(p.ctx, func(event any) {
		switch e := event.(type) {
		case *fetch.EventRequestPaused:
			go p.answer(e) // the listener itself must not call
		case *runtime.EventExceptionThrown:
			p.complain(e.ExceptionDetails.Text + " " + e.ExceptionDetails.Exception.Description)
		case *log.EventEntryAdded:
			if e.Entry.Source == log.EntrySourceSecurity {
				p.complain(e.Entry.Text)
			}
		}
	})
	if err != nil {
		p.t.Fatalf("listen: %v", err)
	}
	send(p, log.Enable, cdp.Empty{})
	send(p, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{
		{URLPattern: "*/api/*"}, {URLPattern: "*/config.json"}, {URLPattern: "*/shop-token"},
	}})
}

func (p *shopper) complain(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errors = append(p.errors, text)
}

func (p *shopper) answer(e *fetch.EventRequestPaused) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	// Errors mean that the tab has ended, or that the page gave the request up.
	if e.ResponseStatusCode != 0 || e.ResponseErrorReason != "" { // the answer that is to be lost
		_, _ = chromedp.Call(ctx, fetch.FailRequest, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: network.ErrorReasonConnectionReset})
		return
	}
	switch f := p.find(e.Request); {
	case f == nil:
		_, _ = chromedp.Call(ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
	case f.lose:
		intercept := true
		_, _ = chromedp.Call(ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID, InterceptResponse: &intercept})
	case f.cut:
		_, _ = chromedp.Call(ctx, fetch.FailRequest, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: network.ErrorReasonConnectionRefused})
	default:
		headers := []*fetch.HeaderEntry{{Name: "Content-Type", Value: "application/json"}}
		for name, value := range f.header {
			headers = append(headers, &fetch.HeaderEntry{Name: name, Value: value})
		}
		_, _ = chromedp.Call(ctx, fetch.FulfillRequest, fetch.FulfillRequestParams{
			RequestID: e.RequestID, ResponseCode: int64(f.status), ResponseHeaders: headers, Body: []byte(strings.ReplaceAll(f.body, "{asked}", e.Request.URL[strings.LastIndex(e.Request.URL, "/")+1:])),
		})
	}
}

// TestOneKey presses as often as an impatient shopper does while answers are lost, refused and
// late: it stays one purchase with one key, and it is found.
func TestOneKey(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 5))
	p := newShopper(t, market, sale).arrive()
	p.offered("buy")
	p.put(fault{method: "POST", path: "/purchase", times: 1, lose: true})
	p.put(fault{method: "POST", path: "/purchase", times: 1, status: 503, body: `{"error":"TRY_AGAIN"}`, header: map[string]string{"Retry-After": "2"}})
	p.put(fault{method: "POST", path: "/purchase", times: 1, status: 429, body: `{"error":"TOO_MANY_REQUESTS"}`})
	began := time.Now()
	if _, err := eval[bool](p, `{ const b = document.querySelector("#items button"); for (let i = 0; i < 5; i++) b.click(); true }`); err != nil {
		t.Fatal(err)
	}
	p.offered("asking")
	p.says("it stays one order")
	p.look("busy")
	p.order("payable")
	keys := p.calls("/purchase")
	if unique := slices.Compact(slices.Clone(keys)); len(keys) != 4 || len(unique) != 1 {
		t.Errorf("purchase calls %q, want four with the same key", keys)
	}
	// Never sooner than the server asked for: this is a deadline, not a duration.
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("it took %s, want Retry-After to be honoured", took)
	}
	if got := market.sold(t, sale)["PENDING"]; got != 1.0 {
		t.Errorf("orders: got %v, want 1", got)
	}
}

// TestLostWinner has a try win without an answer, and the next one told that it is sold out: by a
// server that has not heard of the winner yet. The order is found all the same.
func TestLostWinner(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 5))
	p := newShopper(t, market, sale).arrive()
	p.offered("buy")
	p.put(fault{method: "POST", path: "/purchase", times: 1, lose: true})
	p.put(fault{method: "POST", path: "/purchase", times: 1, status: 410, body: `{"error":"SOLD_OUT"}`})
	p.press("#items button")
	p.order("payable")
	if got := p.calls("/purchase"); len(got) != 2 || got[0] != got[1] {
		t.Errorf("purchase calls %q, want two with the same key", got)
	}
}
