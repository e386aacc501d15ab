package servers

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
)

// This file is for programs, which have no test that ends: benchmarks, drills, stampedes.

// MakeTopic makes a topic and waits until it can be written. The replicas are the broker's own
// default, which is right for one broker and for three. The admin's client should not remember
// metadata for long (kgo.MetadataMinAge).
func MakeTopic(ctx context.Context, admin *kadm.Client, name string, partitions int) error {
	if _, err := admin.CreateTopic(ctx, int32(partitions), -1, nil, name); err != nil { //nolint:gosec // a few
		return fmt.Errorf("topic %s: %w", name, err)
	}
	for {
		ends, err := admin.ListEndOffsets(ctx, name)
		if err == nil && ends.Error() == nil && len(ends[name]) == partitions {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("topic %s: %w", name, errors.Join(ctx.Err(), err))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// MakeDatabase makes an empty database on the server of an address and returns its own address
// and what drops it. The test servers are quick because they may forget the last commits in a
// crash; here a commit waits for its log to be written, as in production.
func MakeDatabase(ctx context.Context, server string) (address string, drop func(), err error) {
	base, err := url.Parse(server)
	if err != nil {
		return "", nil, errors.New("servers: the database's address is no URL") // the error would quote the password
	}
	// Whoever tidies up after tests knows the name.
	name := fmt.Sprintf("%s%d_%s", databasePrefix, time.Now().Unix(), randomName())
	drop = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = withConnection(ctx, base, func(conn *pgx.Conn) error { return dropDatabase(ctx, conn, name, "WITH (FORCE)") })
	}
	err = withConnection(ctx, base, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+quote(name)); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, "ALTER DATABASE "+quote(name)+" SET synchronous_commit = on")
		return err
	})
	if err != nil {
		drop()
		return "", nil, fmt.Errorf("servers: make database: %w", err)
	}
	return sibling(base, name), drop, nil
}
