package drill

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	mrand "math/rand/v2"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"

	"flashsale/localstack/dev/lambda"
	"flashsale/localstack/dev/login"
	"flashsale/localstack/dev/shop"
	"flashsale/localstack/neighbour"
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
	tags  []string // of its shards' keys

	redis, database *proxy                // nil for the cluster
	keys            *proxy                // of the identity provider, if they are remote
	databaseURL     string                // past the proxy
	maintenance     string                // of the same server, for what cannot be done from inside a database
	rdb             redis.UniversalClient // past the proxy
	admin           *kadm.Client
	busy            int32 // the partition that has the orders

	shop      *shop.Shop               // for looking
	functions map[string]lambda.Invoke // unless they run in a child
	fresh     *shop.Shop               // is asked instead of all others; nil is nobody
	crew      *crew
	child     *child
	froze     atomic.Bool // the child has stopped once, and nobody asks it any more
	neighbour *neighbour.Business
	provider  *login.Provider
	sales     ledger
	read      reading
	memories  []memory
	unwritten int          // holds without a row that were deleted
	hits      atomic.Int64 // what a strike hit, where it counts that itself
	struck    time.Time
	over      chan struct{} // closed a second after the fault
	stopped   time.Time     // when a master that was cut off sold nothing any more; zero is the fault's end
	alone     span          // while somebody was cut off
	paying    sync.WaitGroup
	machine   lateness
	wait      time.Duration // until all is whole; longer than that nobody waits
	fallen    []string      // cluster nodes that were killed
	network   *network      // between cluster nodes; nil where nobody is cut off
	wired     []*wired      // nodes, by their ports

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
	s := &stage{Drill: d, park: park, log: log, over: make(chan struct{}), wait: comeback + patience, setup: setup{
		Pollers: 1, Overlap: 1, Tick: time.Second, Issuer: "https://id.test", Secret: rand.Text(), Group: "drill-" + rand.Text(), clocks: d.clocks(),
	}}
	for _, step := range []func(context.Context) error{s.openRedis, s.openKafka, s.openDatabase, s.openShop, s.openSale, s.openCrew} {
		if err := step(ctx); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

func (s *stage) openShop(ctx context.Context) (err error) {
	if s.provider, err = login.New(s.setup.Issuer, audience, time.Now); err != nil {
		return err
	}
	if s.remoteKeys {
		server := httptest.NewServer(s.provider.Handler())
		s.later(server.Close)
		s.setup.JWKSURL = server.URL + "/dev/jwks.json"
		if s.keys, err = s.proxied(&s.setup.JWKSURL); err != nil {
			return err
		}
	} else {
		keys, err := s.provider.JWKS()
		if err != nil {
			return err
		}
		s.setup.JWKS = string(keys)
	}
	if s.shop, err = s.setup.open(ctx, s.log); err != nil {
		return err
	}
	s.later(s.shop.Close)
	s.functions = maps.Clone(s.shop.Functions())
	if s.twice {
		writers := &twice{writer: s.functions["orderwriter"]}
		s.later(writers.running.Wait)
		s.functions["orderwriter"] = writers.invoke
	}
	if len(s.hosts) == 0 {
		s.functions["orderwriter"] = s.read.by(s.functions["orderwriter"])
		return nil
	}
	wrong, err := s.setup.openAt(ctx, s.setup.clocks.ofHosts, s.log)
	if err != nil {
		return err
	}
	s.later(wrong.Close)
	for _, name := range s.hosts {
		s.functions[name] = wrong.Functions()[name]
	}
	return nil
}

func (s *stage) openSale(ctx context.Context) error {
	window, grace := s.window, "0s"
	if window == 0 {
		window, grace = 10*time.Minute, "1m"
	}
	closes := "+1h"
	if s.rowsOff > 0 || s.hostsOff > 0 { // who is ahead believes that it is over
		closes = "+6m"
	}
	text := fmt.Sprintf(`{"id":%d,"name":"drill","opensAt":%q,"closesAt":%q,"paymentWindow":%q,"grace":%q,"shards":%d,"items":[
		{"id":%d,"productId":1,"name":"it","quantity":%d,"price":"19.99","currency":"EUR"}]}`,
		mrand.Uint32N(1<<32-1)+1, time.Now().Add(-time.Minute).UTC().Format(time.RFC3339), closes, window, grace, max(1, s.shards), mrand.Int64N(1<<52)+1, units)
	var err error
	if s.sale, err = sale.ParseFile([]byte(text), time.Now()); err != nil {
		return err
	}
	var none map[string]any
	return errors.Join(
		administer(ctx, s.shop, map[string]any{"action": "create", "sale": json.RawMessage(text)}, &none),
		administer(ctx, s.shop, map[string]any{"action": "load", "saleId": s.sale.ID}, &none),
		s.findTags(ctx),
	)
}

// openCrew starts what calls the functions, here or in a child.
func (s *stage) openCrew(ctx context.Context) error {
	theirs, ours := s.setup, s.setup
	switch s.freezes {
	case "":
	case "orderwriter":
		theirs.Overlap, ours.Pollers = 0, 0
	default:
		theirs.Overlap, theirs.Pollers = 0, 0
	}
	if s.Drill.child {
		var err error
		if s.child, err = start(ctx, theirs, s.failures, s.log); err != nil {
			return err
		}
		s.later(s.child.close)
		if s.freezes == "" {
			return nil
		}
	}
	s.crew = ours.work(ctx, s.functions, s.log)
	s.later(func() { s.crew.stop() })
	return nil
}

// invoke calls a function where the functions run.
func (s *stage) invoke(ctx context.Context, function string, event []byte) ([]byte, error) {
	if s.fresh != nil {
		return s.fresh.Functions()[function](ctx, event)
	}
	if s.child != nil && (s.freezes == "" || s.freezes == function && !s.froze.Load()) {
		return s.child.invoke(ctx, function, event)
	}
	return s.functions[function](ctx, event)
}

// key is a key of the sale's first shard.
func (s *stage) key(part string) string { return s.tags[0] + ":" + part }

// findTags looks which tag each shard has: of several suffixes one was chosen, by its slot.
func (s *stage) findTags(ctx context.Context) error {
	for shard := range s.sale.Shards {
		name := fmt.Sprintf("sale:%d:%d", s.sale.ID, shard)
		tag, n, err := "{"+name+"}", int64(0), error(nil)
		for suffix := 1; suffix < 100; suffix++ {
			if n, err = s.rdb.Exists(ctx, tag+":meta").Result(); err != nil || n == 1 {
				break
			}
			tag = fmt.Sprintf("{%s:%d}", name, suffix)
		}
		if err != nil || n == 0 {
			return fmt.Errorf("the sale has no shard %d in Redis: %w", shard, err)
		}
		s.tags = append(s.tags, tag)
	}
	return nil
}
