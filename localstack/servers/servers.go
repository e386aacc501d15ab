// Package servers gives tests real Redis, Kafka and PostgreSQL.
//
// It promises that tests which share servers never meet: each has its own sale ids, topics and
// database. The servers are those that REDIS_URL, KAFKA_BROKERS and DATABASE_URL name;
// `make test` starts them. A test whose server is not named is skipped and says so.
// With REQUIRE_SERVERS=1 it fails instead, so that nothing is left out unnoticed.
package servers

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// patience bounds each step here. It is generous because test machines are busy.
const patience = time.Minute

// RedisURL returns the address of a real Redis, such as redis://127.0.0.1:16379/0.
func RedisURL(t testing.TB) string {
	t.Helper()
	return address(t, "REDIS_URL")
}

// KafkaBrokers returns the host:port pairs of a real Kafka.
func KafkaBrokers(t testing.TB) []string {
	t.Helper()
	return strings.Split(address(t, "KAFKA_BROKERS"), ",")
}

// DatabaseURL returns the address of a real PostgreSQL for those who make a database of their own;
// [Database] is for everybody else.
func DatabaseURL(t testing.TB) string {
	t.Helper()
	return address(t, "DATABASE_URL")
}

// Topic makes a topic with that many partitions and deletes it when the test ends.
// Its name is the prefix, a dash and random characters.
func Topic(t testing.TB, prefix string, partitions int32) string {
	t.Helper()
	// By default a client remembers metadata for seconds, too long for MakeTopic.
	client, err := kgo.NewClient(kgo.SeedBrokers(KafkaBrokers(t)...), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		t.Fatalf("servers: kafka client: %v", err)
	}
	admin := kadm.NewClient(client)
	t.Cleanup(admin.Close)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	name := prefix + "-" + randomName()
	err = MakeTopic(ctx, admin, name, int(partitions))
	t.Cleanup(func() {
		ctx, cancel := cleanUpContext(t)
		defer cancel()
		if _, err := admin.DeleteTopic(ctx, name); err != nil {
			t.Errorf("servers: delete topic %s: %v", name, err)
		}
	})
	if err != nil {
		t.Fatalf("servers: %v", err)
	}
	return name
}

// SaleID returns a random sale id, 1 to 2^32-1. Tests that share one Redis are kept apart by it.
func SaleID() uint32 { return rand.Uint32N(1<<32-1) + 1 }

// ItemID returns a random item id, 1 to 2^62.
func ItemID() int64 { return rand.Int64N(1<<62) + 1 }

func address(t testing.TB, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		const hint = "left out: %s is not set (make test starts a server)"
		if os.Getenv("REQUIRE_SERVERS") == "1" {
			t.Fatalf(hint, variable)
		}
		t.Skipf(hint, variable)
	}
	return value
}

func randomName() string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	name := make([]byte, 12)
	for i := range name {
		name[i] = letters[rand.IntN(len(letters))]
	}
	return string(name)
}

// cleanUpContext outlives the test's own context, which ends before its clean-ups run.
func cleanUpContext(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(t.Context()), patience)
}
