package rival

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// partitions of the topic, as many as ours has.
const partitions = 3

// openDatabase makes a database of the rival's own, with the durability that ours has.
func openDatabase(ctx context.Context, server string) (address string, drop func(), err error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", nil, errors.New("the database's address is no URL") // the error would quote the password
	}
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	name := "bench_" + strings.ToLower(rand.Text())
	for _, statement := range []string{"CREATE DATABASE " + name, "ALTER DATABASE " + name + " SET synchronous_commit = on"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", nil, err
		}
	}
	u.Path = "/" + name
	return u.String(), func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if conn, err := pgx.Connect(ctx, server); err == nil {
			_, _ = conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
			_ = conn.Close(ctx)
		}
	}, nil
}

// openTopic makes a topic of the rival's own and waits until it can be written.
func openTopic(ctx context.Context, brokers []string) (topic string, drop func(), err error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		return "", nil, err
	}
	admin := kadm.NewClient(client)
	topic = "bench-" + rand.Text()
	if _, err := admin.CreateTopic(ctx, partitions, -1, nil, topic); err != nil {
		admin.Close()
		return "", nil, fmt.Errorf("topic: %w", err)
	}
	for {
		ends, err := admin.ListEndOffsets(ctx, topic)
		if err == nil && ends.Error() == nil && len(ends[topic]) == partitions {
			return topic, func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
				defer cancel()
				_, _ = admin.DeleteTopics(ctx, topic)
				admin.Close()
			}, nil
		}
		select {
		case <-ctx.Done():
			admin.Close()
			return "", nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
