package drill

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/neighbour"
	"flashsale/localstack/servers"
	"flashsale/migrations"
)

func (s *stage) openRedis(ctx context.Context) error {
	name := "redis"
	if s.cluster {
		name = "cluster"
	}
	address, err := s.park.up(name)
	if err != nil {
		return err
	}
	s.setup.Redis = address
	if s.parted && s.cluster {
		if err := s.wire(ctx, address); err != nil {
			return err
		}
	}
	if s.cluster {
		o, err := redis.ParseClusterURL(strings.Replace(s.setup.Redis, "cluster=true&", "", 1))
		if err != nil {
			return err
		}
		if s.parted {
			o.Dialer = asObserver
		}
		s.rdb = redis.NewClusterClient(o)
	} else {
		o, err := redis.ParseURL(address)
		if err != nil {
			return err
		}
		s.rdb = redis.NewClient(o)
		if s.redis, err = s.proxied(&s.setup.Redis); err != nil {
			return err
		}
		// What the last drill left, its catalog above all, is nobody's.
		if err := errors.Join(s.rdb.FlushAll(ctx).Err(), s.rdb.ConfigResetStat(ctx).Err()); err != nil {
			return err
		}
	}
	s.later(func() { _ = s.rdb.Close() })
	return nil
}

// proxied puts a proxy before the server of a URL.
func (s *stage) proxied(address *string) (*proxy, error) {
	u, err := url.Parse(*address)
	if err != nil {
		return nil, err
	}
	p, err := newProxy(u.Host)
	if err != nil {
		return nil, err
	}
	s.later(p.close)
	u.Host = p.address()
	*address = u.String()
	return p, nil
}

func (s *stage) openKafka(ctx context.Context) error {
	address, err := s.park.Brokers, error(nil)
	switch {
	case s.brokers:
		address, err = s.park.up("kafka3")
	case address == "":
		address, err = s.park.up("kafka")
	}
	if err != nil {
		return err
	}
	s.setup.Brokers = strings.Split(address, ",")
	client, err := kgo.NewClient(kgo.SeedBrokers(s.setup.Brokers...), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		return err
	}
	s.admin = kadm.NewClient(client)
	s.later(s.admin.Close)
	s.setup.Orders, s.setup.Letters = "orders-"+rand.Text(), "letters-"+rand.Text()
	s.later(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, _ = s.admin.DeleteTopics(ctx, s.setup.Orders, s.setup.Letters)
	})
	for _, name := range []string{s.setup.Orders, s.setup.Letters} {
		if slices.Contains(s.missing, name[:strings.LastIndex(name, "-")]) {
			continue
		}
		if err := s.makeTopic(ctx, name); err != nil {
			return err
		}
	}
	if s.parted && s.brokers {
		return s.wireBrokers(ctx)
	}
	return nil
}

func (s *stage) makeTopic(ctx context.Context, name string) error {
	return servers.MakeTopic(ctx, s.admin, name, 2)
}

func (s *stage) openDatabase(ctx context.Context) error {
	address, err := s.park.Database, error(nil)
	if address == "" {
		address, err = s.park.up("postgres")
	}
	if err != nil {
		return err
	}
	s.maintenance = address
	// A database that remembers every commit: here the last ones may not be forgotten in a crash.
	own, drop, err := servers.MakeDatabase(ctx, address)
	if err != nil {
		return err
	}
	s.later(drop)
	s.databaseURL, s.setup.Database = own, own
	if _, err := migrations.Up(ctx, s.databaseURL); err != nil {
		return err
	}
	if s.neighbour, err = neighbour.MoveIn(ctx, s.databaseURL); err != nil {
		return err
	}
	s.later(s.neighbour.Close)
	s.database, err = s.proxied(&s.setup.Database)
	return err
}
