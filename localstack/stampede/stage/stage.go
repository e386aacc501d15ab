// Package stage is a whole flash sale for a stampede: the real functions on real
// servers, with a sale of its own.
//
// It promises nothing in common with other stages on the same servers but the servers:
// topics, database and ids are its own, and are gone when it is closed.
package stage

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	mrand "math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"flashsale/localstack/dev/shop"
	"flashsale/localstack/servers"
	"flashsale/localstack/stampede/crowd"
	"flashsale/localstack/stampede/report"
	"flashsale/shared/config"
)

const (
	tick     = time.Second
	audience = "flash-sale"
	price    = "19.99"
	currency = "EUR"
)

// A Stage is the system before and during one sale.
type Stage struct {
	// Shop has the functions, if they run in this process.
	Shop *shop.Shop

	way, address string
	target       crowd.Target
	pool         *pgxpool.Pool
	work         func() // starts the poller and the schedules
	login        func(ctx context.Context, n int, out io.Writer) ([]string, error)
	administer   func(ctx context.Context, request map[string]any, into any) error
	pay          func(ctx context.Context, orderID string) bool
	fare         func() report.Rounds // of the neighbour since the last call; nil: nobody moved in
	quiet        report.Rounds        // of the same, before the sale

	sale, item int64
	lottery    bool
	closers    []func()
}

// Close ends all that the stage began; the servers stay.
func (s *Stage) Close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
	s.closers = nil
}

func (s *Stage) later(do func()) { s.closers = append(s.closers, do) }

// openBackends makes what a stage has of each server. It returns the configuration of
// its functions but for keys and secrets.
func (s *Stage) openBackends(ctx context.Context, on Servers, log *slog.Logger) (shop.Config, error) {
	t, err := s.openTopics(ctx, on.Brokers)
	if err != nil {
		return shop.Config{}, err
	}
	database, drop, err := servers.MakeDatabase(ctx, on.Database)
	if err != nil {
		return shop.Config{}, fmt.Errorf("stage: %w", err)
	}
	s.later(drop)
	if s.pool, err = pgxpool.New(ctx, database); err != nil {
		return shop.Config{}, fmt.Errorf("stage: database: %w", err)
	}
	s.later(s.pool.Close)
	return shop.Config{
		RedisURL: on.Redis, DatabaseURL: database, KafkaBrokers: on.Brokers,
		OrdersTopic: t.orders, DeadLetterTopic: t.letters, EventsTopic: t.events, Group: "stampede-" + rand.Text(), Audience: audience, Log: log,
		Webhook: config.Webhook{
			Secrets: []config.Secret{"whsec_ZGV2ZWxvcG1lbnQtb25seS1wYXltZW50cw=="}, Signature: config.StandardWebhooks, Tolerance: 5 * time.Minute,
		},
	}, nil
}

// Login makes tokens for n shoppers and tells out how far it is.
func (s *Stage) Login(ctx context.Context, n int, out io.Writer) ([]string, error) {
	return s.login(ctx, n, out)
}

// Start creates and loads the sale, and starts what works in the background.
// With a lottery it admits its shoppers one after another over that time.
func (s *Stage) Start(ctx context.Context, units int, opens time.Time, lottery time.Duration) error {
	id := mrand.Int64N(1<<32-1) + 1
	s.item = mrand.Int64N(1<<52) + 1
	text := fmt.Sprintf(`{"id":%d,"name":"Stampede","opensAt":%q,"closesAt":"+2h","spread":%q,"items":[
		{"id":%d,"productId":1,"name":"it","quantity":%d,"price":%q,"currency":%q}]}`,
		id, opens.UTC().Format(time.RFC3339Nano), lottery, s.item, units, price, currency)
	if err := s.administer(ctx, map[string]any{"action": "create", "sale": json.RawMessage(text)}, nil); err != nil {
		return err
	}
	s.sale, s.lottery = id, lottery > 0
	if err := s.administer(ctx, map[string]any{"action": "load", "saleId": id}, nil); err != nil {
		return err
	}
	s.work()
	return nil
}

// SaleID is the sale's, once it is started.
func (s *Stage) SaleID() int64 { return s.sale }

// Attract completes a crowd's configuration with this stage's sale and returns the
// way to it.
func (s *Stage) Attract(cfg crowd.Config) (crowd.Config, crowd.Target) {
	cfg.Way, cfg.Target = s.way, s.address
	cfg.Sale, cfg.Item, cfg.Lottery = s.sale, s.item, s.lottery
	cfg.Pay, cfg.Rows, cfg.System = s.pay, s.rows, s.System
	cfg.Neighbour, cfg.Quiet = s.fare, s.quiet
	return cfg, s.target
}

// rows counts the sale's orders in the database. Those that were given up before they
// were written are none.
func (s *Stage) rows(ctx context.Context) (n int, err error) {
	err = s.pool.QueryRow(ctx, `SELECT count(*) FROM flash_sale_order WHERE sale_id = $1 AND status <> 'REJECTED'`, s.sale).Scan(&n)
	return n, err
}

// calm bounds the wait for what is still on its way.
const calm = time.Minute

// System is saleadmin's report, once nothing is on its way any more, or after a minute.
func (s *Stage) System(ctx context.Context) (*report.System, error) {
	for deadline := time.Now().Add(calm); ; {
		got, quiet, err := s.report(ctx)
		if quiet || time.Now().After(deadline) {
			return got, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// report tells also whether nothing is on its way.
func (s *Stage) report(ctx context.Context) (_ *report.System, quiet bool, err error) {
	var got struct {
		Changing bool
		Items    []struct {
			Sold, Stock, Drift int
			Conserved          bool
			Orders             map[string]int
		}
		Unconfirmed, ReleasesWaiting, DeadLetters, WriterLag int
	}
	if err := s.administer(ctx, map[string]any{"action": "report", "saleId": s.sale}, &got); err != nil {
		return nil, false, err
	}
	if len(got.Items) != 1 {
		return nil, false, fmt.Errorf("stage: the report has %d items, want 1", len(got.Items))
	}
	item := got.Items[0]
	waiting := got.Unconfirmed + got.ReleasesWaiting + got.DeadLetters + got.WriterLag
	return &report.System{
		Rows: item.Orders, Sold: item.Sold, Stock: item.Stock, Conserved: item.Conserved, Drift: item.Drift,
		Waiting: waiting,
	}, waiting == 0 && !got.Changing, nil
}
