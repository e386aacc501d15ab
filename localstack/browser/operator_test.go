package browser_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"flashsale/localstack/servers"
)

// operator is a tab with the operator's view of a sale.
func operator(t *testing.T, s *shop, sale saleFile) *shopper {
	t.Helper()
	p := newShopper(t, s, sale)
	p.do("open the view", chromedp.Navigate(fmt.Sprintf("%s/dev/operator/?sale=%d", s.url, sale.ID)))
	p.until("the view is live", `document.querySelector('#live').dataset.live === "yes"`)
	return p
}

// report asks as an operator does at the command line.
func (s *shop) report(t *testing.T, sale saleFile) map[string]any {
	t.Helper()
	_, answer := s.call(t, http.MethodPost, "/2015-03-31/functions/saleadmin/invocations", "", fmt.Appendf(nil, `{"action":"report","saleId":%d}`, sale.ID))
	return answer
}

// figures are a report's numbers by path, and the sums that the view makes of them.
func figures(report map[string]any) map[string]float64 {
	found := map[string]float64{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch v := value.(type) {
		case float64:
			found[strings.TrimPrefix(path, ".")] = v
		case map[string]any:
			for name, each := range v {
				walk(path+"."+name, each)
			}
		case []any:
			for i, each := range v {
				walk(path+"."+strconv.Itoa(i), each)
			}
		}
	}
	walk("", report)
	items, _ := report["items"].([]any)
	for i := range items {
		for _, name := range []string{"stock", "quantity", "drift", "refundsDue"} {
			found["sum."+name] += found[fmt.Sprintf("items.%d.%s", i, name)]
		}
		for _, name := range []string{"reserved", "claimed", "confirmed"} {
			found["sum.holds"] += found[fmt.Sprintf("items.%d.holds.%s", i, name)]
		}
		delete(found, fmt.Sprintf("items.%d.itemId", i)) // a name, not a figure
	}
	delete(found, "saleId")
	return found
}

// shown are the figures on the page, by path.
func (p *shopper) shown() map[string]float64 {
	p.t.Helper()
	found, err := eval[map[string]float64](p, `Object.fromEntries([...document.querySelectorAll("[data-figure]")].map(
		(e) => [e.dataset.figure, Number(e.textContent.replaceAll(",", ""))]))`)
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// agrees waits until the page shows each figure of the report, and no other.
func (p *shopper) agrees() {
	p.t.Helper()
	var want, got map[string]float64
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		before := figures(p.shop.report(p.t, p.sale))
		got = p.shown()
		if want = figures(p.shop.report(p.t, p.sale)); maps.Equal(before, want) && maps.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the page shows %v, report says %v", got, want)
		}
	}
}

// rush lets shoppers buy, each one item after the other, with pauses in between.
func (s *shop) rush(t *testing.T, sale saleFile, shoppers int, pause time.Duration) (orders []string) {
	t.Helper()
	_, answer := s.call(t, http.MethodPost, "/dev/login", "", fmt.Appendf(nil, `{"user":"rush%d","count":%d}`, sale.ID, shoppers))
	tokens, _ := answer["tokens"].([]any)
	if len(tokens) != shoppers {
		t.Fatalf("login: got %v", answer)
	}
	var mu sync.Mutex
	var crowd sync.WaitGroup
	for i, token := range tokens {
		crowd.Go(func() {
			time.Sleep(pause * time.Duration(i))
			for _, item := range sale.Items {
				text, _ := token.(string)
				status, bought := s.call(t, http.MethodPost, fmt.Sprintf("/api/flash-sales/items/%d/purchase", item.ID), text, nil)
				if id, ok := bought["orderId"].(string); ok && status == http.StatusAccepted {
					mu.Lock()
					orders = append(orders, id)
					mu.Unlock()
				}
			}
		})
	}
	crowd.Wait()
	return orders
}

// TestOperatorSeesARush compares the view with report before, and after a rush with payments, and
// keeps its pictures.
func TestOperatorSeesARush(t *testing.T) {
	t.Parallel()
	sale := newSale(0, 60, 30)
	sale.Shards = 3
	market.offer(t, sale)
	p := operator(t, market, sale)
	p.agrees()
	var orders []string
	var rush sync.WaitGroup
	rush.Go(func() { orders = market.rush(t, sale, 240, 50*time.Millisecond) })
	p.until("the rush is at its height", `Number(document.querySelector("[data-figure='sum.holds']").textContent) > 30`)
	p.shoot("operator")
	rush.Wait()
	if len(orders) != 90 {
		t.Errorf("%d orders, want all 90 units sold", len(orders))
	}
	for _, id := range orders[:40] {
		market.call(t, http.MethodPost, "/dev/pay/"+id, "", nil)
	}
	p.until("the paid orders are shown", `[...document.querySelectorAll("[data-figure$='orders.PAID']")].reduce((n, e) => n + Number(e.textContent), 0) === 40`)
	p.agrees()
	p.until("conserved", `document.querySelector('#verdict').dataset.conserved === "yes"`)
	for _, code := range []string{"ACCEPTED", "SOLD_OUT"} {
		p.until(code+" is counted", fmt.Sprintf(`Number(document.querySelector('[data-total=%q]')?.textContent.replaceAll(",", "")) > 0`, code))
	}
	p.look("operator-after")
	if got := p.complaints(); len(got) > 0 {
		t.Errorf("the console complains: %q", got)
	}
}

