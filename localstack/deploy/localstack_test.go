package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"flashsale/localstack/deploy/remote"
	"flashsale/localstack/deploy/stage"
	"flashsale/localstack/servers"
)

// patience ends a wait for what never comes. The schedules fire once a minute.
const patience = 3 * time.Minute

// A stack is the deployed system, as localstack.sh leaves it.
type stack struct {
	api       string
	providers string
	logs      string // a folder
	functions remote.Lambda
}

// deploy runs localstack.sh under a name of its own, beside a stack that a developer may have.
// Another run of this test waits for this one.
func deploy(t *testing.T) stack {
	t.Helper()
	servers.RedisURL(t) // left out without servers, as every test of this kind
	servers.KafkaBrokers(t)
	waiting, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	release, err := stage.Stack{Name: "test"}.Hold(waiting)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	command := func(ctx context.Context, action string) ([]byte, error) {
		var out, errs bytes.Buffer
		c := exec.CommandContext(ctx, "./localstack.sh", action, "test")
		c.Stdout, c.Stderr = &out, &errs
		if err := c.Run(); err != nil {
			return nil, fmt.Errorf("localstack.sh %s: %w: %s", action, err, errs.Bytes())
		}
		return out.Bytes(), nil
	}
	t.Cleanup(func() {
		if _, err := command(context.WithoutCancel(t.Context()), "down"); err != nil {
			t.Error(err)
		}
	})
	began := time.Now()
	out, err := command(t.Context(), "up")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("deployed in %s", time.Since(began).Round(time.Second))
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	s := stack{api: lines[len(lines)-1]}
	if !regexp.MustCompile(`^http://[^ ]*/_aws/execute-api/[a-z0-9]+/local$`).MatchString(s.api) {
		t.Fatalf("the last line is %q, want the API's address", s.api)
	}
	s.providers = find(t, out, `(http://\S+)/dev/`)
	s.logs = find(t, out, `logs: (\S+)`)
	s.functions = remote.Lambda{Endpoint: find(t, out, `(http://\S+)/2015-03-31/`), Stack: "flash-sale-test"}
	return s
}

func find(t *testing.T, text []byte, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s is not in %s", pattern, text)
	}
	return string(found[1])
}

// sell creates and loads a sale that is open already. It returns the sale's and its one item's id.
func (s stack) sell(t *testing.T, quantity int, window string) (saleID uint32, itemID int64) {
	t.Helper()
	saleID, itemID = servers.SaleID(), servers.ItemID()
	_, err := s.functions.Administer(t.Context(), map[string]any{"action": "create", "sale": map[string]any{
		"id": saleID, "name": "test", "opensAt": time.Now().Add(-time.Minute).UTC().Format(time.RFC3339), "closesAt": "+1h",
		"paymentWindow": window, "grace": "0s", "shards": 1, "spread": "0s",
		"items": []any{map[string]any{
			"id": itemID, "productId": 55, "name": "thing", "quantity": quantity, "price": "19.99", "currency": "EUR",
		}},
	}})
	if err == nil {
		_, err = s.functions.Administer(t.Context(), map[string]any{"action": "load", "saleId": saleID})
	}
	if err != nil {
		t.Fatal(err)
	}
	return saleID, itemID
}

// An answer is what a caller sees.
type answer struct {
	status int
	header http.Header
	text   string
	body   struct {
		OrderID, Status, Error, Token string
		Payable                       bool
	}
}

// call sends a request; token may be "".
func call(t *testing.T, method, url, token, body string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: response.StatusCode, header: response.Header, text: string(text)}
	_ = json.Unmarshal(text, &a.body) // not every answer has a body
	return a
}

func (s stack) login(t *testing.T, user string) string {
	t.Helper()
	a := call(t, http.MethodPost, s.providers+"/dev/login", "", `{"user":"`+user+`"}`)
	if a.body.Token == "" {
		t.Fatalf("login: got %d %s", a.status, a.text)
	}
	return a.body.Token
}

// buy purchases and waits for the row, and returns the order's id.
func (s stack) buy(t *testing.T, itemID int64, token string) string {
	t.Helper()
	var a answer
	// An environment that has just looked for another unknown item looks again a second later.
	eventually(t, "the item is known", func() bool {
		a = call(t, http.MethodPost, fmt.Sprintf("%s/api/flash-sales/items/%d/purchase", s.api, itemID), token, "")
		return a.body.Error != "UNKNOWN_ITEM"
	})
	if a.status != http.StatusAccepted || a.body.OrderID == "" {
		t.Fatalf("purchase: got %d %s, want 202 with an order id", a.status, a.text)
	}
	if got, want := a.header.Get("Location"), "/api/flash-sales/orders/"+a.body.OrderID; got != want {
		t.Errorf("Location: got %q, want %q", got, want)
	}
	return a.body.OrderID
}

