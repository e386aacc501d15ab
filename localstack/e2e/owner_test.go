package e2e_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestSomeoneElsesOrder has a shopper who knows another's order id and key. Whatever the
// state of the order, it answers like one that does not exist, and stays as it is.
func TestSomeoneElsesOrder(t *testing.T) {
	t.Parallel()
	sale := newSale(5)
	s := open(t, openBackends(t).env(), sale)
	item := sale.Items[0].ID
	owner, thief, bystander := s.login(t, "owner"), s.login(t, "thief"), s.login(t, "bystander")
	const key = "the owner's key"
	bought, _, err := owner.buy(t.Context(), item, key)
	if err != nil || bought.Code != http.StatusAccepted {
		t.Fatalf("purchase: got %s, %v, want 202", bought, err)
	}
	if _, err := owner.follow(t.Context(), bought.OrderID, payable); err != nil {
		t.Fatal(err)
	}
	steal := func(method, path string) answer {
		t.Helper()
		header := bearer(thief.token)
		for _, name := range []string{"X-User-Id", "X-Forwarded-User", "X-Amzn-Oidc-Identity", "Userid"} {
			header.Set(name, "owner")
		}
		a, err := s.call(t.Context(), method, path, header, `{"userId":"owner"}`)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	// refused wants the answer that an order of nobody gets, to the byte.
	refused := func(state string) {
		t.Helper()
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			got, none := steal(method, orderPath(bought.OrderID)), steal(method, orderPath("00000000-0000-8000-8000-000000000000"))
			if !got.is(http.StatusNotFound, "UNKNOWN_ORDER") || got.Text != none.Text {
				t.Errorf("%s of a %s order: got %s, want %s", method, state, got, none)
			}
		}
		if got := steal(http.MethodGet, salePath(sale.ID)+"/my-order?userId=owner"); !got.is(http.StatusNotFound, "NO_ORDER") {
			t.Errorf("my-order of another, %s: got %s, want 404 NO_ORDER", state, got)
		}
		if a, err := owner.order(t.Context(), bought.OrderID); err != nil || a.Status != state {
			t.Errorf("afterwards the owner's order is %s, %v, want %s", a, err, state)
		}
	}
	refused("PENDING")
	var paid struct{ Status int }
	s.post(t, "/dev/pay/"+bought.OrderID, nil, &paid)
	if paid.Status != http.StatusNoContent {
		t.Fatalf("pay: got %d, want 204", paid.Status)
	}
	refused("PAID")
	// A key is its shopper's own: another's is a new purchase, not a way to the owner's answer.
	own, _, err := bystander.buy(t.Context(), item, key)
	if err != nil || own.Code != http.StatusAccepted || own.OrderID == bought.OrderID {
		t.Errorf("another shopper with the same key: got %s, %v, want an order of their own", own, err)
	}
}

// TestOddNames has shoppers whose ids would be commands if any part of the system took
// them for some: each buys, finds and pays their own order, and no log line has the id.
func TestOddNames(t *testing.T) {
	t.Parallel()
	sale := newSale(20)
	s := open(t, append(openBackends(t).env(), "DEV_LOG=debug"), sale)
	names := []string{
		`'; DROP TABLE flash_sale_order; --`, `$1`, `%s%n`, `"}],"userId":"owner`, `\u0000`, `{sale:7:0}:holds`, `*`, `../../etc/passwd`,
		`") redis.call("FLUSHALL") --`, `${jndi:ldap://x}`, "<script>alert(1)</script>", `ünïcødé ✓`, `=cmd|' /C calc'!A0`, strings.Repeat("x", 255),
	}
	for _, name := range names {
		p := s.login(t, name)
		bought, _, err := p.buy(t.Context(), sale.Items[0].ID, `"'; --`)
		if err != nil || bought.Code != http.StatusAccepted {
			t.Fatalf("%q: got %s, %v, want 202", name, bought, err)
		}
		if _, err := p.follow(t.Context(), bought.OrderID, payable); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if mine, err := p.mine(t.Context(), sale.ID); err != nil || mine.OrderID != bought.OrderID {
			t.Errorf("%q: my order: got %s, %v, want %s", name, mine, err, bought.OrderID)
		}
	}
	wantItem(t, s.settled(t, sale.ID), 0, len(names), 20-len(names), map[string]int{"PENDING": len(names)})
	log, err := os.ReadFile(s.stderr)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names[:len(names)-1] {
		if len(name) > 4 && strings.Contains(string(log), name) {
			t.Errorf("the log has the shopper %q", name)
		}
	}
	if !strings.Contains(string(log), "route=") {
		t.Errorf("the log has no requests, so it shows nothing: %.500s", log)
	}
}
