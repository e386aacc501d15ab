package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestBuy is the whole way: signing in, before the opening, on time without a reload, being
// processed, payable, paid.
func TestBuy(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(time.Hour, 5, 3))
	p := newShopper(t, market, sale).visit()
	p.offered("signIn")
	p.look("signedout")
	p.signIn()
	p.phase("early")
	p.look("early")
	if got := p.calls("/purchase"); len(got) > 0 {
		t.Errorf("before the opening: calls %q", got)
	}
	p.opens("+3s")
	p.offered("buy")
	p.look("open")
	release := p.put(fault{
		method: "GET", path: "/orders/", times: -1, status: 200,
		body: fmt.Sprintf(`{"orderId":"{asked}","status":"PENDING","saleId":%d,"payable":false}`, sale.ID),
	})
	p.buy()
	p.order("processing")
	if text := strings.ToLower(p.text("body")); strings.Contains(text, "bought") || !strings.Contains(text, "being processed") {
		t.Errorf("before the order is written the page says %q", text)
	}
	p.until("the focus is on the order", "document.activeElement.id === 'order-title'")
	p.look("processing")
	release()
	p.order("payable")
	p.look("payable")
	p.until("the time left counts down from ten minutes", `/^(9:|10:00)/.test(document.querySelector("#order-left b").textContent)`)
	p.press("#pay")
	p.says("no money moves")
	p.press("button.quiet") // the payment fails
	p.order("confirming")
	p.look("confirming")
	p.press("#pay")
	p.says("no money moves")
	p.press("button.primary")
	p.order("paid")
	p.offered("yours")
	p.look("paid")
	if got := p.complaints(); len(got) > 0 {
		t.Errorf("complaints: %q", got)
	}
}

// TestCancel gives a unit back and buys again: it is another press and has another key.
func TestCancel(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 5))
	p := newShopper(t, market, sale).arrive()
	p.buy()
	p.order("payable")
	p.press("#cancel")
	p.until("the dialog is open", "document.querySelector('#ask').open")
	p.look("ask")
	p.press("#ask [value=no]")
	p.order("payable")
	p.press("#cancel")
	p.press("#ask [value=yes]")
	p.order("cancelled")
	p.look("cancelled")
	p.buy()
	p.order("payable")
	keys := p.calls("/purchase")
	if len(keys) != 2 || keys[0] == keys[1] {
		t.Errorf("purchase calls %q, want two with different keys", keys)
	}
}

// TestExpire lets the time to pay pass.
func TestExpire(t *testing.T) {
	t.Parallel()
	sale := newSale(-time.Second, 5)
	sale.Window, sale.Grace = "3s", "8s"
	market.offer(t, sale)
	p := newShopper(t, market, sale).arrive()
	p.buy()
	p.order("payable")
	p.order("overdue")
	p.look("overdue")
	p.order("expired")
	p.look("expired")
	p.offered("buy")
}

// TestReject has the database's guard refuse, which from outside cannot be caused.
func TestReject(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 5))
	p := newShopper(t, market, sale).arrive()
	p.put(fault{
		method: "GET", path: "/orders/", times: -1, status: 200,
		body: fmt.Sprintf(`{"orderId":"{asked}","status":"REJECTED","itemId":%d,"saleId":%d,"payable":false}`, sale.Items[0].ID, sale.ID),
	})
	p.buy()
	p.order("rejected")
	p.look("rejected")
	p.offered("buy")
}

// TestFound loses the page after the press, before any answer: a reload finds the order, and so
// does a second tab, where it can be paid for both.
func TestFound(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 5))
	p := newShopper(t, market, sale).arrive()
	second := p.secondTab().visit()
	second.offered("buy") // signed in by the first tab
	p.offered("buy")
	p.put(fault{method: "POST", path: "/purchase", times: -1, lose: true})
	p.press("#items button")
	p.says("it stays one order")
	eventually(t, "the server has the order", func() bool { return market.sold(t, sale)["PENDING"] == 1.0 })
	p.visit()
	p.order("payable")
	id := p.orderID()
	second.buy() // knows nothing yet; the server does, by the same key
	second.order("payable")
	if got := second.orderID(); got != id {
		t.Errorf("the second tab has order %s, want %s", got, id)
	}
	if status, answer := market.call(t, http.MethodPost, "/dev/pay/"+id, "", nil); status != http.StatusOK {
		t.Fatalf("pay: got %d %v", status, answer)
	}
	p.order("paid")
	second.order("paid")
}

