package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/dev/postgres"
	"flashsale/shared/config"
	"flashsale/shared/connect"
)

// reach bounds the wait for a real server's first answer.
const reach = 5 * time.Second

// partitions of a new orders or events topic: more than one, so that nothing comes to depend
// on an order between items.
const partitions = 3

// backends are the three servers, embedded or real.
type backends struct {
	redisURL    string
	brokers     []string
	databaseURL string

	ended   <-chan struct{} // closed when an embedded server is gone; nil if there is none
	closers []func() error
}

// openBackends starts or reaches the servers and tells out which is which. PostgreSQL
// comes last: it takes seconds, and a mistake in the others is told before.
func openBackends(ctx context.Context, s settings, out io.Writer) (*backends, error) {
	b := &backends{redisURL: s.redisURL, brokers: s.brokers, databaseURL: s.databaseURL}
	err := b.openRedis(ctx, out)
	if err == nil {
		err = b.openKafka(ctx, s, out)
	}
	if err == nil {
		err = b.openPostgres(ctx, out)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Close stops what is embedded, the last one first.
func (b *backends) Close() (err error) {
	for len(b.closers) > 0 {
		last := len(b.closers) - 1
		err = errors.Join(err, b.closers[last]())
		b.closers = b.closers[:last]
	}
	return err
}

func tell(out io.Writer, server, kind, address string) {
	_, _ = fmt.Fprintf(out, "%-11s %-9s %s\n", server, kind, address)
}

func (b *backends) openRedis(ctx context.Context, out io.Writer) error {
	if b.redisURL == "" {
		m := miniredis.NewMiniRedis()
		if err := m.StartAddr("127.0.0.1:0"); err != nil {
			return fmt.Errorf("embedded redis: %w", err)
		}
		b.closers = append(b.closers, func() error { m.Close(); return nil })
		b.redisURL = "redis://" + m.Addr() + "/0"
		tell(out, "redis", "embedded", m.Addr())
		return nil
	}
	client, err := connect.Redis(config.Redis{URL: config.Secret(b.redisURL), PoolSize: 1})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, reach)
	defer cancel()
	u, err := url.Parse(b.redisURL)
	if err != nil {
		return errors.New("REDIS_URL is no URL") // the error would quote the password
	}
	if err := client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redis (REDIS_URL, %s) is not reachable: %w", u.Host, err)
	}
	tell(out, "redis", "real", u.Host+u.Path)
	return nil
}

func (b *backends) openKafka(ctx context.Context, s settings, out io.Writer) error {
	kind := "real"
	if len(b.brokers) == 0 {
		kind = "embedded"
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			return fmt.Errorf("embedded kafka: %w", err)
		}
		b.closers = append(b.closers, func() error { cluster.Close(); return nil })
		b.brokers = cluster.ListenAddrs()
	}
	client, err := connect.Kafka(config.Kafka{Brokers: b.brokers}, kgo.RequestRetries(2))
	if err != nil {
		return err
	}
	admin := kadm.NewClient(client)
	defer admin.Close()
	address := strings.Join(b.brokers, ",")
	reachable, cancel := context.WithTimeout(ctx, reach)
	defer cancel()
	if err := client.Ping(reachable); err != nil {
		return fmt.Errorf("kafka (KAFKA_BROKERS, %s) is not reachable: %w", address, err)
	}
	tell(out, "kafka", kind, address)

	ctx, cancel = context.WithTimeout(ctx, 6*reach) // a real broker takes its time
	defer cancel()
	return errors.Join(
		makeTopic(ctx, admin, s.ordersTopic, partitions),
		makeTopic(ctx, admin, s.deadLetterTopic, 1),
		makeTopic(ctx, admin, s.eventsTopic, partitions),
	)
}

// makeTopic leaves a topic alone that exists.
func makeTopic(ctx context.Context, admin *kadm.Client, name string, partitions int32) error {
	// -1 is the broker's own replication, right for one broker and for three.
	_, err := admin.CreateTopic(ctx, partitions, -1, nil, name)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("kafka: create topic %s: %w", name, err)
	}
	return nil
}

func (b *backends) openPostgres(ctx context.Context, out io.Writer) error {
	kind := "real"
	if b.databaseURL == "" {
		kind = "embedded"
		server, err := postgres.Start(ctx, postgres.Folder(), out)
		if err != nil {
			return err
		}
		b.closers = append(b.closers, server.Stop)
		b.ended, b.databaseURL = server.Done(), server.URL()
	}
	cfg, err := pgx.ParseConfig(b.databaseURL)
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	address := fmt.Sprintf("%s:%d/%s", cfg.Host, cfg.Port, cfg.Database)
	ctx, cancel := context.WithTimeout(ctx, reach)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("postgresql (DATABASE_URL, %s) is not reachable: %w", address, err)
	}
	_ = conn.Close(ctx)
	tell(out, "postgresql", kind, address)
	return nil
}
