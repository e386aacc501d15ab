package shop

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"flashsale/localstack/dev/lambda"
	"flashsale/localstack/poller"
)

const (
	passTime   = time.Minute // for a pass of a schedule, and for an operator's action
	writerTime = time.Minute // the order writer's timeout, as deployed
)

// Work starts what calls functions without a shopper: the Kafka mapping, and the
// schedules with a pass every tick. failed tells that the mapping ended by itself.
// stop ends all and waits.
func (s *Shop) Work(ctx context.Context, tick time.Duration) (failed <-chan error, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	failure := make(chan error, 1)
	running.Go(func() {
		mapping := poller.New(poller.Config{
			Brokers: s.cfg.KafkaBrokers, Topic: s.cfg.OrdersTopic, Group: s.cfg.Group,
			ReportFailures: true, RetryAttempts: -1, Log: s.cfg.Log,
		}, func(ctx context.Context, event []byte) ([]byte, error) {
			return lambda.Call(ctx, s.functions["orderwriter"], writerTime, event)
		})
		if err := mapping.Run(ctx); err != nil && ctx.Err() == nil {
			failure <- err
		}
	})
	for _, name := range []string{"expirer", "stockkeeper"} {
		running.Go(func() { repeat(ctx, name, s.functions[name], tick, s.cfg.Log) })
	}
	return failure, func() { cancel(); running.Wait() }
}

// repeat is a schedule: one pass per tick, never two at once.
func repeat(ctx context.Context, name string, invoke lambda.Invoke, tick time.Duration, log *slog.Logger) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if _, err := lambda.Call(ctx, invoke, passTime, []byte(`{"passes":1}`)); err != nil {
			log.Error("schedule: function failed", "function", name, "error", err)
		}
	}
}

// Administer asks saleadmin and reads its answer; into may be nil. A refusal is an error.
func (s *Shop) Administer(ctx context.Context, request map[string]any, into any) error {
	event, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("sale: %w", err)
	}
	text, err := lambda.Call(ctx, s.functions["saleadmin"], passTime, event)
	if err != nil {
		return fmt.Errorf("sale: %s: %w", request["action"], err)
	}
	var answer struct{ Error, Message string }
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("sale: %s: %w", request["action"], err)
	}
	if answer.Error != "" {
		return fmt.Errorf("sale: %s: %s: %s", request["action"], answer.Error, answer.Message)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// Start creates and loads the sale of a file as an operator does. It returns the sale's id.
func (s *Shop) Start(ctx context.Context, file []byte) (int64, error) {
	var created struct{ SaleID int64 }
	if err := s.Administer(ctx, map[string]any{"action": "create", "sale": json.RawMessage(file)}, &created); err != nil {
		return 0, err
	}
	return created.SaleID, s.Administer(ctx, map[string]any{"action": "load", "saleId": created.SaleID}, nil)
}
