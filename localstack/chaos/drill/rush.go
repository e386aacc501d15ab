package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// patience is how long a shopper presses again while the answer is 503.
const patience = 100 * time.Second

// rush lets n fresh shoppers arrive within that time and waits until each has an answer.
func (s *stage) rush(ctx context.Context, n int, within time.Duration) {
	names := make([]string, n)
	tokens := s.login(n, names)
	var pressing sync.WaitGroup
	for i := range n {
		pressing.Go(func() { s.buy(ctx, names[i], tokens[i]) })
		if sleep(ctx, within/time.Duration(n)) != nil {
			break
		}
	}
	pressing.Wait()
}

func (s *stage) login(n int, names []string) []string {
	var name string
	s.sales.note(func(l *ledger) { l.crowds++; name = fmt.Sprintf("crowd%d", l.crowds) })
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", name, i)
	}
	w := httptest.NewRecorder()
	// Not every provider says from when a token is good, and a clock that is behind would doubt it.
	body := fmt.Sprintf(`{"user":%q,"count":%d,"claims":{"iat":null,"nbf":null}}`, name, n)
	s.provider.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/dev/login", strings.NewReader(body)))
	var signed struct{ Tokens []string }
	if err := json.Unmarshal(w.Body.Bytes(), &signed); err != nil || len(signed.Tokens) != n {
		panic("the identity provider of the drill is broken: " + w.Body.String())
	}
	return signed.Tokens
}

// buy presses until the answer is final, as the page does.
func (s *stage) buy(ctx context.Context, name, token string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		pressed := time.Now()
		code, orderID, refusal := s.press(ctx, token)
		switch {
		case code == http.StatusAccepted:
			s.sold(ctx, name, token, orderID, pressed)
			s.pressAgain(ctx, name, token)
			return
		case code == http.StatusGone && refusal == "SOLD_OUT":
			s.sales.note(func(l *ledger) { l.refused = append(l.refused, time.Now()) })
			if !pressesOn(name) || s.calmAgain() {
				return
			}
		case code == http.StatusConflict:
			return
		case code == http.StatusServiceUnavailable:
			s.sales.perhaps(name, pressed)
			s.sales.note(func(l *ledger) { l.busy++ })
		case code == 0 && (s.mayBeGone() || ctx.Err() != nil):
			s.sales.perhaps(name, pressed)
		default:
			s.sales.surprise(fmt.Sprintf("%d %s", code, refusal))
			if code == http.StatusGone {
				return
			}
		}
		if sleep(ctx, 200*time.Millisecond) != nil {
			s.sales.note(func(l *ledger) { l.gaveUp++ })
			return
		}
	}
}

// sold notes a 202. Every fifth winner pays.
func (s *stage) sold(ctx context.Context, name, token, orderID string, pressed time.Time) {
	s.sales.perhaps(name, pressed)
	s.sales.accept(orderID, receipt{name, token, pressed, time.Now()})
	if pays(name) {
		s.pay(ctx, orderID)
	}
}

// mayBeGone tells that a function may give no answer because its process is gone, or asleep.
func (s *stage) mayBeGone() bool { return s.child != nil || s.asleep }

// pressesOn names the losers who press on, twice a second and more, until the fault is a second
// over: what the system forgets for a moment it must not sell to them.
func pressesOn(name string) bool { return strings.HasSuffix(name, "1") || strings.HasSuffix(name, "6") }

func (s *stage) calmAgain() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// pressAgain is what every fifth winner does a second later: a second unit must not come of it.
func (s *stage) pressAgain(ctx context.Context, name, token string) {
	if !strings.HasSuffix(name, "4") && !strings.HasSuffix(name, "8") || sleep(ctx, time.Second) != nil {
		return
	}
	pressed := time.Now()
	if code, orderID, _ := s.press(ctx, token); code == http.StatusAccepted {
		s.sales.perhaps(orderID, pressed) // a second unit
		s.sold(ctx, name, token, orderID, pressed)
	}
}

// press is one purchase; 0 is no answer.
func (s *stage) press(ctx context.Context, token string) (code int, orderID, refusal string) {
	began, late := time.Now(), s.machine.so()
	item := fmt.Sprint(s.sale.Items[0].ID)
	code, body := s.call(ctx, "purchase", http.MethodPost, "/api/flash-sales/items/"+item+"/purchase", map[string]string{"itemId": item}, token)
	took := time.Since(began)
	if code != 0 || !s.mayBeGone() {
		late = s.machine.so() - late
		s.sales.note(func(l *ledger) { l.slowest, l.unhindered = max(l.slowest, took), max(l.unhindered, took-late) })
	}
	var answer struct{ OrderID, Error string }
	_ = json.Unmarshal([]byte(body), &answer)
	return code, answer.OrderID, answer.Error
}

// call invokes a function with a shopper's event of API Gateway.
func (s *stage) call(ctx context.Context, function, method, path string, params map[string]string, token string) (int, string) {
	return s.send(ctx, function, map[string]any{
		"httpMethod": method, "path": path, "pathParameters": params,
		"multiValueHeaders": map[string][]string{"Authorization": {"Bearer " + token}},
	})
}

// send invokes a function with an event of API Gateway, to which it adds what all have.
func (s *stage) send(ctx context.Context, function string, request map[string]any) (int, string) {
	request["requestContext"] = map[string]any{"requestId": "drill", "identity": map[string]any{"sourceIp": "127.0.0.1"}}
	event, err := json.Marshal(request)
	if err != nil {
		panic(err) // maps of strings
	}
	// Longer than any function may take, so that an overrun shows.
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := s.invoke(ctx, function, event)
	if err != nil {
		return 0, err.Error()
	}
	var answer struct {
		StatusCode int
		Body       string
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, answer.Body
}
