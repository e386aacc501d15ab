// Package target has the ways in which a crowd reaches a sale: by HTTP, or in one
// process by the events that API Gateway would send.
//
// Both promise that a call is made once: what is tried again is the shopper's decision.
package target

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"flashsale/localstack/stampede/crowd"
)

// patience is the page's own.
const patience = 10 * time.Second

// An HTTP target is an address.
type HTTP struct {
	base   string
	client *http.Client
}

// NewHTTP takes the address before /api, and how many connections there may be.
func NewHTTP(base string, connections int) *HTTP {
	return &HTTP{strings.TrimRight(base, "/"), &http.Client{
		Timeout: patience,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections, MaxIdleConns: connections,
			IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Answer sends the call as the page does.
func (h *HTTP) Answer(ctx context.Context, c crowd.Call) crowd.Answer {
	request, err := http.NewRequestWithContext(ctx, c.Action.Method(), h.base+c.Action.Path(url.PathEscape(c.ID)), http.NoBody)
	if err != nil {
		return crowd.Answer{}
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	if c.Key != "" {
		request.Header.Set("Idempotency-Key", c.Key)
	}
	if c.Pass != "" {
		request.Header.Set("X-Admission-Pass", c.Pass)
	}
	code, header, body := h.do(request)
	return crowd.ReadAnswer(code, seconds(header.Get("Retry-After")), body)
}

// do returns 0 for whatever is no whole answer.
func (h *HTTP) do(request *http.Request) (int, http.Header, []byte) {
	response, err := h.client.Do(request)
	if err != nil {
		return 0, nil, nil
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return 0, nil, nil
	}
	return response.StatusCode, response.Header, body
}

func seconds(text string) time.Duration {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(min(n, 3600)) * time.Second
}

// Pay makes a function that pays by a POST to an address in which {orderId} stands
// for the order. Any 2xx is an accepted payment, unless the body has a "status" of its
// own that is none: /dev/pay tells so what the webhook was answered.
func (h *HTTP) Pay(address string) func(ctx context.Context, orderID string) bool {
	return func(ctx context.Context, orderID string) bool {
		at := strings.ReplaceAll(address, "{orderId}", url.PathEscape(orderID))
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, at, http.NoBody)
		if err != nil {
			return false
		}
		code, _, body := h.do(request)
		var webhook struct{ Status int }
		if json.Unmarshal(body, &webhook) == nil && webhook.Status != 0 {
			code = webhook.Status
		}
		return code >= 200 && code < 300
	}
}
