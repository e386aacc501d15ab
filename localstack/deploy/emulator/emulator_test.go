package emulator_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/localstack/deploy/emulator"
)

var initTime = regexp.MustCompile(`INIT REPORT\(durationMs: ([0-9.]+)\)`)

func token(t *testing.T, s *shop, user string) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.logins.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/dev/login", strings.NewReader(`{"user":"`+user+`"}`)))
	var answer struct{ Token string }
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Token == "" {
		t.Fatalf("login: got %s, %v", w.Body, err)
	}
	return answer.Token
}

func TestEveryFunction(t *testing.T) {
	t.Parallel()
	s := furnish(t)
	folders, err := filepath.Glob(root + "/functions/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("functions: %v, %v", folders, err)
	}
	for _, folder := range folders {
		name := filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			events, err := filepath.Glob(folder + "/testdata/*.json")
			if err != nil || len(events) == 0 {
				t.Fatalf("no golden event in %s/testdata", folder)
			}
			event, err := os.ReadFile(events[0])
			if err != nil {
				t.Fatal(err)
			}
			e := start(t, function(t, s, name))
			for range 2 { // cold and warm
				if got := invoke(t, e, string(event)); !json.Valid([]byte(got)) {
					t.Errorf("got %q, want JSON", got)
				}
			}
			memory, err := e.Memory()
			if err != nil {
				t.Fatal(err)
			}
			cold := initTime.FindStringSubmatch(e.Output())
			if cold == nil {
				t.Fatal("the emulator did not report the init")
			}
			t.Logf("%-12s cold start %6s ms, memory %d MB", name, cold[1], memory>>20)
		})
	}
}

// TestManyAtOnce is how Lambda Managed Instances call: one environment, many invocations.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const concurrency, shoppers, units = 8, 64, 20
	s := furnish(t)
	_, itemID := sell(t, s, units)
	f := function(t, s, "purchase")
	f.Concurrency = concurrency
	if os.Geteuid() != 0 {
		if _, err := emulator.Start(t.Context(), f); !errors.Is(err, emulator.ErrNotRoot) {
			t.Fatalf("got %v, want %v", err, emulator.ErrNotRoot)
		}
		t.Skipf("left out: %v", emulator.ErrNotRoot)
	}
	e := start(t, f)
	var (
		mu      sync.Mutex
		answers = make(map[string]int)
		calling sync.WaitGroup
	)
	for i := range shoppers {
		event := purchase(t, s, itemID, fmt.Sprintf("crowd-%d", i))
		calling.Go(func() {
			answer, err := e.Invoke(t.Context(), []byte(event))
			for errors.Is(err, emulator.ErrBusy) && t.Context().Err() == nil {
				time.Sleep(10 * time.Millisecond)
				answer, err = e.Invoke(t.Context(), []byte(event))
			}
			if err != nil {
				t.Errorf("shopper %d: %v", i, err)
				return
			}
			var got struct{ StatusCode int }
			if err := json.Unmarshal(answer, &got); err != nil {
				t.Errorf("shopper %d: %v in %s", i, err, answer)
			}
			mu.Lock()
			defer mu.Unlock()
			answers[fmt.Sprint(got.StatusCode)]++
		})
	}
	calling.Wait()
	if answers["202"] != units || answers["410"] != shoppers-units {
		t.Errorf("got %v, want %d times 202 and %d times 410", answers, units, shoppers-units)
	}
}
