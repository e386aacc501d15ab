package pay_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"flashsale/localstack/dev/pay"
	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/config"
	"flashsale/shared/shoptest"
)

func TestCheckout(t *testing.T) {
	t.Parallel()
	pool := shoptest.Pool(t, servers.Database(t, migrations.Hash(), shoptest.Migrate))
	const order = "01941f29-7c00-8abc-8000-0001c0000001"
	cfg := config.Webhook{
		Secrets: []config.Secret{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, Signature: config.StandardWebhooks, Tolerance: time.Minute,
	}
	var got []sent
	p, err := pay.New(cfg, api(t, cfg, &got), pool, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	// Whatever the page or a form says, the way back stays on this server.
	for from, back := range map[string]string{
		"http://localhost:3000/?sale=7": "/?sale=7", "": "/", "http://evil.example/x": "/x", "//evil.example//x": "/", "javascript:x": "/",
	} {
		r := httptest.NewRequest(http.MethodGet, "/dev/checkout/"+order, nil)
		r.Header.Set("Referer", from)
		w := httptest.NewRecorder()
		if p.Checkout(w, r); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `name="back" value="`+back+`"`) {
			t.Errorf("from %q: got %d %s, want the way back to %s", from, w.Code, w.Body, back)
		}
		for _, kind := range []string{"", "payment.failed"} {
			r := httptest.NewRequest(http.MethodPost, "/dev/checkout/"+order, strings.NewReader(url.Values{"back": {from}, "type": {kind}}.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			if p.Checkout(w, r); w.Code != http.StatusSeeOther || w.Header().Get("Location") != back {
				t.Errorf("paid, from %q: got %d to %q, want %s", from, w.Code, w.Header().Get("Location"), back)
			}
			want := "payment.succeeded"
			if kind != "" {
				want = kind
			}
			if last := got[len(got)-1].body; last.Type != want || last.Data.OrderID != order {
				t.Errorf("webhook: got %+v, want %s", last, want)
			}
		}
	}
	w := httptest.NewRecorder()
	if p.Checkout(w, httptest.NewRequest(http.MethodDelete, "/dev/checkout/"+order, nil)); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("DELETE: got %d, want 405", w.Code)
	}
}