// TestTabs has a purchase in one tab appear in the other by itself.
func TestTabs(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 5))
	p := newShopper(t, market, sale).arrive()
	second := p.secondTab().visit()
	second.offered("buy")
	p.buy()
	p.order("payable")
	second.order("payable")
	second.press("#cancel")
	second.press("#ask [value=yes]")
	second.order("cancelled")
	p.order("cancelled")
	p.press("#sign")
	p.offered("signIn")
	second.offered("signIn")
}

// TestTwoShoppers want the last unit. Who loses keeps watching and gets it when it comes back.
func TestTwoShoppers(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 1))
	one, two := newShopper(t, market, sale).arrive(), newShopper(t, market, sale).arrive()
	one.offered("buy")
	two.offered("buy")
	one.press("#items button")
	two.press("#items button")
	won := `document.querySelector('#order:not([hidden])[data-phase=payable]')`
	lost := `document.querySelector('#items button').dataset.kind === 'soldOut'`
	one.until("it is decided", won+" || "+lost)
	two.until("it is decided", won+" || "+lost)
	winner, loser := one, two
	if yes, err := eval[bool](one, "Boolean("+won+")"); err != nil {
		t.Fatal(err)
	} else if !yes {
		winner, loser = two, one
	}
	winner.order("payable")
	loser.offered("soldOut")
	loser.says("then wakes up by itself")
	loser.look("soldout")
	winner.press("#cancel")
	winner.press("#ask [value=yes]")
	winner.order("cancelled")
	loser.offered("buy")
	loser.until("it is said aloud", `document.querySelector("#say").textContent === "Wireless headphones: Available"`)
	loser.buy()
	loser.order("payable")
	if got := market.sold(t, sale)["PENDING"]; got != 1.0 {
		t.Errorf("orders: got %v, want 1", got)
	}
}

// TestKill kills the server while two pages poll, and starts it again on the same servers.
func TestKill(t *testing.T) {
	t.Parallel()
	env, sale := realServers(t), newSale(-time.Second, 5)
	port := freePort(t)
	s, err := openShop(env, sale, "-port", port)
	if err != nil {
		t.Fatal(err)
	}
	p, q := newShopper(t, s, sale).arrive(), newShopper(t, s, sale).arrive()
	p.buy()
	p.order("payable")
	id := p.orderID()
	q.offered("buy")
	s.kill()
	p.says("does not answer")
	p.look("unreachable")
	q.press("#items button") // pressed while nobody answers
	q.says("it stays one order")
	if s, err = openShop(env, sale, "-port", port); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	// The development server's keys are new, so its old tokens are worth nothing: the page says
	// so, and the shopper comes back to the own order.
	for _, shopper := range []*shopper{p, q} {
		shopper.offered("signIn")
		shopper.signIn()
	}
	p.order("payable")
	if got := p.orderID(); got != id {
		t.Errorf("after the restart the page shows order %s, want %s", got, id)
	}
	q.buy()
	q.order("payable")
}

// TestKeyboard buys, pays and cancels nothing by mouse.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(time.Hour, 5))
	p := newShopper(t, market, sale).arrive()
	p.offered("early")
	p.tabTo(`document.activeElement.matches("#items button")`)
	p.key(" ") // too early: nothing happens, and the focus stays
	p.opens("+2s")
	p.offered("buy")
	p.until("the focus has waited on the button", `document.activeElement.matches("#items button")`)
	if got := p.calls("/purchase"); len(got) > 0 {
		t.Errorf("pressed too early: calls %q", got)
	}
	p.key("\r")
	p.order("payable")
	p.until("the focus is on the order", "document.activeElement.id === 'order-title'")
	p.tabTo("document.activeElement.id === 'pay'")
	p.key("\r")
	p.says("no money moves")
	p.tabTo(`document.activeElement.matches("button.primary")`)
	p.key("\r")
	p.order("paid")
}
