// Package pay is a payment provider for development: it pays any order and sends
// the webhook about it, signed as a real one.
//
// It promises that the system learns of a payment by the webhook alone, sent
// over HTTP to the API. Only to make an order expire early it reaches into the
// database, since nobody wants to wait for that.
package pay

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"flashsale/localstack/dev/lambda"
	"flashsale/shared/config"
	"flashsale/shared/order"
	"flashsale/shared/sale"
	"flashsale/shared/webhook"
)

const (
	webhookPath = "/api/flash-sales/payments"
	patience    = 30 * time.Second // for the webhook's answer, and for the expirer
)

// A Provider answers POST /dev/pay/{orderId}.
type Provider struct {
	scheme  *webhook.Scheme
	address string
	pool    *pgxpool.Pool
	expirer lambda.Invoke
	now     func() time.Time
}

// New makes a provider that sends its webhooks to the API at address.
func New(cfg config.Webhook, address string, pool *pgxpool.Pool, expirer lambda.Invoke, now func() time.Time) (*Provider, error) {
	scheme, err := webhook.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("pay: %w", err)
	}
	return &Provider{scheme, address, pool, expirer, now}, nil
}

// An answer is what the webhook was answered.
type answer struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// ServeHTTP pays the order: its price, or ?amount=19.99. With ?type=payment.failed
// the payment fails, with ?late=1 the order is expired before, with ?twice=1 the
// same webhook is sent twice. The answer is the last webhook's.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	id, ok := strings.CutPrefix(r.URL.Path, "/dev/pay/")
	if !ok || r.Method != http.MethodPost || id == "" || strings.Contains(id, "/") {
		refuse(w, http.StatusNotFound, "NOT_FOUND", errors.New("want POST /dev/pay/{orderId}"))
		return
	}
	got, err := p.pay(r.Context(), id, r)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "INTERNAL", err)
		return
	}
	_ = json.NewEncoder(w).Encode(got) // the caller may be gone
}

func (p *Provider) pay(ctx context.Context, id string, r *http.Request) (answer, error) {
	amount, currency, err := p.price(ctx, id)
	if err != nil {
		return answer{}, err
	}
	query := r.URL.Query()
	if query.Get("late") == "1" {
		if err := p.expire(ctx, id); err != nil {
			return answer{}, err
		}
	}
	if query.Has("amount") {
		amount = query.Get("amount")
	}
	kind := order.PaymentSucceeded
	if query.Has("type") {
		kind = query.Get("type")
	}
	webhookID, now := "msg_"+rand.Text(), p.now()
	body, err := json.Marshal(map[string]any{
		"id":   webhookID, // where Stripe has it; the standard's is in a header
		"type": kind, "timestamp": now.UTC().Format(time.RFC3339Nano),
		"data": map[string]string{"paymentId": "pay_" + rand.Text(), "orderId": id, "amount": amount, "currency": currency},
	})
	if err != nil {
		return answer{}, fmt.Errorf("pay: %w", err)
	}
	got, err := p.send(ctx, webhookID, body)
	if err == nil && query.Get("twice") == "1" {
		got, err = p.send(ctx, webhookID, body)
	}
	return got, err
}

// price is the order's. One that has no row is paid all the same: the webhook
// must cope with it.
func (p *Provider) price(ctx context.Context, text string) (amount, currency string, err error) {
	id, err := sale.ParseOrderID(text)
	if err != nil {
		return "1.00", "EUR", nil
	}
	var minor int64
	err = p.pool.QueryRow(ctx, `SELECT price_minor, currency FROM flash_sale_order WHERE id = $1`, id.String()).Scan(&minor, &currency)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "1.00", "EUR", nil
	case err != nil:
		return "", "", fmt.Errorf("pay: price: %w", err)
	}
	return sale.FormatPrice(minor, currency), currency, nil
}

// expire lets the order's time be over and the expirer find it.
func (p *Provider) expire(ctx context.Context, text string) error {
	id, err := sale.ParseOrderID(text)
	if err != nil {
		return nil //nolint:nilerr // the webhook will refuse it
	}
	_, err = p.pool.Exec(ctx, `
		UPDATE flash_sale_order o SET expires_at = LEAST(expires_at, now() - s.grace - interval '1 second')
		FROM flash_sale s WHERE s.id = o.sale_id AND o.id = $1 AND o.status = 'PENDING'`, id.String())
	if err == nil {
		_, err = lambda.Call(ctx, p.expirer, patience, []byte(`{"passes":1}`))
	}
	if err != nil {
		return fmt.Errorf("pay: expire: %w", err)
	}
	return nil
}

func (p *Provider) send(ctx context.Context, id string, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.address+webhookPath, bytes.NewReader(body))
	if err != nil {
		return answer{}, fmt.Errorf("pay: webhook: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range p.scheme.Sign(id, p.now(), body) {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("pay: webhook: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("pay: webhook: %w", err)
	}
	return answer{response.StatusCode, string(text)}, nil
}

func refuse(w http.ResponseWriter, status int, code string, err error) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "message": err.Error()})
}
