package browser_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// TestClock has shoppers whose clocks are ten minutes off, in another zone: they see the same
// countdown, and the button wakes up for both while it does for everybody.
func TestClock(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(time.Hour, 5))
	shoppers := map[string]*shopper{}
	for name, minutes := range map[string]int{"right": 0, "late": -10, "early": 10} {
		p := newShopper(t, market, sale)
		send(p, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "America/New_York"})
		p.before(fmt.Sprintf(`{ const off = %d * 60_000, Real = Date;
			globalThis.Date = class extends Real {
				constructor(...args) { super(...(args.length ? args : [Real.now() + off])); }
				static now() { return Real.now() + off; }
			}; }`, minutes))
		shoppers[name] = p.arrive()
	}
	_, view := market.call(t, "GET", fmt.Sprintf("/api/flash-sales/%d", sale.ID), "", nil)
	opens, err := time.Parse(time.RFC3339Nano, fmt.Sprint(view["opensAt"]))
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	left := `[...document.querySelectorAll(".digits b")].map((b) => b.textContent).join(":")`
	for name, p := range shoppers {
		p.until(name+": an hour is left", left+` >= "00:55:00" && `+left+` <= "01:00:00"`)
		p.says("America/New York")
		if got, want := p.text("#when"), opens.In(zone).Format("15:04"); !strings.Contains(got, want) {
			t.Errorf("%s: the page says %q, want %s in New York", name, got, want)
		}
	}
	shoppers["right"].opens("+5s")
	for name, p := range shoppers {
		p.wake()
		p.buy()
		p.order("payable")
		p.until(name+": the time to pay is whole", `/^(9:|10:00)/.test(document.querySelector("#order-left b").textContent)`)
	}
}

// TestPauseAndClose are an operator's doing.
func TestPauseAndClose(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 5))
	p := newShopper(t, market, sale).arrive()
	p.offered("buy")
	market.administer(t, "pause", sale)
	p.phase("paused")
	p.offered("paused")
	p.look("paused")
	market.administer(t, "resume", sale)
	p.offered("buy")
	market.administer(t, "close", sale)
	p.phase("closed")
	p.offered("closed")
	p.look("closed")
}

// TestCloseOnTime has the clock end a sale.
func TestCloseOnTime(t *testing.T) {
	t.Parallel()
	p := newShopper(t, market, market.offer(t, newSale(time.Hour, 5))).arrive()
	p.phase("early")
	p.sale.ClosesAt = "+12s"
	p.opens("+1s")
	p.offered("closed")
	p.says("Ended")
}

// TestOffline goes through a tunnel.
func TestOffline(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 5))
	p := newShopper(t, market, sale).arrive()
	p.offered("buy")
	p.line(network.Conditions{Offline: true})
	p.says("You are offline")
	p.look("offline")
	p.press("#items button")
	p.says("it stays one order")
	p.line(network.Conditions{DownloadThroughput: -1, UploadThroughput: -1})
	p.order("payable")
	p.until("the line is no matter any more", `document.querySelector("#link").hidden`)
}

// TestSlowNetwork is a bad connection: everything comes, late.
func TestSlowNetwork(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(time.Hour, 5))
	p := newShopper(t, market, sale)
	p.line(network.Conditions{Latency: 900, DownloadThroughput: 30_000, UploadThroughput: 10_000})
	p.arrive()
	p.phase("early")
	p.opens("+3s")
	p.buy()
	p.order("payable")
}

// TestBusy has the API refuse everybody for a while.
func TestBusy(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 5))
	p := newShopper(t, market, sale).arrive()
	p.offered("buy")
	release := p.put(fault{path: fmt.Sprint(sale.ID), times: -1, status: 429, body: `{"error":"TOO_MANY_REQUESTS"}`, header: map[string]string{"Retry-After": "1"}})
	p.says("very busy")
	p.look("crowded")
	release()
	p.until("the line is no matter any more", `document.querySelector("#link").hidden`)
}

// TestSoldOutAtOnce believes the refusal of a purchase, and asks nobody: a crowd hears it at once.
func TestSoldOutAtOnce(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 5))
	p := newShopper(t, market, sale).arrive()
	p.put(fault{method: "POST", path: "/purchase", times: 1, status: 410, body: `{"error":"SOLD_OUT"}`})
	p.buy()
	p.offered("soldOut") // by the sale's view there are units
	p.buy()              // which the next look tells
	p.order("payable")
}

