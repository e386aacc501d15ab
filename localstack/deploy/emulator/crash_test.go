package emulator_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/deploy/emulator"
	"flashsale/localstack/deploy/stage"
)

// TestCrash: however a process ends, that invocation fails, and the next one has a fresh process.
func TestCrash(t *testing.T) {
	t.Parallel()
	path, err := rie()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "bootstrap")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./testdata/crash").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	for name, crash := range map[string]func(*testing.T, *emulator.Environment) error{
		"panic": func(t *testing.T, e *emulator.Environment) error {
			_, err := e.Invoke(t.Context(), []byte(`"panic"`))
			return err
		},
		"exit": func(t *testing.T, e *emulator.Environment) error {
			_, err := e.Invoke(t.Context(), []byte(`"exit"`))
			return err
		},
		"killed": func(t *testing.T, e *emulator.Environment) error {
			kill(t, e)
			_, err := e.Invoke(t.Context(), []byte(`{}`))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, emulator.Function{Emulator: path, Program: program})
			for _, want := range []string{"1", "2"} {
				if got := invoke(t, e, `{}`); got != want {
					t.Fatalf("before: got %s, want %s", got, want)
				}
			}
			if err := crash(t, e); err == nil {
				t.Error("the invocation that it happens to: got an answer, want an error")
			}
			for _, want := range []string{"1", "2"} {
				if got := invoke(t, e, `{}`); got != want {
					t.Errorf("afterwards: got %s, want %s of a fresh process", got, want)
				}
			}
		})
	}
}

func kill(t *testing.T, e *emulator.Environment) {
	t.Helper()
	program, ok := e.Program()
	if !ok {
		t.Fatal("the program is gone")
	}
	if err := program.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestNothingIsBuffered kills programs as soon as they have answered: what they promised to others
// has left them by then.
func TestNothingIsBuffered(t *testing.T) {
	t.Parallel()
	s := furnish(t)
	saleID, itemID := sell(t, s, 10)
	t.Run("purchase", func(t *testing.T) {
		t.Parallel()
		e := start(t, function(t, s, "purchase"))
		for turn := range 3 {
			text := invoke(t, e, purchase(t, s, itemID, fmt.Sprintf("killed-%d", turn)))
			kill(t, e)
			var answer struct{ Body string }
			var bought struct{ OrderID string }
			if json.Unmarshal([]byte(text), &answer) != nil || json.Unmarshal([]byte(answer.Body), &bought) != nil || bought.OrderID == "" {
				t.Fatalf("got %s, want an order", text)
			}
			if !holds(t, s.own.Name+"-orders", bought.OrderID) {
				t.Errorf("order %s is not in Kafka", bought.OrderID)
			}
			logged(t, e, `"status":202`, turn+1)
			_, _ = e.Invoke(t.Context(), []byte("{}")) // finds the dead process
		}
	})
	t.Run("orderwriter", func(t *testing.T) {
		t.Parallel()
		e := start(t, function(t, s, "orderwriter"))
		text := invoke(t, e, batch(t, saleID, itemID, 1))
		kill(t, e)
		if want := `{"batchItemFailures":[]}`; text != want {
			t.Errorf("got %s, want %s", text, want)
		}
		if !holds(t, s.own.Name+"-orders-dlq", "nonsense") {
			t.Error("the dead letter is not in Kafka")
		}
		logged(t, e, `"msg":"batch"`, 1)
	})
}

// logged waits until the emulator has read what the program wrote.
func logged(t *testing.T, e *emulator.Environment, text string, times int) {
	t.Helper()
	for deadline := time.Now().Add(patience); strings.Count(e.Output(), text) < times; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s was not logged %d times", text, times)
		}
	}
}

// holds tells whether a topic has a record with that text, as of now.
func holds(t *testing.T, topic, text string) (found bool) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(stage.Brokers()...), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	var left int64
	ends.Each(func(o kadm.ListedOffset) { left += o.Offset })
	for left > 0 && !found {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			left--
			found = found || strings.Contains(string(r.Value), text)
		})
	}
	return found
}