func (s stack) order(t *testing.T, id, token string) answer {
	t.Helper()
	return call(t, http.MethodGet, s.api+"/api/flash-sales/orders/"+id, token, "")
}

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ask(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

func TestDeployed(t *testing.T) {
	t.Parallel()
	s := deploy(t)
	t.Run("preflight", func(t *testing.T) { t.Parallel(); testPreflight(t, s) })
	t.Run("buys, polls, finds and pays", func(t *testing.T) { t.Parallel(); testPay(t, s) })
	t.Run("cancels, and the unit is on sale again", func(t *testing.T) { t.Parallel(); testCancel(t, s) })
	t.Run("expires by the schedule", func(t *testing.T) { t.Parallel(); testExpiry(t, s) })
	t.Run("the gateway's own answers", func(t *testing.T) { t.Parallel(); testGateway(t, s) })
	t.Run("the forms of the gateway's errors", func(t *testing.T) { t.Parallel(); testGatewayResponses(t, s) })
	t.Run("a killed function starts again", func(t *testing.T) { t.Parallel(); testKilled(t, s) })
	t.Run("keeps its files to itself", func(t *testing.T) { t.Parallel(); testOwnFiles(t, s) })
}

func testPay(t *testing.T, s stack) {
	saleID, itemID := s.sell(t, 1, "10m")
	token := s.login(t, "payer")
	id := s.buy(t, itemID, token)
	// The row is the poller's work: from Kafka, by Invoke, into PostgreSQL.
	eventually(t, "the order is written", func() bool { return s.order(t, id, token).body.Payable })
	mine := call(t, http.MethodGet, fmt.Sprintf("%s/api/flash-sales/%d/my-order", s.api, saleID), token, "")
	if mine.status != http.StatusOK || mine.body.OrderID != id {
		t.Errorf("my-order: got %d %s, want 200 with %s", mine.status, mine.text, id)
	}
	if paid := call(t, http.MethodPost, s.providers+"/dev/pay/"+id, "", ""); !strings.Contains(paid.text, `"status":204`) {
		t.Errorf("pay: got %s, want the webhook's 204", paid.text)
	}
	if got := s.order(t, id, token).body.Status; got != "PAID" {
		t.Errorf("status: got %s, want PAID", got)
	}
	second := call(t, http.MethodPost, fmt.Sprintf("%s/api/flash-sales/items/%d/purchase", s.api, itemID), s.login(t, "late"), "")
	if second.status != http.StatusGone || second.body.Error != "SOLD_OUT" {
		t.Errorf("after the last unit: got %d %s, want 410 SOLD_OUT", second.status, second.text)
	}
}

func testCancel(t *testing.T, s stack) {
	_, itemID := s.sell(t, 1, "10m")
	token := s.login(t, "canceller")
	id := s.buy(t, itemID, token)
	eventually(t, "the order is written", func() bool { return s.order(t, id, token).body.Payable })
	for range 2 {
		a := call(t, http.MethodDelete, s.api+"/api/flash-sales/orders/"+id, token, "")
		if a.status != http.StatusOK || a.body.Status != "CANCELLED" {
			t.Errorf("cancel: got %d %s, want 200 CANCELLED", a.status, a.text)
		}
	}
	next := s.login(t, "next")
	eventually(t, "the unit can be bought again", func() bool {
		return call(t, http.MethodPost, fmt.Sprintf("%s/api/flash-sales/items/%d/purchase", s.api, itemID), next, "").status == http.StatusAccepted
	})
}

// testExpiry calls neither expirer nor stockkeeper: only EventBridge's rules do.
func testExpiry(t *testing.T, s stack) {
	saleID, itemID := s.sell(t, 1, "1s")
	token := s.login(t, "sleeper")
	id := s.buy(t, itemID, token)
	eventually(t, "the schedule ends the order", func() bool { return s.order(t, id, token).body.Status == "EXPIRED" })
	next := s.login(t, "next")
	eventually(t, "the unit can be bought again", func() bool {
		return call(t, http.MethodPost, fmt.Sprintf("%s/api/flash-sales/items/%d/purchase", s.api, itemID), next, "").status == http.StatusAccepted
	})
	report, err := s.functions.Invoke(t.Context(), "saleadmin", fmt.Appendf(nil, `{"action":"report","saleId":%d}`, saleID))
	if err != nil || !bytes.Contains(report, []byte(`"conserved":true`)) {
		t.Errorf("report: got %s, %v, want a conserved item", report, err)
	}
}
