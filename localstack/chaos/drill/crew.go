package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"flashsale/localstack/dev/lambda"
	"flashsale/localstack/dev/shop"
	"flashsale/localstack/poller"
)

// setup is all that a process needs to run the functions. It goes to a child as JSON.
type setup struct {
	Redis, Database  string
	Brokers          []string
	Orders, Letters  string // topics
	Group            string
	JWKS, JWKSURL    string // one of both
	Issuer, Secret   string
	Failure          failpoint
	Pollers, Overlap int           // at once
	Tick             time.Duration // between passes of a schedule

	clocks *clocks // not in a child
}

const audience = "flash-sale"

func (s setup) open(ctx context.Context, log *slog.Logger) (*shop.Shop, error) {
	return s.openAt(ctx, nil, log)
}

// openAt opens functions whose hosts have that clock; nil is the right one.
func (s setup) openAt(ctx context.Context, now func() time.Time, log *slog.Logger) (*shop.Shop, error) {
	all, err := shop.Open(ctx, shop.Config{
		RedisURL: s.Redis, DatabaseURL: s.Database, KafkaBrokers: s.Brokers,
		OrdersTopic: s.Orders, DeadLetterTopic: s.Letters, Group: s.Group,
		JWKS: s.JWKS, JWKSURL: s.JWKSURL, Issuer: s.Issuer, Audience: audience, OrderIDSecret: s.Secret, Webhook: webhooks, Now: now, Log: log,
	})
	if err != nil {
		return nil, err
	}
	if s.clocks != nil {
		all.Orders.Now = s.clocks.ofRows
	}
	return all, nil
}

// A crew is what calls functions without a shopper: the Kafka mapping and the schedules.
type crew struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// work starts a crew.
func (s setup) work(ctx context.Context, functions map[string]lambda.Invoke, log *slog.Logger) *crew {
	ctx, cancel := context.WithCancel(ctx)
	c := &crew{cancel: cancel}
	for range s.Pollers {
		c.running.Go(func() { s.poll(ctx, functions["orderwriter"], log) })
	}
	for range s.Overlap {
		for _, name := range []string{"expirer", "stockkeeper"} {
			c.running.Go(func() { s.repeat(ctx, name, functions[name], log) })
		}
	}
	return c
}

func (c *crew) stop() {
	c.cancel()
	c.running.Wait()
}

func (s setup) poll(ctx context.Context, writer lambda.Invoke, log *slog.Logger) {
	mapping := poller.New(poller.Config{
		Brokers: s.Brokers, Topic: s.Orders, Group: s.Group, BatchSize: 100, ReportFailures: true, RetryAttempts: -1, MaxBackoff: time.Second, Log: log,
	}, func(ctx context.Context, event []byte) ([]byte, error) {
		return lambda.Call(ctx, writer, 20*time.Second, event)
	})
	if err := mapping.Run(ctx); err != nil && ctx.Err() == nil {
		log.ErrorContext(ctx, "poller", "error", err)
	}
}

func (s setup) repeat(ctx context.Context, name string, invoke lambda.Invoke, log *slog.Logger) {
	for sleep(ctx, s.Tick) == nil {
		if answer, err := lambda.Call(ctx, invoke, 20*time.Second, []byte(`{"passes":1}`)); err != nil {
			log.InfoContext(ctx, "pass failed", "function", name, "error", err)
		} else {
			log.DebugContext(ctx, "pass", "function", name, "answer", string(answer))
		}
	}
}

// administer asks saleadmin and makes a refusal an error.
func administer(ctx context.Context, all *shop.Shop, request map[string]any, into any) error {
	var text json.RawMessage
	if err := all.Call(ctx, "saleadmin", request, &text); err != nil {
		return err
	}
	var refusal struct{ Error, Message string }
	if err := json.Unmarshal(text, &refusal); err != nil {
		return err
	}
	if refusal.Error != "" {
		return fmt.Errorf("%v: %s: %s", request["action"], refusal.Error, refusal.Message)
	}
	return json.Unmarshal(text, into)
}
