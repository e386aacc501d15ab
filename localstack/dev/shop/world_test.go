package shop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"flashsale/localstack/dev/login"
	"flashsale/localstack/dev/shop"
	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/config"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
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
	url := servers.Database(t, migrations.Hash(), shoptest.Migrate)
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
	shoptest.OwnCatalog(t, w.Redis)

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
		for _, part := range []string{"meta", "holds", "stock", "unconfirmed", "released", "winners"} {
			w.Redis.Del(context.WithoutCancel(t.Context()), fmt.Sprintf("{sale:%d:0}:%s", w.sale.ID, part))
		}
	})
	return w
}
