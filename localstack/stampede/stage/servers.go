package stage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/servers"
)

// set keeps the stampede's servers apart from those that tests share.
const set = "stampede"

// partitions of the orders topic, as the development server's.
const partitions = 3

// Servers are addresses as REDIS_URL, KAFKA_BROKERS and DATABASE_URL have them.
type Servers struct {
	Redis    string
	Brokers  []string
	Database string // any on the server: each stage makes one of its own
}

// Up starts real servers for stampedes alone, or finds those that were left up.
func Up(ctx context.Context) (Servers, error) {
	if _, err := servers.Run(set, "up"); err != nil {
		return Servers{}, err
	}
	var s Servers
	var brokers string
	for name, into := range map[string]*string{"redis": &s.Redis, "kafka": &brokers, "postgres": &s.Database} {
		address, err := servers.Run(set, "address", name)
		if err != nil {
			return Servers{}, err
		}
		*into = address
	}
	s.Brokers = strings.Split(brokers, ",")
	// What an earlier run left is nobody's.
	options, err := redis.ParseURL(s.Redis)
	if err != nil {
		return Servers{}, fmt.Errorf("stage: redis: %w", err)
	}
	rdb := redis.NewClient(options)
	defer func() { _ = rdb.Close() }()
	return s, rdb.FlushAll(ctx).Err()
}

// Down stops them.
func Down() error {
	_, err := servers.Run(set, "down")
	return err
}

// topics are made for one stage.
type topics struct{ orders, letters, events string }

func (s *Stage) openTopics(ctx context.Context, brokers []string) (topics, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		return topics{}, fmt.Errorf("stage: kafka: %w", err)
	}
	admin := kadm.NewClient(client)
	s.later(admin.Close)
	t := topics{"stampede-" + rand.Text(), "stampede-dlq-" + rand.Text(), "stampede-events-" + rand.Text()}
	s.later(func() {
		ctx, cancel := farewell(ctx)
		defer cancel()
		_, _ = admin.DeleteTopics(ctx, t.orders, t.letters, t.events)
	})
	for name, n := range map[string]int{t.orders: partitions, t.letters: 1, t.events: partitions} {
		if err := makeTopic(ctx, admin, name, n); err != nil {
			return t, fmt.Errorf("stage: topic %s: %w", name, err)
		}
	}
	return t, nil
}

// makeTopic waits until the topic can be written.
func makeTopic(ctx context.Context, admin *kadm.Client, name string, partitions int) error {
	if _, err := admin.CreateTopic(ctx, int32(partitions), -1, nil, name); err != nil { //nolint:gosec // a few
		return err
	}
	for {
		ends, err := admin.ListEndOffsets(ctx, name)
		if err == nil && ends.Error() == nil && len(ends[name]) == partitions {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// openDatabase makes a database and returns its address.
func (s *Stage) openDatabase(ctx context.Context, server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", errors.New("stage: the database's address is no URL") // the error would quote the password
	}
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", fmt.Errorf("stage: database: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	name := fmt.Sprintf("flashsale_test_%d_%s", time.Now().Unix(), strings.ToLower(rand.Text())) // whoever tidies up after tests knows it
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", fmt.Errorf("stage: database: %w", err)
	}
	s.later(func() {
		ctx, cancel := farewell(ctx)
		defer cancel()
		if conn, err := pgx.Connect(ctx, server); err == nil {
			_, _ = conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
			_ = conn.Close(ctx)
		}
	})
	// A commit waits for its log to be written, as in production; the servers' disk
	// itself is not waited for.
	if _, err := conn.Exec(ctx, "ALTER DATABASE "+name+" SET synchronous_commit = on"); err != nil {
		return "", fmt.Errorf("stage: database: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// farewell outlives the run's own context.
func farewell(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
}
