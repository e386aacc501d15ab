package pay_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"flashsale/localstack/dev/pay"
	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/config"
	"flashsale/shared/shoptest"
	"flashsale/shared/webhook"
)

// sent is one webhook as the API gets it.
type sent struct {
	id   string
	body struct {
		ID, Type, Timestamp string
		Data                struct{ PaymentID, OrderID, Amount, Currency string }
	}
}

// An API that takes every webhook which is signed as it should be.
func api(t *testing.T, cfg config.Webhook, got *[]sent) string {
	t.Helper()
	scheme, err := webhook.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		id, _, err := scheme.Verify(r.Header.Values, text, time.Now())
		s := sent{id: id}
		if err != nil || json.Unmarshal(text, &s.body) != nil || r.URL.Path != "/api/flash-sales/payments" {
			t.Errorf("webhook %s: %v: %s", r.URL.Path, err, text)
		}
		*got = append(*got, s)
		w.WriteHeader(200 + len(*got)) // tells the first from the second
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	pool := shoptest.Pool(t, servers.Database(t, migrations.Hash(), shoptest.Migrate))
	const order = "01941f29-7c00-8abc-8000-0001c0000001"
	for _, signature := range []string{config.StandardWebhooks, config.StripeWebhooks} {
		t.Run(signature, func(t *testing.T) {
			t.Parallel()
			cfg := config.Webhook{
				Secrets: []config.Secret{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, Signature: signature, Tolerance: time.Minute,
			}
			var got []sent
			p, err := pay.New(cfg, api(t, cfg, &got), pool, nil, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			call := func(target string, want string) {
				t.Helper()
				w := httptest.NewRecorder()
				p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/dev/pay/"+target, nil))
				if w.Code != http.StatusOK || w.Body.String() != want+"\n" {
					t.Errorf("pay %s: got %d %s, want %s", target, w.Code, w.Body, want)
				}
			}
			call(order+"?twice=1&amount=19.99", `{"status":202,"body":""}`)
			call(order+"?type=payment.failed", `{"status":203,"body":""}`)
			if len(got) != 3 {
				t.Fatalf("webhooks: got %+v, want 3", got)
			}
			first, second, failed := got[0], got[1], got[2]
			if first != second || first.id == "" || first.id != first.body.ID || first.id == failed.id {
				t.Errorf("twice: got %+v and %+v, want the same event; then another: %+v", first, second, failed)
			}
			data := first.body.Data
			if first.body.Type != "payment.succeeded" || data.OrderID != order || data.Amount != "19.99" || data.PaymentID == "" {
				t.Errorf("event: got %+v", first.body)
			}
			if _, err := time.Parse(time.RFC3339, first.body.Timestamp); err != nil || failed.body.Type != "payment.failed" {
				t.Errorf("events: got %+v, %+v, %v", first.body, failed.body, err)
			}
		})
	}
	t.Run("other addresses", func(t *testing.T) {
		t.Parallel()
		p, err := pay.New(config.Webhook{}, "", pool, nil, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{"/dev/pay/", "/dev/pay/a/b", "/dev/payments"} {
			w := httptest.NewRecorder()
			if p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, target, nil)); w.Code != http.StatusNotFound {
				t.Errorf("%s: got %d, want 404", target, w.Code)
			}
		}
	})
}
