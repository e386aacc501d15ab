package saleinfo_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"flashsale/localstack/servers"
	"flashsale/shared/admission"
	"flashsale/shared/config"
	"flashsale/shared/identity/identitytest"
	"flashsale/shared/sale"
)

var (
	provider = identitytest.New()
	settings = config.Admission{
		AdmissionKeys: config.AdmissionKeys{PassKeys: []config.Secret{"k1:the key of the tests"}}, Lottery: "the lottery of the tests",
	}
)

// admits makes the window give out passes.
func (w *window) admits(t *testing.T) {
	t.Helper()
	office, err := admission.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	w.h.Office, w.h.Shoppers = office, provider.Verifier(t)
}

// asks calls for a pass; an empty token sends none.
func (w *window) asks(t *testing.T, method, saleID, token string) answer {
	t.Helper()
	headers := map[string]string{}
	if token != "" {
		headers["authorization"] = "Bearer " + token
	}
	return w.invoke(t, map[string]any{
		"httpMethod": method, "path": "/api/flash-sales/" + saleID + "/admission", "resource": "/api/flash-sales/{saleId}/admission",
		"pathParameters": map[string]string{"saleId": saleID}, "headers": headers,
		"requestContext": map[string]any{"requestId": "r1"},
	})
}

type pass struct {
	Pass      string
	NotBefore time.Time
}

func (a answer) pass(t *testing.T) pass {
	t.Helper()
	var p pass
	if err := json.Unmarshal([]byte(a.Text), &p); err != nil || a.Status != 200 || p.Pass == "" || p.NotBefore.IsZero() {
		t.Fatalf("answer: got %d %s, want a pass", a.Status, a.Text)
	}
	if got := a.Headers["Cache-Control"]; got != "no-store" {
		t.Errorf("Cache-Control of a pass: got %q, want no-store", got)
	}
	return p
}

// TestAdmission gives out passes that the purchase function takes, before and during a
// sale, loaded or not.
func TestAdmission(t *testing.T) {
	t.Parallel()
	w := open(t, servers.RedisURL(t))
	w.admits(t)
	keys, err := admission.NewKeys(settings.AdmissionKeys)
	if err != nil {
		t.Fatal(err)
	}
	open, soon, plain := w.Sale(1), w.Sale(1), w.Sale(1)
	open.Spread, soon.Spread = time.Minute, 10*time.Minute
	soon.OpensAt = soon.OpensAt.Add(90 * time.Minute)
	w.List(t, open, soon, plain)
	for name, sl := range map[string]sale.Sale{"open": open, "before": soon} {
		id := fmt.Sprint(sl.ID)
		got := w.asks(t, "POST", id, provider.Token("u1")).pass(t)
		if wait := got.NotBefore.Sub(sl.OpensAt); wait < 0 || wait >= sl.Spread {
			t.Errorf("%s: got notBefore %s after the opening, want less than the spread", name, wait)
		}
		if err := keys.Judge(got.Pass, &sl, "u1", got.NotBefore); err != nil {
			t.Errorf("%s: the pass is not good: %v", name, err)
		}
		if again := w.asks(t, "POST", id, provider.Token("u1")).pass(t); again != got {
			t.Errorf("%s: asked again, got %+v, want %+v", name, again, got)
		}
		if other := w.asks(t, "POST", id, provider.Token("u2")).pass(t); other.Pass == got.Pass || keys.Judge(other.Pass, &sl, "u1", other.NotBefore) == nil {
			t.Errorf("%s: another shopper's pass is good for the first", name)
		}
	}
	if got := w.asks(t, "POST", fmt.Sprint(plain.ID), provider.Token("u1")).pass(t); !got.NotBefore.Equal(plain.OpensAt) {
		t.Errorf("without a spread: got notBefore %s, want the opening %s", got.NotBefore, plain.OpensAt)
	}
	for _, sl := range []sale.Sale{open, plain} {
		var v struct{ Admission bool }
		if a := w.show(t, fmt.Sprint(sl.ID)); json.Unmarshal([]byte(a.Text), &v) != nil || v.Admission != (sl.Spread > 0) {
			t.Errorf("a spread of %s: the view is %s", sl.Spread, a.Text)
		}
	}
}

func TestAdmissionRefusals(t *testing.T) {
	t.Parallel()
	w := open(t, servers.RedisURL(t))
	w.admits(t)
	sl, over := w.Sale(1), w.Sale(1)
	sl.Spread, over.Spread, over.ClosesAt = time.Minute, time.Minute, time.Now().UTC().Add(-time.Second)
	w.List(t, sl, over)
	id, good := fmt.Sprint(sl.ID), provider.Token("u1")
	w.asks(t, "POST", id, "").refused(t, 401, "UNAUTHENTICATED")
	w.asks(t, "POST", "1", "").refused(t, 401, "UNAUTHENTICATED")
	w.asks(t, "POST", "1", "not.a.token").refused(t, 404, "UNKNOWN_SALE")
	w.asks(t, "POST", "07", good).refused(t, 404, "UNKNOWN_SALE")
	w.asks(t, "POST", id, "not.a.token").refused(t, 401, "UNAUTHENTICATED")
	w.asks(t, "POST", fmt.Sprint(over.ID), "not.a.token").refused(t, 401, "UNAUTHENTICATED")
	w.asks(t, "POST", fmt.Sprint(over.ID), good).refused(t, 410, "SALE_CLOSED")
	w.asks(t, "GET", id, good).refused(t, 405, "METHOD_NOT_ALLOWED")
	w.h.Office = nil
	w.asks(t, "POST", id, good).refused(t, 503, "TRY_AGAIN")
}

// TestPurchaseURLAppearsAtTheOpening is about one environment that has the sale cached:
// the server's clock decides, to the millisecond, and no cache may keep the answer from
// before for longer than a second.
func TestPurchaseURLAppearsAtTheOpening(t *testing.T) {
	t.Parallel()
	w := open(t, servers.RedisURL(t))
	sl := w.Sale(1)
	sl.OpensAt = sl.OpensAt.Add(90 * time.Minute)
	w.Offer(t, sl, nil)
	w.List(t, sl)
	for _, c := range []struct {
		at  time.Duration
		url bool
	}{{-time.Hour, false}, {-time.Millisecond, false}, {0, true}, {time.Minute, true}, {-time.Millisecond, false}} {
		w.h.Now = func() time.Time { return sl.OpensAt.Add(c.at) }
		a := w.show(t, fmt.Sprint(sl.ID))
		var v struct {
			Items []struct{ PurchaseURL string }
		}
		if err := json.Unmarshal([]byte(a.Text), &v); err != nil || len(v.Items) != 1 || (v.Items[0].PurchaseURL != "") != c.url {
			t.Errorf("%s from the opening: got %s, want purchaseUrl %v", c.at, a.Text, c.url)
		}
		if got := a.Headers["Cache-Control"]; got != "public, max-age=1" {
			t.Errorf("Cache-Control: got %q", got)
		}
	}
}
