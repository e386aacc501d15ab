package shop_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/dev/login"
	"flashsale/localstack/dev/shop"
	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/config"
	"flashsale/shared/sale"
	"flashsale/shared/webhook"
)

const orderIDSecret = "a secret of the test"

var webhooks = config.Webhook{
	Secrets: []config.Secret{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, Signature: config.StandardWebhooks, Tolerance: 5 * time.Minute,
}

// A world is all functions on real servers, with one sale that is open.
type world struct {
	*shop.Shop
	t      *testing.T
	sale   sale.Sale
	mint   *sale.Mint
	scheme *webhook.Scheme
	users  http.Handler

	orders, letters string // topics
}

func open(t *testing.T, quantity int, change ...func(*shop.Config)) *world {
	t.Helper()
	provider, err := login.New("https://id.test", "test", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := provider.JWKS()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, users: provider.Handler()}
	if w.mint, err = sale.NewMint([]byte(orderIDSecret), time.Now); err != nil {
		t.Fatal(err)
	}
	if w.scheme, err = webhook.New(webhooks); err != nil {
		t.Fatal(err)
	}
	url := servers.Database(t, migrations.Hash(), func(ctx context.Context, url string) error {
		_, err := migrations.Up(ctx, url)
		return err
	})
	w.orders, w.letters = servers.Topic(t, "settle", 1), servers.Topic(t, "settle-dlq", 1)
	cfg := shop.Config{
		RedisURL: servers.RedisURL(t), DatabaseURL: url, KafkaBrokers: servers.KafkaBrokers(t),
		OrdersTopic: w.orders, DeadLetterTopic: w.letters, Group: "settle",
		JWKS: string(keys), Issuer: "https://id.test", Audience: "test", OrderIDSecret: orderIDSecret,
		Webhook: webhooks, Log: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&cfg)
	}
	w.Shop, err = shop.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	own := ownCatalog("catalog:settle:" + rand.Text())
	w.Redis.AddHook(own)
	t.Cleanup(func() { w.Redis.Del(context.WithoutCancel(t.Context()), string(own)) })

	text := fmt.Sprintf(`{"id":%d,"name":"settle","opensAt":%q,"closesAt":"+1h","items":[
		{"id":%d,"productId":1,"name":"it","quantity":%d,"price":"19.99","currency":"EUR"}]}`,
		servers.SaleID(), time.Now().Add(-time.Minute).UTC().Format(time.RFC3339), servers.ItemID(), quantity)
	if w.sale, err = sale.ParseFile([]byte(text), time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, request := range []map[string]any{
		{"action": "create", "sale": json.RawMessage(text)}, {"action": "load", "saleId": w.sale.ID},
	} {
		var answer map[string]any
		if err := w.Call(t.Context(), "saleadmin", request, &answer); err != nil || answer["error"] != nil {
			t.Fatalf("%s: %v, %v", request["action"], answer, err)
		}
	}
	t.Cleanup(func() {
		for _, part := range []string{"meta", "holds", "stock", "unconfirmed", "released"} {
			w.Redis.Del(context.WithoutCancel(t.Context()), fmt.Sprintf("{sale:%d:0}:%s", w.sale.ID, part))
		}
	})
	return w
}

// ownCatalog is a world's name of the key "catalog", which is one for all of a Redis.
type ownCatalog string

// DialHook changes nothing.
func (ownCatalog) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook changes nothing: the catalog is read and written alone.
func (ownCatalog) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook renames the key.
func (o ownCatalog) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) > 1 && args[1] == "catalog" {
			args[1] = string(o)
		}
		return next(ctx, cmd)
	}
}
