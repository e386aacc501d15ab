// Package shop holds every function of the system in one process, wired to one
// Redis, Kafka and PostgreSQL: what the development server and the tests run.
//
// It promises the same handlers as the deployed binaries, called with the same
// events; only the mains are not used.
package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/functions/expirer"
	"flashsale/functions/migrate"
	"flashsale/functions/orderstatus"
	"flashsale/functions/orderwriter"
	"flashsale/functions/payment"
	"flashsale/functions/purchase"
	"flashsale/functions/saleadmin"
	"flashsale/functions/saleinfo"
	"flashsale/functions/stockkeeper"
	"flashsale/localstack/dev/lambda"
	"flashsale/shared/admission"
	"flashsale/shared/apigw"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/identity"
	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
	"flashsale/shared/telemetry"
	"flashsale/shared/tracing"
	"flashsale/shared/webhook"
)

// poolSize is that of all functions together: they share one pool.
const poolSize = 16

// Config names the servers and what the functions take from their environment.
type Config struct {
	RedisURL      string
	EmbeddedRedis bool // it states no eviction policy
	DatabaseURL   string

	KafkaBrokers    []string
	OrdersTopic     string
	DeadLetterTopic string
	EventsTopic     string // "" tells the shop nothing
	Group           string // the order writer's consumer group

	JWKS    string // keys as JSON; or
	JWKSURL string // where they are

	Issuer, Audience string
	OrderIDSecret    string
	Webhook          config.Webhook // without secrets no payment is accepted
	Admission        config.Admission
	Limits           config.Limits // zero is no limit
	Origins          []string
	Now              func() time.Time // nil is the machine's clock; the servers have their own
	Log              *slog.Logger
	Figures          io.Writer      // nil measures nothing
	Tracing          config.Tracing // without an endpoint nothing is traced
}

// A Shop is all functions, ready to be invoked. The fields are for tests that
// look behind the functions.
type Shop struct {
	Redis  redis.UniversalClient
	Kafka  *kgo.Client
	Pool   *pgxpool.Pool
	Stock  *stock.Store
	Orders *order.Store

	cfg       Config
	functions map[string]lambda.Invoke
	purchases *telemetry.Outcomes
}

// Open makes the clients and wires the functions. It does not migrate.
func Open(ctx context.Context, cfg Config) (*Shop, error) {
	s := &Shop{cfg: cfg}
	if err := s.connect(ctx, cfg); err != nil {
		s.Close()
		return nil, fmt.Errorf("shop: %w", err)
	}
	if err := s.wire(cfg); err != nil {
		s.Close()
		return nil, fmt.Errorf("shop: %w", err)
	}
	return s, nil
}

func (s *Shop) connect(ctx context.Context, cfg Config) (err error) {
	if s.Redis, err = connect.Redis(config.Redis{URL: config.Secret(cfg.RedisURL), PoolSize: 64}); err != nil {
		return err
	}
	if s.Kafka, err = connect.Kafka(config.Kafka{Brokers: cfg.KafkaBrokers}, orderlog.ClientOptions()...); err != nil {
		return err
	}
	s.Pool, err = connect.Postgres(ctx, config.Postgres{URL: config.Secret(cfg.DatabaseURL), PoolSize: poolSize})
	return err
}

