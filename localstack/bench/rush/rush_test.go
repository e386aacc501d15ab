package rush_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/localstack/bench/rush"
)

// stall sells some units by HTTP. Each third answer is "try again".
type stall struct {
	mu    sync.Mutex
	left  int
	calls int
	asked map[string]int
}

func (s *stall) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.asked[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]++
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/buy":
		w.WriteHeader(http.StatusNotFound)
	case s.calls%3 == 0 && s.calls < 20:
		w.WriteHeader(http.StatusServiceUnavailable)
	case s.left > 0:
		s.left--
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusGone)
		_, _ = w.Write([]byte(`{"error":"SOLD_OUT"}`))
	}
}

func TestRush(t *testing.T) {
	t.Parallel()
	const shoppers, units = 60, 20
	s := &stall{left: units, asked: map[string]int{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	tokens := make([]string, shoppers)
	for i := range tokens {
		tokens[i] = "t" + strconv.Itoa(i)
	}

	got, err := rush.Run(t.Context(), rush.HTTP(address, "/buy"), 4, tokens, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Accepted) != units || got.Refused != shoppers-units || got.Again != 6 {
		t.Errorf("got %d accepted, %d refused, %d again; want %d, %d, 6", len(got.Accepted), got.Refused, got.Again, units, shoppers-units)
	}
	if len(s.asked) != shoppers || s.calls != shoppers+6 {
		t.Errorf("got %d shoppers with %d calls, want %d with %d", len(s.asked), s.calls, shoppers, shoppers+6)
	}
	if n, err := rush.Refusals(t.Context(), rush.HTTP(address, "/buy"), 2, tokens, 20*time.Millisecond); err != nil || n <= 0 {
		t.Errorf("refusals: got %v a second, %v", n, err)
	}
	s.mu.Lock()
	s.left = 1
	s.mu.Unlock()
	if _, err := rush.Refusals(t.Context(), rush.HTTP(address, "/buy"), 1, tokens, time.Second); err == nil {
		t.Error("a loser who wins: got no error")
	}
	if _, err := rush.Run(t.Context(), rush.HTTP(address, "/elsewhere"), 2, tokens, time.Now()); err == nil {
		t.Error("answers of 404: got no error")
	}
}

// TestCancelled ends with its context, though nobody gets a final answer.
func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		cancel()
	}))
	t.Cleanup(server.Close)
	_, err := rush.Run(ctx, rush.HTTP(strings.TrimPrefix(server.URL, "http://"), "/"), 2, []string{"a", "b", "c"}, time.Now())
	if err == nil {
		t.Error("got no error")
	}
}
