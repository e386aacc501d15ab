package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"flashsale/localstack/deploy/remote"
	"flashsale/localstack/deploy/stage"
	"flashsale/localstack/dev/login"
	"flashsale/localstack/dev/pay"
	"flashsale/localstack/poller"
	"flashsale/localstack/sales"
	"flashsale/shared/config"
)

// audience is what the tokens are made for; localstack.sh tells the template the same.
const audience = "flash-sale"

// serve prepares the sale and then serves until it is told to stop. It says "ready" when a
// shopper can buy.
func serve(ctx context.Context, s settings) error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", s.port)) //nolint:noctx // local and instant
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	functions := remote.Lambda{Endpoint: s.endpoint, Stack: s.stack}
	providers, closeProviders, err := openProviders(ctx, s, functions)
	if err != nil {
		return err
	}
	defer closeProviders()
	server := &http.Server{Handler: providers, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with Close, and cannot fail before
	defer func() { _ = server.Close() }()

	saleID, err := startSale(ctx, functions)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	mapping := newMapping(s.own.Name, functions)
	done := make(chan struct{})
	go func() {
		defer close(done)
		cancel(mapping.Run(ctx))
	}()
	fmt.Printf("sale %d\nready\n", saleID)
	<-ctx.Done()
	<-done
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return fmt.Errorf("serve: kafka mapping: %w", cause)
	}
	return nil
}

// newMapping has the controls of OrdersMapping in the template.
func newMapping(prefix string, functions remote.Lambda) *poller.Poller {
	return poller.New(poller.Config{
		Brokers: stage.Brokers(), Topic: prefix + "-orders", Group: prefix + "-orderwriter",
		BatchSize: 500, ReportFailures: true, RetryAttempts: -1,
		Log: slog.Default(),
	}, func(ctx context.Context, event []byte) ([]byte, error) {
		// A batch under way is finished: its answer decides what is committed.
		return functions.Invoke(context.WithoutCancel(ctx), "orderwriter", event)
	})
}

// startSale does what follows each deployment, and then what an operator does before a sale.
func startSale(ctx context.Context, functions remote.Lambda) (int64, error) {
	if _, err := functions.Invoke(ctx, "migrate", []byte("{}")); err != nil {
		return 0, err
	}
	file, err := sales.FreshDemo()
	if err != nil {
		return 0, err
	}
	id, err := functions.Administer(ctx, map[string]any{"action": "create", "sale": json.RawMessage(file)})
	if err != nil {
		return 0, err
	}
	return functions.Administer(ctx, map[string]any{"action": "load", "saleId": id})
}

// openProviders makes the development identity and payment providers, at the addresses that
// the development server gives them too.
func openProviders(ctx context.Context, s settings, functions remote.Lambda) (http.Handler, func(), error) {
	text, err := os.ReadFile(s.secretFile())
	if err != nil {
		return nil, nil, fmt.Errorf("serve: %w", err)
	}
	var known stage.Secret
	if err := json.Unmarshal(text, &known); err != nil {
		return nil, nil, fmt.Errorf("serve: secret: %w", err)
	}
	identity, err := login.New(fmt.Sprintf("http://127.0.0.1:%d/dev", s.port), audience, time.Now)
	if err != nil {
		return nil, nil, err
	}
	pool, err := pgxpool.New(ctx, known.DatabaseURL)
	if err != nil {
		return nil, nil, fmt.Errorf("serve: postgresql: %w", err)
	}
	payments, err := pay.New(config.Webhook{
		Secrets: []config.Secret{config.Secret(known.PaymentSecrets)}, Signature: config.StandardWebhooks, Tolerance: 5 * time.Minute,
	}, s.api, pool, func(ctx context.Context, event []byte) ([]byte, error) {
		return functions.Invoke(ctx, "expirer", event)
	}, time.Now)
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	logins := identity.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/dev/pay/") {
			payments.ServeHTTP(w, r)
			return
		}
		logins.ServeHTTP(w, r)
	}), pool.Close, nil
}
