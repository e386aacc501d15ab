package stage

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"flashsale/localstack/dev/gateway"
	"flashsale/localstack/dev/login"
	"flashsale/localstack/dev/shop"
	"flashsale/localstack/stampede/target"
	"flashsale/migrations"
	"flashsale/shared/config"
	"flashsale/shared/webhook"
)

// Open puts the functions into this process.
func Open(ctx context.Context, on Servers, log *slog.Logger) (*Stage, error) {
	s := &Stage{way: "in-process"}
	if err := s.openShop(ctx, on, log); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stage) openShop(ctx context.Context, on Servers, log *slog.Logger) error {
	cfg, err := s.openBackends(ctx, on, log)
	if err != nil {
		return err
	}
	if _, err := migrations.Up(ctx, cfg.DatabaseURL); err != nil {
		return fmt.Errorf("stage: migrate: %w", err)
	}
	provider, err := login.New("https://stampede.test", audience, time.Now)
	if err != nil {
		return err
	}
	keys, err := provider.JWKS()
	if err != nil {
		return err
	}
	cfg.JWKS, cfg.Issuer, cfg.OrderIDSecret = string(keys), provider.Issuer(), rand.Text()
	cfg.Admission.PassKeys, cfg.Admission.Lottery = []config.Secret{config.Secret("stampede:" + rand.Text())}, config.Secret(rand.Text())
	if s.Shop, err = shop.Open(ctx, cfg); err != nil {
		return err
	}
	s.later(s.Shop.Close)
	if s.target, err = target.NewDirect(s.Shop.Functions()); err != nil {
		return err
	}
	scheme, err := webhook.New(cfg.Webhook)
	if err != nil {
		return err
	}
	api := gateway.New(shop.Routes, s.Shop.Functions(), log)
	s.pay = func(ctx context.Context, orderID string) bool { return pay(ctx, api, scheme, orderID) }
	s.login = func(ctx context.Context, n int, out io.Writer) ([]string, error) {
		return signMany(ctx, provider, n, out)
	}
	s.administer = s.Shop.Administer
	s.work = func() {
		_, stop := s.Shop.Work(ctx, tick)
		s.later(stop)
	}
	return nil
}

// pay is the payment provider: it signs the webhook and sends it through the gateway.
func pay(ctx context.Context, api http.Handler, scheme *webhook.Scheme, orderID string) bool {
	id, now := "msg_"+rand.Text(), time.Now()
	body, err := json.Marshal(map[string]any{
		"type": "payment.succeeded", "timestamp": now.UTC().Format(time.RFC3339Nano),
		"data": map[string]string{"paymentId": "pay_" + rand.Text(), "orderId": orderID, "amount": price, "currency": currency},
	})
	if err != nil {
		return false
	}
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/flash-sales/payments", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	for name, value := range scheme.Sign(id, now, body) {
		request.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, request)
	return w.Code == http.StatusNoContent
}
