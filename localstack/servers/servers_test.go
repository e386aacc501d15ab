package servers_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/servers"
)

// TestVersions logs which servers a run used: `make test` shows it.
func TestVersions(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		opts, err := redis.ParseURL(servers.RedisURL(t))
		if err != nil {
			t.Fatalf("REDIS_URL: %v", err)
		}
		client := redis.NewClient(opts)
		defer client.Close()
		info, err := client.InfoMap(t.Context(), "server").Result()
		if err != nil {
			t.Fatalf("INFO: %v", err)
		}
		atLeast(t, "redis", info["Server"]["redis_version"], opts.Addr, 7)
	})
	t.Run("kafka", func(t *testing.T) {
		admin := kafkaAdmin(t)
		brokers, err := admin.ApiVersions(t.Context())
		if err != nil {
			t.Fatalf("ApiVersions: %v", err)
		}
		for _, broker := range brokers.Sorted() {
			// Kafka tells what it can do, not its version; the client concludes the rest.
			version := strings.TrimLeftFunc(broker.VersionGuess(), func(r rune) bool { return !unicode.IsDigit(r) })
			atLeast(t, "kafka", version, strings.Join(servers.KafkaBrokers(t), ","), 3)
		}
	})
	t.Run("postgresql", func(t *testing.T) {
		url := servers.Database(t, "versions", noMigration)
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		defer conn.Close(t.Context())
		cfg := conn.Config()
		atLeast(t, "postgresql", conn.PgConn().ParameterStatus("server_version"), fmt.Sprintf("%s:%d", cfg.Host, cfg.Port), 15)
	})
}

func atLeast(t *testing.T, name, version, address string, want int) {
	t.Helper()
	var major int
	if _, err := fmt.Sscanf(version, "%d", &major); err != nil || major < want {
		t.Errorf("%s version: got %q, want %d or later", name, version, want)
	}
	t.Logf("using %s %s at %s", name, version, address)
}

func TestMissingServer(t *testing.T) {
	for _, tc := range []struct {
		name, url, require string
		want               string
	}{
		{"named", "redis://x:1/0", "", "redis://x:1/0"},
		{"missing", "", "", "skip left out: REDIS_URL is not set (make test starts a server)"},
		{"missing but required", "", "1", "fatal left out: REDIS_URL is not set (make test starts a server)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("REDIS_URL", tc.url)
			t.Setenv("REQUIRE_SERVERS", tc.require)
			got := outcome(t, func(tb testing.TB) string { return servers.RedisURL(tb) })
			if got != tc.want {
				t.Errorf("RedisURL: got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTopic(t *testing.T) {
	t.Parallel()
	admin := kafkaAdmin(t)
	var name string
	t.Run("exists during the test", func(t *testing.T) {
		name = servers.Topic(t, "orders", 3)
		topics, err := admin.ListTopics(t.Context(), name)
		if err != nil || topics[name].Err != nil {
			t.Fatalf("list %s: %v, %v", name, err, topics[name].Err)
		}
		if got := len(topics[name].Partitions); got != 3 {
			t.Errorf("partitions: got %d, want 3", got)
		}
	})
	deadline := time.After(time.Minute)
	// The broker may hear of it later than the controller. It never comes back.
	for {
		topics, err := kafkaAdmin(t).ListTopics(t.Context(), name)
		if err != nil {
			t.Fatalf("list %s: %v", name, err)
		}
		if errors.Is(topics[name].Err, kerr.UnknownTopicOrPartition) {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			t.Fatalf("topic %s a minute after its test: got %v, want %v", name, topics[name].Err, kerr.UnknownTopicOrPartition)
		}
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	sales, items := map[uint32]bool{}, map[int64]bool{}
	for range 1000 {
		sale, item := servers.SaleID(), servers.ItemID()
		if sale == 0 || item < 1 || item > 1<<62 {
			t.Fatalf("ids: got sale %d, item %d, want both in range", sale, item)
		}
		sales[sale], items[item] = true, true
	}
	// Two equal ones among a thousand are possible (1 in 8,600), a dozen are not.
	if len(sales) < 990 || len(items) < 990 {
		t.Errorf("ids: got %d sales and %d items of 1,000 different, want nearly all", len(sales), len(items))
	}
}

func kafkaAdmin(t *testing.T) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(servers.KafkaBrokers(t)...))
	if err != nil {
		t.Fatalf("kafka client: %v", err)
	}
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

// verdict is a test whose end is looked at instead of reported.
type verdict struct {
	testing.TB
	text string
}

func (v *verdict) Skipf(format string, args ...any)  { v.end("skip "+format, args...) }
func (v *verdict) Fatalf(format string, args ...any) { v.end("fatal "+format, args...) }

func (v *verdict) end(format string, args ...any) {
	v.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// outcome is what do returned, or how it ended the test it was given.
func outcome(t *testing.T, do func(testing.TB) string) string {
	v := &verdict{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.text = do(v)
	}()
	<-done
	return v.text
}

func TestRedisDatabase(t *testing.T) {
	t.Parallel()
	if a, b := servers.RedisDatabase(t), servers.RedisDatabase(t); a == b || a == servers.RedisURL(t) {
		t.Errorf("got %s and %s, want two databases beside %s", a, b, servers.RedisURL(t))
	}
}
