package drill

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/dev/login"
	"flashsale/localstack/dev/shop"
	"flashsale/migrations"
	"flashsale/shared/config"
	"flashsale/shared/sale"
)

var webhooks = config.Webhook{
	Secrets: []config.Secret{"whsec_ZGV2ZWxvcG1lbnQtb25seS1wYXltZW50cw=="}, Signature: config.StandardWebhooks, Tolerance: 5 * time.Minute,
}

// A stage is the system in the middle of a sale, with what a drill may break.
type stage struct {
	Drill
	park  Park
	log   *slog.Logger
	setup setup
	sale  sale.Sale
	tag   string // of the keys of its first shard

	redis, database *proxy                // nil for the cluster
	databaseURL     string                // past the proxy
	rdb             redis.UniversalClient // past the proxy
	admin           *kadm.Client

	shop      *shop.Shop // for looking, and for the functions unless they run in a child
	crew      *crew
	child     *child
	neighbour *neighbour
	provider  *login.Provider
	sales     ledger
	struck    time.Time

	closers []func()
}

func (s *stage) close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

func (s *stage) later(do func()) { s.closers = append(s.closers, do) }

// open builds a stage with one sale that is on sale.
func open(ctx context.Context, d Drill, park Park, log *slog.Logger) (*stage, error) {
	s := &stage{Drill: d, park: park, log: log, setup: setup{
		Pollers: 1, Overlap: 1, Tick: time.Second, Issuer: "https://id.test", Secret: rand.Text(), Group: "drill-" + rand.Text(), ClockOff: d.clockOff,
	}}
	for _, step := range []func(context.Context) error{s.openRedis, s.openKafka, s.openDatabase, s.openShop, s.openSale, s.openCrew} {
		if err := step(ctx); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

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
	if s.cluster {
		o, err := redis.ParseClusterURL(strings.Replace(address, "cluster=true&", "", 1))
		if err != nil {
			return err
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
		if err := s.rdb.FlushAll(ctx).Err(); err != nil {
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
	s.setup.Orders, s.setup.Letters = "drill-"+rand.Text(), "drill-dlq-"+rand.Text()
	s.later(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, _ = s.admin.DeleteTopics(ctx, s.setup.Orders, s.setup.Letters)
	})
	if err := s.makeTopic(ctx, s.setup.Letters); err != nil || s.noTopic {
		return err
	}
	return s.makeTopic(ctx, s.setup.Orders)
}

// makeTopic waits until the topic can be written.
func (s *stage) makeTopic(ctx context.Context, name string) error {
	if _, err := s.admin.CreateTopic(ctx, 2, -1, nil, name); err != nil {
		return fmt.Errorf("topic %s: %w", name, err)
	}
	for {
		ends, err := s.admin.ListEndOffsets(ctx, name)
		if err == nil && ends.Error() == nil && len(ends[name]) == 2 {
			return nil
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func (s *stage) openDatabase(ctx context.Context) error {
	address, err := s.park.Database, error(nil)
	if address == "" {
		address, err = s.park.up("postgres")
	}
	if err != nil {
		return err
	}
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	name := fmt.Sprintf("flashsale_test_%d_%s", time.Now().Unix(), strings.ToLower(rand.Text())) // whoever tidies up after tests knows it
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	s.later(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if conn, err := pgx.Connect(ctx, address); err == nil {
			_, _ = conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
			_ = conn.Close(ctx)
		}
	})
	// The test servers are quick because they may forget the last commits in a crash. Here they may not.
	if _, err := conn.Exec(ctx, "ALTER DATABASE "+name+" SET synchronous_commit = on"); err != nil {
		return err
	}
	u.Path = "/" + name
	s.databaseURL, s.setup.Database = u.String(), u.String()
	if _, err := migrations.Up(ctx, s.databaseURL); err != nil {
		return err
	}
	if s.neighbour, err = moveIn(ctx, s.databaseURL); err != nil {
		return err
	}
	s.later(s.neighbour.close)
	s.database, err = s.proxied(&s.setup.Database)
	return err
}

func (s *stage) openShop(ctx context.Context) (err error) {
	if s.provider, err = login.New(s.setup.Issuer, audience, time.Now); err != nil {
		return err
	}
	keys, err := s.provider.JWKS()
	if err != nil {
		return err
	}
	s.setup.JWKS = string(keys)
	if s.shop, err = s.setup.open(ctx, s.log); err != nil {
		return err
	}
	s.later(s.shop.Close)
	return nil
}

func (s *stage) openSale(ctx context.Context) error {
	window, grace := s.window, "0s"
	if window == 0 {
		window, grace = 10*time.Minute, "1m"
	}
	text := fmt.Sprintf(`{"id":%d,"name":"drill","opensAt":%q,"closesAt":"+1h","paymentWindow":%q,"grace":%q,"shards":%d,"items":[
		{"id":%d,"productId":1,"name":"it","quantity":%d,"price":"19.99","currency":"EUR"}]}`,
		mrand.Uint32N(1<<32-1)+1, time.Now().Add(-time.Minute).UTC().Format(time.RFC3339), window, grace, max(1, s.shards), mrand.Int64N(1<<52)+1, units)
	var err error
	if s.sale, err = sale.ParseFile([]byte(text), time.Now()); err != nil {
		return err
	}
	var none map[string]any
	return errors.Join(
		administer(ctx, s.shop, map[string]any{"action": "create", "sale": json.RawMessage(text)}, &none),
		administer(ctx, s.shop, map[string]any{"action": "load", "saleId": s.sale.ID}, &none),
		s.findTag(ctx),
	)
}

// openCrew starts what calls the functions, here or in a child.
func (s *stage) openCrew(ctx context.Context) error {
	if s.Drill.child {
		var err error
		if s.child, err = start(ctx, s.setup, s.failures, s.log); err == nil {
			s.later(s.child.close)
		}
		return err
	}
	s.crew = s.setup.work(ctx, s.shop.Functions(), s.log)
	s.later(func() { s.crew.stop() })
	return nil
}

// invoke calls a function where the functions run.
func (s *stage) invoke(ctx context.Context, function string, event []byte) ([]byte, error) {
	if s.child != nil {
		return s.child.invoke(ctx, function, event)
	}
	return s.shop.Functions()[function](ctx, event)
}

// key is a key of the sale's first shard.
func (s *stage) key(part string) string { return s.tag + ":" + part }

// findTag looks which tag the first shard has: of several suffixes one was chosen, by its slot.
func (s *stage) findTag(ctx context.Context) error {
	name := fmt.Sprintf("sale:%d:0", s.sale.ID)
	s.tag = "{" + name + "}"
	for suffix := 1; suffix < 100; suffix++ {
		n, err := s.rdb.Exists(ctx, s.key("meta")).Result()
		if err != nil || n == 1 {
			return err
		}
		s.tag = fmt.Sprintf("{%s:%d}", name, suffix)
	}
	return errors.New("the sale has no first shard in Redis")
}