// TestStrangeAddress has an address that leads out of the API: the page does not follow.
func TestStrangeAddress(t *testing.T) {
	t.Parallel()
	p := newShopper(t, market, newSale(-time.Second, 5))
	p.do("open the page", chromedp.Navigate(p.shop.url+"/?sale=7/../../../config.json%3F"))
	p.says("There is no such sale.")
}

// TestUnknown is a wrong address.
func TestUnknown(t *testing.T) {
	t.Parallel()
	p := newShopper(t, market, newSale(-time.Second, 5))
	p.navigate()
	p.says("There is no such sale.")
	p.look("unknown")
}

// TestAdmission draws lots: the page fetches its pass with the shopper's token, waits for its own
// start and shows the pass when it buys.
func TestAdmission(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(time.Hour, 5))
	p := newShopper(t, market, sale)
	p.before(`{ const real = fetch; globalThis.fetch = async (...args) => {
		const response = await real(...args);
		if (!/flash-sales\/\d+$/.test(args[0])) return response;
		return Response.json({ ...await response.json(), admission: true }, response); } }`)
	p.arrive()
	p.phase("early")
	if got := p.calls("/admission"); len(got) > 0 {
		t.Errorf("an hour before the opening: calls %q", got)
	}
	start := time.Now().Add(20 * time.Second)
	p.put(fault{method: "POST", path: "/admission", times: 1, status: 503, body: `{"error":"TRY_AGAIN"}`})
	p.put(fault{method: "POST", path: "/admission", times: -1, status: 200, body: fmt.Sprintf(`{"pass":"my-pass","notBefore":%q}`, start.Format(time.RFC3339Nano))})
	p.opens("+2s")
	p.says("Your own start")
	p.phase("open")
	p.offered("turn")
	p.look("turn")
	looks := func() int { return len(p.calls("")) - len(p.calls("/admission")) - len(p.calls("/my-order")) }
	before := looks()
	p.offered("buy")
	if asked := looks() - before; asked > 4 { // at the opening it may have, then at its turn
		t.Errorf("the page asked for the sale %d times while it waited for its turn", asked)
	}
	p.buy()
	p.order("payable")
	if time.Now().Before(start) {
		t.Error("bought before the pass begins")
	}
	if got := p.calls("/purchase"); len(got) != 1 || !strings.HasSuffix(got[0], " my-pass") {
		t.Errorf("purchase calls %q, want one with the pass", got)
	}
}

// TestAdmissionRefused has the server ask for a pass that the page knew nothing of.
func TestAdmissionRefused(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 5))
	p := newShopper(t, market, sale).arrive()
	p.put(fault{method: "POST", path: "/purchase", times: 1, status: 403, body: `{"error":"ADMISSION_REQUIRED"}`})
	p.put(fault{method: "POST", path: "/admission", times: -1, status: 200, body: `{"pass":"my-pass","notBefore":"2026-01-01T00:00:00Z"}`})
	p.buy()
	p.says("not your turn yet")
	p.buy()
	p.order("payable")
	if got := p.calls("my-pass"); len(got) != 1 {
		t.Errorf("calls with the pass %q, want one", got)
	}
}

// TestGerman reads as a German browser asks, and can be switched; the choice is kept.
func TestGerman(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(time.Hour, 5))
	p := newShopper(t, market, sale)
	p.speaks("de-DE,en")
	p.arrive()
	p.says("Öffnet bald")
	p.until("the document is German", `document.documentElement.lang === "de"`)
	p.says("19,99\u00a0€")
	p.look("german")
	p.press("#language")
	p.says("Opens soon")
	p.navigate()
	p.says("Opens soon")
	p.until("the document is English", `document.documentElement.lang === "en"`)
}

// line changes the shopper's connection.
func (p *shopper) line(conditions network.Conditions) {
	p.t.Helper()
	send(p, network.Enable, network.EnableParams{})
	send(p, network.OverrideNetworkState, network.OverrideNetworkStateParams{
		Offline: conditions.Offline, Latency: conditions.Latency, DownloadThroughput: -1, UploadThroughput: -1,
	})
	send(p, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{&conditions},
	})
}
