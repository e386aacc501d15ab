package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// An answer is what a call came back with; the fields are those of any answer that
// has them.
type answer struct {
	Code   int         `json:"-"`
	Header http.Header `json:"-"`
	Text   string      `json:"-"`

	Error   string    `json:"error"`
	Message string    `json:"message"`
	OrderID string    `json:"orderId"`
	Status  string    `json:"status"`
	ItemID  int64     `json:"itemId"`
	SaleID  uint32    `json:"saleId"`
	PayBy   time.Time `json:"payBy"`
	Payable bool      `json:"payable"`
	OpensAt time.Time `json:"opensAt"`

	Pass      string    `json:"pass"`
	NotBefore time.Time `json:"notBefore"`
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.Code, a.Text) }

// is tells whether the answer is that refusal.
func (a answer) is(code int, refusal string) bool { return a.Code == code && a.Error == refusal }

// call makes a request. A path goes out as it is written. An answer that is not JSON
// keeps its text alone. One of the API that its description does not allow is an error.
func (s *shop) call(ctx context.Context, method, path string, header http.Header, body string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if header != nil {
		request.Header = header
	}
	response, err := s.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	if strings.HasPrefix(path, "/api/") {
		if err := description.Check(method, path, response.StatusCode, response.Header, text); err != nil {
			return answer{}, err
		}
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		a = answer{}
	}
	a.Code, a.Header, a.Text = response.StatusCode, response.Header, strings.TrimSpace(string(text))
	return a, nil
}

// A shopper has signed in.
type shopper struct {
	shop  *shop
	name  string
	token string
}

// login signs a shopper in.
func (s *shop) login(t *testing.T, user string) shopper {
	t.Helper()
	return shopper{s, user, s.token(t, map[string]any{"user": user})}
}

// token asks the identity provider for one; request is the body of /dev/login.
func (s *shop) token(t *testing.T, request map[string]any) string {
	t.Helper()
	var signed struct{ Token string }
	s.post(t, "/dev/login", request, &signed)
	if signed.Token == "" {
		t.Fatalf("login %v: no token", request)
	}
	return signed.Token
}

// crowd signs n shoppers in: name-0, name-1 and so on.
func (s *shop) crowd(t *testing.T, name string, n int) []shopper {
	t.Helper()
	var signed struct{ Tokens []string }
	s.post(t, "/dev/login", map[string]any{"user": name, "count": n}, &signed)
	if len(signed.Tokens) != n {
		t.Fatalf("login: got %d tokens, want %d", len(signed.Tokens), n)
	}
	crowd := make([]shopper, n)
	for i, token := range signed.Tokens {
		crowd[i] = shopper{s, name + "-" + strconv.Itoa(i), token}
	}
	return crowd
}

// post sends JSON, wants 200 and reads the answer.
func (s *shop) post(t *testing.T, path string, request, into any) {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.call(t.Context(), http.MethodPost, path, nil, string(body))
	if err == nil && (a.Code != http.StatusOK || a.Header.Get("X-Amz-Function-Error") != "") {
		err = fmt.Errorf("got %s", a)
	}
	if err == nil {
		err = json.Unmarshal([]byte(a.Text), into)
	}
	if err != nil {
		t.Fatalf("POST %s %s: %v", path, body, err)
	}
}

// bearer is the header of a signed-in call.
func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

func purchasePath(item int64) string { return fmt.Sprintf("/api/flash-sales/items/%d/purchase", item) }

func salePath(id uint32) string { return fmt.Sprintf("/api/flash-sales/%d", id) }

func orderPath(id string) string { return "/api/flash-sales/orders/" + id }

// press presses "Buy" once. An empty key sends no Idempotency-Key.
func (p shopper) press(ctx context.Context, item int64, key string) (answer, error) {
	header := bearer(p.token)
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	return p.shop.call(ctx, http.MethodPost, purchasePath(item), header, "")
}

// bring presses "Buy" once with an admission pass.
func (p shopper) bring(ctx context.Context, item int64, pass string) (answer, error) {
	header := bearer(p.token)
	header.Set("X-Admission-Pass", pass)
	return p.shop.call(ctx, http.MethodPost, purchasePath(item), header, "")
}

// admission asks for a pass.
func (p shopper) admission(ctx context.Context, sale uint32) (answer, error) {
	return p.shop.call(ctx, http.MethodPost, salePath(sale)+"/admission", bearer(p.token), "")
}

// buy presses as the page does: again while the answer is 503, which says nothing
// about the purchase. first tells that the answer came at once: a 409 that did not
// may be the shopper's own first press.
func (p shopper) buy(ctx context.Context, item int64, key string) (a answer, first bool, err error) {
	for first = true; ; first = false {
		a, err = p.press(ctx, item, key)
		if err != nil || a.Code != http.StatusServiceUnavailable {
			return a, first, err
		}
		if err := pause(ctx); err != nil {
			return a, first, err
		}
	}
}

// order asks for an order's status; again while the answer is 503.
func (p shopper) order(ctx context.Context, id string) (answer, error) {
	for {
		a, err := p.shop.call(ctx, http.MethodGet, orderPath(id), bearer(p.token), "")
		if err != nil || a.Code != http.StatusServiceUnavailable {
			return a, err
		}
		if err := pause(ctx); err != nil {
			return a, err
		}
	}
}

// mine asks for the shopper's order in a sale.
func (p shopper) mine(ctx context.Context, sale uint32) (answer, error) {
	return p.shop.call(ctx, http.MethodGet, salePath(sale)+"/my-order", bearer(p.token), "")
}

// follow polls an order, as the page does, until it is what done says. That it is
// unknown in between is an error: a 202 is never unknown to its shopper. So is another
// end.
func (p shopper) follow(ctx context.Context, id string, done func(answer) bool) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		a, err := p.order(ctx, id)
		switch {
		case err != nil:
			return a, err
		case a.Code != http.StatusOK || a.OrderID != id:
			return a, fmt.Errorf("status of order %s of %s: %s", id, p.name, a)
		case done(a):
			return a, nil
		case a.Status != "PENDING":
			return a, fmt.Errorf("order %s of %s ended: %s", id, p.name, a)
		}
		if err := pause(ctx); err != nil {
			return a, fmt.Errorf("order %s of %s stays %s: %w", id, p.name, a, err)
		}
	}
}

func payable(a answer) bool { return a.Payable }

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(100 * time.Millisecond):
		return nil
	}
}
