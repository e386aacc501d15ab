package stage

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

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
		if err := servers.MakeTopic(ctx, admin, name, n); err != nil {
			return t, fmt.Errorf("stage: %w", err)
		}
	}
	return t, nil
}

// farewell outlives the run's own context.
func farewell(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
}
