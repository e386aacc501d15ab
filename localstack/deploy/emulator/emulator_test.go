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
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/deploy/emulator"
	"flashsale/localstack/deploy/stage"
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

// TestFreeze stops the program as Lambda does between two invocations. Meanwhile its connections to
// Redis are cut, and in a second freeze they die without a word. FREEZE=30s and longer are for runs of their own.
func TestFreeze(t *testing.T) {
	t.Parallel()
	s := furnish(t)
	freeze := 5 * time.Second
	if text := os.Getenv("FREEZE"); text != "" {
		var err error
		if freeze, err = time.ParseDuration(text); err != nil {
			t.Fatalf("FREEZE=%q is no duration", text)
		}
	}
	saleID, itemID := sell(t, s, 4)
	f := function(t, s, "purchase")
	f.Timeout = 3 * time.Second // as in the template; the function's own budget is 2 s
	line := newProxy(t, s.secret.RedisURL)
	f.Env = append(f.Env, "REDIS_URL="+line.url)
	e := start(t, f)

	bought := 0
	buy := func(user string) {
		t.Helper()
		bought++
		began := time.Now()
		if got := invoke(t, e, purchase(t, s, itemID, user)); !strings.Contains(got, `"statusCode":202`) {
			t.Fatalf("%s: got %s, want 202", user, got)
		}
		t.Logf("%s was answered in %s", user, time.Since(began).Round(time.Millisecond))
	}
	buy("before")
	program, ok := e.Program()
	if !ok {
		t.Fatal("the program is gone")
	}
	sleep := func(lose func()) {
		t.Helper()
		if err := program.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		// Nothing may be buffered when a handler returns: a frozen program sends nothing.
		if got := records(t, s, saleID); got != bought {
			t.Errorf("while the program is frozen Kafka has %d records of the sale, want %d", got, bought)
		}
		lose()
		time.Sleep(freeze)
		if err := program.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	sleep(line.cut)
	buy("after a cut")
	sleep(line.lose)
	buy("after a loss")

	// Killed between two invocations; the next environment is clean.
	if err := program.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Invoke(t.Context(), []byte(purchase(t, s, itemID, "unlucky"))); err == nil {
		t.Error("the invocation that finds the program dead: got an answer, want an error")
	}
	buy("after the crash")
}

// records counts what Kafka holds of a sale.
func records(t *testing.T, s *shop, saleID uint32) (n int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(stage.Brokers()...), kgo.ConsumeTopics(s.own.Name+"-orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(t.Context(), s.own.Name+"-orders")
	if err != nil {
		t.Fatal(err)
	}
	var left int64
	ends.Each(func(o kadm.ListedOffset) { left += o.Offset })
	for left > 0 {
		fetches := client.PollFetches(t.Context())
		if err := errors.Join(fetches.Err()); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			left--
			if strings.Contains(string(r.Value), fmt.Sprintf(`"saleId":%d,`, saleID)) {
				n++
			}
		})
	}
	return n
}
