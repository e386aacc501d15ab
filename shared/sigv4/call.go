package sigv4

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	// callTime bounds one call, so that a network without a way out shows as an
	// error and not as a function that hangs.
	callTime = 2 * time.Second

	// pause, up to twice, is how long whoever was too fast waits.
	pause = 250 * time.Millisecond

	maxAnswer = 1 << 20
)

// client reads no proxy from the environment and follows no redirect. Calls are
// rare, and a kept socket would be dead after a freeze.
var client = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport: &http.Transport{
		DialContext:       (&net.Dialer{Timeout: time.Second}).DialContext,
		DisableKeepAlives: true,
		ForceAttemptHTTP2: true,
	},
}

// A RefusedError is an answer of AWS that says no.
type RefusedError struct {
	Status  int    // of HTTP
	Code    string // such as AccessDeniedException; "" if AWS gave none
	Message string // AWS' own, for an operator
}

func (e RefusedError) Error() string {
	return fmt.Sprintf("AWS refused: %d %s %s", e.Status, e.Code, e.Message)
}

// tooFast tells a refusal that another moment may not give. Services that speak JSON
// say it by 400 and a code.
func (e RefusedError) tooFast() bool {
	return e.Status == http.StatusTooManyRequests || strings.Contains(e.Code, "Throttl") || e.Code == "ConcurrentUpdateException"
}

// Call asks a service that speaks JSON by one address, as Secrets Manager and
// Service Quotas do. The target names the operation, such as
// "secretsmanager.GetSecretValue".
func (s *Signer) Call(ctx context.Context, endpoint, service, target string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("sigv4: %s: %w", target, err)
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {target}}
	if err := s.ask(ctx, http.MethodPost, endpoint+"/", service, header, body, out); err != nil {
		return fmt.Errorf("sigv4: %s: %w", target, err)
	}
	return nil
}

// Get reads a resource of a service that has one address for each, as Lambda does.
func (s *Signer) Get(ctx context.Context, endpoint, service, path string, out any) error {
	if err := s.ask(ctx, http.MethodGet, endpoint+path, service, http.Header{}, nil, out); err != nil {
		return fmt.Errorf("sigv4: %s: %w", service, err)
	}
	return nil
}

// ask tries twice: once more after a failure that is not AWS' answer, or one of
// AWS' own, or "too fast", which a stampede of cold starts may hear. All that is
// asked here only reads, or may be said twice.
func (s *Signer) ask(ctx context.Context, method, address, service string, header http.Header, body []byte, out any) error {
	err := s.try(ctx, method, address, service, header, body, out)
	refused, answered := errors.AsType[RefusedError](err)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case answered && refused.tooFast():
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause + rand.N(pause)): // not all at once again
		}
	case answered && refused.Status < http.StatusInternalServerError:
		return err
	}
	return s.try(ctx, method, address, service, header, body, out)
}

func (s *Signer) try(ctx context.Context, method, address, service string, header http.Header, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = header.Clone()
	s.Sign(request, service, body)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK:
		return refusal(response, text)
	}
	return json.Unmarshal(text, out)
}

// refusal reads AWS' two ways to name an error: in a header, or in the body,
// there behind a name space and a #.
func refusal(response *http.Response, text []byte) error {
	var said struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &said) // a proxy's answer is no JSON: the status must do
	code := said.Type
	if code == "" {
		code, _, _ = strings.Cut(response.Header.Get("X-Amzn-Errortype"), ":")
	}
	return RefusedError{response.StatusCode, code[strings.LastIndexByte(code, '#')+1:], said.Message}
}