// TestOperatorActs pauses, resumes and reconciles by the view's buttons, with mouse and keyboard.
func TestOperatorActs(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(0, 3))
	p := operator(t, market, sale)
	token := market.token(t, fmt.Sprintf("buyer-%d", servers.SaleID()))
	buy := func() int {
		status, _ := market.call(t, http.MethodPost, fmt.Sprintf("/api/flash-sales/items/%d/purchase", sale.Items[0].ID), token, nil)
		return status
	}
	p.press("#pause")
	p.press("#sure button[value=no]")
	if got := market.report(t, sale)["state"]; got != "OPEN" {
		t.Fatalf("not confirmed: the sale is %v, want OPEN", got)
	}
	p.press("#pause")
	p.press("#yes")
	p.says("Paused: operator")
	if status := buy(); status != http.StatusServiceUnavailable {
		t.Errorf("paused: a purchase got %d, want 503", status)
	}
	p.tabTo(`document.activeElement.id === "resume"`)
	p.key("\r")
	p.tabTo(`document.activeElement.id === "yes"`)
	p.key("\r")
	p.until("the sale is open", `document.querySelector('#state').textContent === "OPEN" && document.querySelector('#stops').hidden`)
	eventually(t, "a shopper can buy again", func() bool { return buy() == http.StatusAccepted })
	p.press("#reconcile")
	p.press("#yes")
	p.says("Reconciled:")
}

// TestOperatorSeesDamage takes units away behind everybody's back. A keeper mends it at its next
// pass, so the damage is put into the report on its way to the page.
func TestOperatorSeesDamage(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(0, 5))
	p := newShopper(t, market, sale)
	report := market.report(t, sale)
	item, _ := report["items"].([]any)[0].(map[string]any)
	item["conserved"], item["drift"], report["deadLetters"] = false, 2.0, 4.0
	shard, _ := item["shards"].([]any)[0].(map[string]any)
	shard["stock"] = 7.0
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	p.before(fmt.Sprintf(`const real = fetch; fetch = (url, options) => String(options?.body).includes('"report"')
		? Promise.resolve(new Response(%q)) : real(url, options);`, text))
	p.do("open the view", chromedp.Navigate(fmt.Sprintf("%s/dev/operator/?sale=%d", market.url, sale.ID)))
	p.says("Not conserved: item " + strconv.FormatInt(sale.Items[0].ID, 10))
	p.says("2 too many")
	p.until("the dead letters stand out", `document.querySelector("[data-alarm] [data-figure=deadLetters]")?.textContent === "4"`)
	p.accessible("damage")
	p.shoot("operator-damage")
}

// TestOperatorTellsAStory asks for a shopper who has bought, and for one who has nothing.
func TestOperatorTellsAStory(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(0, 2))
	p := operator(t, market, sale)
	user := fmt.Sprintf("anna-%d", sale.ID)
	_, bought := market.call(t, http.MethodPost, fmt.Sprintf("/api/flash-sales/items/%d/purchase", sale.Items[0].ID), market.token(t, user), nil)
	id, _ := bought["orderId"].(string)
	eventually(t, "the order is written", func() bool { return market.sold(t, sale)["PENDING"] == 1.0 })
	ask := func(who string) {
		t.Helper()
		p.do("name the shopper", chromedp.SetValue("#user", who))
		p.press("#ask button")
	}
	ask(user)
	p.says("Order " + id)
	p.says("reserved item")
	ask("nobody")
	p.says("A refusal leaves no trace. Now the sale is OPEN")
	ask("a\x01b")
	p.says("BAD_REQUEST")
	p.accessible("a story")
}

// TestOperatorOutlivesTheServer has a server that goes away and comes back.
func TestOperatorOutlivesTheServer(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(0, 2))
	p := operator(t, market, sale)
	if _, err := eval[bool](p, `(window.real = fetch, fetch = () => Promise.reject(new Error("away")), true)`); err != nil {
		t.Fatal(err)
	}
	p.says("no answer: away")
	if _, err := eval[bool](p, `(fetch = window.real, true)`); err != nil {
		t.Fatal(err)
	}
	p.until("live again", `document.querySelector('#live').dataset.live === "yes"`)
}
