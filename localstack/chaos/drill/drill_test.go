package drill_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/chaos/drill"
	"flashsale/localstack/servers"
)

// TestMain makes this binary the child of a drill too.
func TestMain(m *testing.M) {
	redis.SetLogger(quiet{})
	if drill.IsChild() {
		fmt.Fprintln(os.Stderr, drill.Child(context.Background()))
		os.Exit(1)
	}
	code := m.Run()
	if os.Getenv("REDIS_URL") != "" {
		if err := (drill.Park{Set: set}).Down(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// set is the servers that these tests break: a Redis of their own. Kafka and PostgreSQL are the
// shared ones, of which they break only what is theirs.
const set = "chaos-test"

// park is left out, with its test, in a run without servers.
func park(t *testing.T) drill.Park {
	t.Helper()
	servers.RedisURL(t)
	return drill.Park{Set: set, Brokers: strings.Join(servers.KafkaBrokers(t), ","), Database: servers.DatabaseURL(t)}
}

// quiet drops what the Redis client would print: it returns the same as errors.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// TestQuick runs the drills that break nothing but a Redis, processes and a database of their own,
// one after the other: the machine's load is part of each. `make chaos` runs all drills.
func TestQuick(t *testing.T) {
	park := park(t)
	for _, d := range drill.All() {
		if !d.Quick {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			row, err := d.Run(t.Context(), park, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", row)
			for _, broken := range row.Broken {
				t.Error(broken)
			}
		})
	}
}

// TestDeceived has a sale that went well, of which one lie after the other is told: each promise is
// seen to break, and nothing else is wrong before.
func TestDeceived(t *testing.T) {
	honest, lies, err := drill.Deceive(t.Context(), park(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if len(honest) > 0 {
		t.Errorf("broken before any lie: got %q, want nothing", honest)
	}
	for _, lie := range lies {
		for _, want := range lie.Broken {
			if !slices.ContainsFunc(lie.Found, func(b string) bool { return strings.HasPrefix(b, want) }) {
				t.Errorf("broken: got %q, want %q", lie.Found, want)
			}
		}
	}
}

// TestVerdict has a system that lies, and must be found out.
func TestVerdict(t *testing.T) {
	park := park(t)
	for _, d := range drill.Sabotage() {
		t.Run(d.Name, func(t *testing.T) {
			row, err := d.Run(t.Context(), park, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(row.Broken, func(b string) bool { return strings.HasPrefix(b, d.Name) }) {
				t.Errorf("broken: got %q, want %q", row.Broken, d.Name)
			}
		})
	}
}
