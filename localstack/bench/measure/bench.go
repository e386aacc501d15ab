package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	mrand "math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"flashsale/localstack/deploy/stage"
	"flashsale/localstack/dev/login"
	"flashsale/localstack/dev/shop"
	"flashsale/migrations"
)

const (
	audience = "flash-sale"
	secret   = "development-only-order-ids"
)

// own is the bench's part of the servers that the environment names.
var own = stage.Stack{Name: "bench", RedisDatabase: 11}

// A bench has what all measures share.
type bench struct {
	Sizes
	Tools
	parts    stage.Secret
	provider *login.Provider
	jwks     string
	tokens   []string // shopper-0 and so on
	release  func()
}

func open(ctx context.Context, sizes Sizes, tools Tools) (*bench, error) {
	b := &bench{Sizes: sizes, Tools: tools}
	var err error
	if b.release, err = own.Hold(ctx); err != nil {
		return nil, err
	}
	if err := b.furnish(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) close() { b.release() }

func (b *bench) furnish(ctx context.Context) (err error) {
	if b.parts, err = stage.Empty(ctx, own); err != nil {
		return err
	}
	if err := durable(ctx, b.parts.DatabaseURL); err != nil {
		return err
	}
	if _, err := migrations.Up(ctx, b.parts.DatabaseURL); err != nil {
		return err
	}
	if b.provider, err = login.New("https://bench.test", audience, time.Now); err != nil {
		return err
	}
	keys, err := b.provider.JWKS()
	b.jwks = string(keys)
	return err
}

// durable makes commits wait for their log to be written, as in production. The
// servers' disk itself is not waited for.
func durable(ctx context.Context, database string) error {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, "ALTER DATABASE "+pgx.Identifier{conn.Config().Database}.Sanitize()+" SET synchronous_commit = on")
	return err
}

// share is how long a measure may go on to begin rounds: a busy machine gets fewer.
const share = time.Minute

// rounds are at most n, and one at the least.
func rounds(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		began := time.Now()
		for i := range n {
			if i > 0 && time.Since(began) > share || !yield(i) {
				return
			}
		}
	}
}

// sign makes tokens, unless there are as many already.
func (b *bench) sign(n int) ([]string, error) {
	if len(b.tokens) >= n {
		return b.tokens[:n], nil
	}
	tokens := make([]string, n)
	var next, failed atomic.Int64
	var signing sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		signing.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				token, err := b.provider.Token(fmt.Sprintf("shopper-%d", i))
				if err != nil {
					failed.Add(1)
				}
				tokens[i] = token
			}
		})
	}
	signing.Wait()
	if failed.Load() > 0 {
		return nil, errors.New("tokens could not be signed")
	}
	// One text for all: else the collector looks at each of half a million while the sale runs.
	all := strings.Join(tokens, "")
	for i, token := range tokens {
		tokens[i], all = all[:len(token)], all[len(token):]
	}
	b.tokens = tokens
	return tokens, nil
}

// openShop puts all functions into this process, without anything of an earlier shop:
// no latch, no catalog, no verified token.
func (b *bench) openShop(ctx context.Context) (*shop.Shop, error) {
	return shop.Open(ctx, shop.Config{
		RedisURL: b.parts.RedisURL, DatabaseURL: b.parts.DatabaseURL, KafkaBrokers: stage.Brokers(),
		OrdersTopic: own.Name + "-orders", DeadLetterTopic: own.Name + "-orders-dlq", EventsTopic: own.Name + "-order-events",
		Group: own.Name + "-orderwriter", JWKS: b.jwks, Issuer: b.provider.Issuer(), Audience: audience, OrderIDSecret: secret,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
}

// A lot is one item of a sale of its own.
type lot struct{ sale, item int64 }

// sell creates and loads a sale.
func sell(ctx context.Context, s *shop.Shop, units int, opens time.Time) (lot, error) {
	l := lot{mrand.Int64N(1<<32-1) + 1, mrand.Int64N(1<<52) + 1}
	text := fmt.Sprintf(`{"id":%d,"name":"Bench","opensAt":%q,"closesAt":"+2h","items":[
		{"id":%d,"productId":1,"name":"it","quantity":%d,"price":"19.99","currency":"EUR"}]}`,
		l.sale, opens.UTC().Format(time.RFC3339Nano), l.item, units)
	_, err := s.Start(ctx, []byte(text))
	return l, err
}

// retire ends a lot, so that its orders and events are no work for a later measure.
func (l lot) retire(ctx context.Context, s *shop.Shop) error {
	if err := s.Administer(ctx, map[string]any{"action": "close", "saleId": l.sale}, nil); err != nil {
		return err
	}
	for _, statement := range []string{
		`UPDATE flash_sale_order SET status = 'CANCELLED', settled_at = now() WHERE sale_id = $1 AND status = 'PENDING'`,
		`DELETE FROM order_placed p USING flash_sale_order o WHERE o.id = p.order_ids[1] AND o.sale_id = $1`,
	} {
		if _, err := s.Pool.Exec(ctx, statement, l.sale); err != nil {
			return err
		}
	}
	return nil
}

// count of a lot's rows.
func (l lot) count(ctx context.Context, s *shop.Shop) (n int, err error) {
	err = s.Pool.QueryRow(ctx, `SELECT count(*) FROM flash_sale_order WHERE sale_id = $1 AND status <> 'REJECTED'`, l.sale).Scan(&n)
	return n, err
}

// status is the beginning of a proxy integration's answer.
func status(answer []byte) int {
	var a struct{ StatusCode int }
	_ = json.Unmarshal(answer, &a) // 0 is a status that nobody wants
	return a.StatusCode
}
