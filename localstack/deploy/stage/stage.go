// Package stage gives a stack its own part of the servers that the environment names: a database,
// three topics and a numbered Redis database.
//
// It promises that they are empty, whatever an earlier stack of the same name left there, and that
// stacks of different names never meet. Those of one name do: [Stack.Hold] lets them take turns.
package stage

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	patience = time.Minute

	// redisMark keeps a Redis database from looking empty, and so from being taken by a test.
	redisMark = "flashsale-localstack"
)

// partitions of the orders topic: more than one, so that nothing comes to depend on an order
// between items.
const partitions = 3

// A Secret is the stack's secret, as the template names its parts.
type Secret struct {
	RedisURL       string `json:"redisUrl"`
	DatabaseURL    string `json:"databaseUrl"`
	PaymentSecrets string `json:"paymentSecrets"`
}

// A Stack is what keeps a stack apart from the others.
type Stack struct {
	Name          string // prefix of its topics and group, part of its database's name
	RedisDatabase int    // of its own: 15 and downwards, since the tests take theirs from the other end
}

// Hold waits until nobody else holds the stack's name at these servers, as long as ctx allows. It is
// let go by release, or when the process ends in any way.
func (s Stack) Hold(ctx context.Context) (release func(), err error) {
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return nil, fmt.Errorf("stage: postgresql: %w", err)
	}
	release = func() { _ = conn.Close(context.WithoutCancel(ctx)) }
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext('flashsale stage ' || $1))", s.Name); err != nil {
		release()
		return nil, fmt.Errorf("stage: another run holds %q: %w", s.Name, err)
	}
	return release, nil
}

// Empty makes the stack's parts anew. The database has no schema yet.
func Empty(ctx context.Context, s Stack) (Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	redisURL, err1 := emptyRedis(ctx, os.Getenv("REDIS_URL"), s.RedisDatabase)
	databaseURL, err2 := emptyDatabase(ctx, os.Getenv("DATABASE_URL"), "flashsale_localstack_"+s.Name)
	err3 := emptyTopics(ctx, Brokers(), s.Name)
	if err := errors.Join(err1, err2, err3); err != nil {
		return Secret{}, err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // documented never to fail
	return Secret{redisURL, databaseURL, "whsec_" + base64.StdEncoding.EncodeToString(key)}, nil
}

// Brokers are Kafka's, as the environment names them.
func Brokers() []string { return strings.Split(os.Getenv("KAFKA_BROKERS"), ",") }

func emptyRedis(ctx context.Context, address string, database int) (string, error) {
	own, err := url.Parse(address)
	if err != nil {
		return "", errors.New("stage: REDIS_URL is no URL") // the error would quote a password
	}
	own.Path = fmt.Sprintf("/%d", database)
	options, err := redis.ParseURL(own.String())
	if err != nil {
		return "", errors.New("stage: REDIS_URL is no Redis URL")
	}
	rdb := redis.NewClient(options)
	defer func() { _ = rdb.Close() }()
	_, err = rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.FlushDB(ctx)
		p.Set(ctx, redisMark, 1, 0)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("stage: redis: %w", err)
	}
	return own.String(), nil
}

func emptyDatabase(ctx context.Context, address, name string) (string, error) {
	own, err := url.Parse(address)
	if err != nil || own.Host == "" {
		return "", errors.New("stage: DATABASE_URL is not of the form postgres://user@host:port/database")
	}
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return "", fmt.Errorf("stage: postgresql: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	quoted := pgx.Identifier{name}.Sanitize()
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + quoted + " WITH (FORCE)", "CREATE DATABASE " + quoted} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", fmt.Errorf("stage: postgresql: %w", err)
		}
	}
	own.Path = "/" + name
	return own.String(), nil
}

// emptyTopics makes the three topics anew; a topic takes its group's offsets with it. A broker
// takes a moment to forget a deleted one.
func emptyTopics(ctx context.Context, seeds []string, prefix string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		return fmt.Errorf("stage: kafka: %w", err)
	}
	admin := kadm.NewClient(client)
	defer admin.Close()
	for name, count := range map[string]int32{
		prefix + "-orders": partitions, prefix + "-orders-dlq": 1, prefix + "-order-events": partitions,
	} {
		if _, err := admin.DeleteTopic(ctx, name); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("stage: kafka: delete topic %s: %w", name, err)
		}
		for {
			_, err := admin.CreateTopic(ctx, count, -1, nil, name) // -1 is the broker's own replication
			if err == nil {
				break
			}
			if !errors.Is(err, kerr.TopicAlreadyExists) || ctx.Err() != nil {
				return fmt.Errorf("stage: kafka: create topic %s: %w", name, err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// Environment is what a function of this stack is told, as in the template. The keys are a JWKS.
func (s Secret) Environment(own Stack, issuer, audience, keys string) []string {
	return []string{
		"REDIS_URL=" + s.RedisURL,
		"DATABASE_URL=" + s.DatabaseURL,
		"KAFKA_BROKERS=" + strings.Join(Brokers(), ","),
		"KAFKA_ORDERS_TOPIC=" + own.Name + "-orders",
		"KAFKA_DEAD_LETTER_TOPIC=" + own.Name + "-orders-dlq",
		"KAFKA_EVENTS_TOPIC=" + own.Name + "-order-events",
		"KAFKA_GROUP=" + own.Name + "-orderwriter",
		"JWT_ISSUER=" + issuer, "JWT_AUDIENCE=" + audience, "JWKS=" + keys,
		"ORDER_ID_SECRET=development-only-order-ids",
		"PAYMENT_SECRETS=" + s.PaymentSecrets,
	}
}
