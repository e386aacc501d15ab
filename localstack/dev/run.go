package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/dev/lambda"
	"flashsale/localstack/dev/login"
	"flashsale/localstack/dev/pay"
	"flashsale/localstack/dev/shop"
)

const (
	audience = "flash-sale"
	// orderIDSecret is no secret here; it is fixed so that young orders on real
	// servers are still their shoppers' after a restart.
	orderIDSecret = "development-only-order-ids"

	setupTime = time.Minute      // for the migration
	farewell  = 10 * time.Second // for requests under way at the end
)

// run is the server's life: everything is checked and started in order, and stopped
// in the reverse one.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	s, err := readSettings(args)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", s.port)) //nolint:noctx // local and instant
	if err != nil {
		return fmt.Errorf("port %d: %w", s.port, err)
	}
	s.port = listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // a TCP listener
	redis.SetLogger(redisLog{s.log})
	site := new(site)
	server := &http.Server{
		Handler: site, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	go func() { _ = server.Serve(listener) }() // ends with Close, and cannot fail before
	defer func() { _ = server.Close() }()

	b, err := openBackends(ctx, s, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	provider, err := login.New(fmt.Sprintf("http://localhost:%d/dev", s.port), audience, time.Now)
	if err != nil {
		return err
	}
	all, err := openShop(ctx, s, b, provider)
	if err != nil {
		return err
	}
	defer all.Close()
	failed, stop := all.Work(ctx, s.tick)
	defer stop()
	saleID, err := all.Start(ctx, s.saleFile)
	if err != nil {
		return err
	}
	payments, err := pay.New(s.webhook, fmt.Sprintf("http://127.0.0.1:%d", s.port), all.Pool, all.Functions()["expirer"], time.Now)
	if err != nil {
		return err
	}
	site.open(newHandler(saleID, s.saleFile, all.Functions(), all.Purchases, provider, payments, s.log))
	_, _ = fmt.Fprintf(out, "ready http://localhost:%d/\n", s.port)

	select {
	case <-ctx.Done():
	case err = <-failed:
	case <-b.ended:
		err = errors.New("the embedded PostgreSQL ended by itself")
	}
	goodbye, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	_ = server.Shutdown(goodbye) // what is still under way then is cut off
	return err
}

// redisLog takes what the Redis client would print: the errors it reports are
// returned as well.
type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, fmt.Sprintf(format, v...))
}

func openShop(ctx context.Context, s settings, b *backends, provider *login.Provider) (*shop.Shop, error) {
	keys, err := provider.JWKS()
	if err != nil {
		return nil, err
	}
	all, err := shop.Open(ctx, shop.Config{
		RedisURL: b.redisURL, EmbeddedRedis: s.redisURL == "", DatabaseURL: b.databaseURL,
		KafkaBrokers: b.brokers, OrdersTopic: s.ordersTopic, DeadLetterTopic: s.deadLetterTopic, EventsTopic: s.eventsTopic, Group: s.group,
		JWKS: string(keys), Issuer: provider.Issuer(), Audience: audience,
		OrderIDSecret: orderIDSecret, Webhook: s.webhook, Admission: s.admission, Limits: s.limits, Origins: s.origins, Log: s.log,
	})
	if err != nil {
		return nil, err
	}
	if _, err := lambda.Call(ctx, all.Functions()["migrate"], setupTime, []byte("{}")); err != nil {
		all.Close()
		return nil, fmt.Errorf("migrate: %w", err)
	}
	return all, nil
}