func (s *Shop) wire(cfg Config) error {
	now := cfg.Now
	if now == nil {
		now = time.Now
	}
	shoppers, err := identity.New(config.Identity{
		Issuer: cfg.Issuer, Audience: cfg.Audience, JWKS: cfg.JWKS, JWKSURL: cfg.JWKSURL,
		Cooldown: 30 * time.Second, Skew: time.Minute,
	}, now)
	if err != nil {
		return err
	}
	mint, err := sale.NewMint([]byte(cfg.OrderIDSecret), now)
	if err != nil {
		return err
	}
	options := []stock.Option{stock.Pipelined(true)}
	if cfg.EmbeddedRedis {
		options = append(options, stock.Embedded())
	}
	s.Stock, s.Orders = stock.New(s.Redis, options...), order.New(s.Pool)
	catalog := stock.NewCatalog(s.Stock, now)
	producer := orderlog.NewProducer(s.Kafka, cfg.OrdersTopic)
	keeper := &recovery.Keeper{
		Orders: s.Orders, Stock: s.Stock, Log: producer, Backlog: orderlog.Backlog(s.Kafka, cfg.Group, cfg.OrdersTopic),
		Mark: orderlog.Marker(s.Kafka, cfg.Group, cfg.OrdersTopic), UnderWay: recovery.PurchaseBudget,
	}
	meter := func(function string) *telemetry.Meter {
		if cfg.Figures == nil {
			return nil
		}
		return telemetry.NewMeter(cfg.Figures, function, now)
	}
	edge := func(function, metric string) apigw.Edge {
		return apigw.Edge{Log: cfg.Log, Origins: cfg.Origins, Outcomes: meter(function).Outcomes(metric)}
	}
	sells := edge("purchase", "Purchases")
	s.purchases = sells.Outcomes
	office, err := admission.New(cfg.Admission)
	if err != nil {
		return err
	}
	gate, err := purchase.NewGate(cfg.Admission.AdmissionKeys, cfg.Limits, now)
	if err != nil {
		return err
	}
	scheme, err := webhook.New(cfg.Webhook)
	if err != nil {
		return err
	}
	var feed stockkeeper.Feed
	if cfg.EventsTopic != "" {
		feed = orderlog.NewEventFeed(s.Kafka, cfg.EventsTopic)
	}

	s.functions = map[string]lambda.Invoke{
		"purchase": (&purchase.Handler{
			Catalog: catalog, Stock: s.Stock, Latch: stock.NewLatch(s.Stock, catalog, now), Log: producer,
			Shoppers: shoppers, Mint: mint, Gate: gate, Edge: sells, Now: now,
			Tracer: tracing.New(cfg.Tracing, "purchase", cfg.Log),
		}).Invoke,
		"orderstatus": (&orderstatus.Handler{
			Catalog: catalog, Stock: s.Stock, Orders: s.Orders, Shoppers: shoppers, Mint: mint, Edge: edge("orderstatus", "Requests"), Now: now,
		}).Invoke,
		"orderwriter": (&orderwriter.Handler{
			Stock: s.Stock, Orders: s.Orders, Letters: orderlog.NewDeadLetters(s.Kafka, cfg.DeadLetterTopic), Log: cfg.Log, Meter: meter("orderwriter"),
			Tracer: tracing.New(cfg.Tracing, "orderwriter", cfg.Log),
		}).Invoke,
		"expirer": (&expirer.Handler{Orders: s.Orders, Stock: s.Stock, Log: cfg.Log, Meter: meter("expirer")}).Invoke,
		"stockkeeper": (&stockkeeper.Handler{
			Orders: s.Orders, Stock: s.Stock, Keeper: keeper, Feed: feed, Log: cfg.Log, Meter: meter("stockkeeper"),
			Letters: orderlog.Letters(s.Kafka, cfg.DeadLetterTopic),
		}).Invoke,
		"payment": (&payment.Handler{Orders: s.Orders, Scheme: scheme, Edge: edge("payment", "Requests"), Now: now}).Invoke,
		"saleinfo": (&saleinfo.Handler{
			Catalog: catalog, Stock: s.Stock, Shoppers: shoppers, Office: office, Edge: edge("saleinfo", "Requests"), Now: now,
		}).Invoke,
		"saleadmin": (&saleadmin.Handler{
			Orders: s.Orders, Stock: s.Stock, Keeper: keeper, Admits: office.Ready(), Kafka: s.Kafka, Log: cfg.Log, Now: now,
			OrdersTopic: cfg.OrdersTopic, DeadLetterTopic: cfg.DeadLetterTopic, Estate: s.estate(cfg),
		}).Invoke,
		"migrate": (&migrate.Handler{DatabaseURL: cfg.DatabaseURL}).Invoke,
	}
	return nil
}

// estate is what preflight looks at. Nothing here is on AWS, and it says so.
func (s *Shop) estate(cfg Config) saleadmin.Estate {
	return saleadmin.Estate{
		Config: saleadmin.Config{
			Kafka: config.Kafka{
				Brokers: cfg.KafkaBrokers, OrdersTopic: cfg.OrdersTopic, DeadLetterTopic: cfg.DeadLetterTopic, EventsTopic: cfg.EventsTopic,
			},
			Postgres: config.Postgres{PoolSize: poolSize},
			JWKS:     cfg.JWKS, JWKSURL: cfg.JWKSURL,
		},
		Redis: s.Redis, Pool: s.Pool,
	}
}

// Functions lists the functions by their folders' names.
func (s *Shop) Functions() map[string]lambda.Invoke { return s.functions }

// Purchases tells how often purchase has given each answer, of all sales.
func (s *Shop) Purchases() map[string]int64 { return s.purchases.Totals() }

// Call invokes a function with request as JSON and reads its answer.
func (s *Shop) Call(ctx context.Context, function string, request, answer any) error {
	invoke, ok := s.functions[function]
	if !ok {
		return errors.New("shop: no function " + function)
	}
	event, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("shop: %s: %w", function, err)
	}
	text, err := invoke(ctx, event)
	if err != nil {
		return fmt.Errorf("shop: %s: %w", function, err)
	}
	return json.Unmarshal(text, answer)
}

// Close ends the clients' connections.
func (s *Shop) Close() {
	if s.Kafka != nil {
		s.Kafka.Close()
	}
	if s.Redis != nil {
		_ = s.Redis.Close() // a pool that is going away has nothing to say
	}
	if s.Pool != nil {
		s.Pool.Close()
	}
}
