package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"flashsale/localstack/servers"
)

// A shopper is a tab of the browser, in a profile of its own.
type shopper struct {
	t    *testing.T
	ctx  context.Context
	shop *shop
	sale saleFile
	user string

	mu     sync.Mutex
	faults []*fault
	seen   []string // "METHOD path key" of each call to the API
	errors []string // what the console and the page's code complained of
}

// newShopper opens an empty tab. It is closed when the test ends.
func newShopper(t *testing.T, s *shop, sale saleFile) *shopper {
	t.Helper()
	if browser == nil {
		t.Skip("left out: chromium is not installed (localstack/browser/install.sh)")
	}
	return openTab(t, browser, &shopper{shop: s, sale: sale, user: fmt.Sprintf("shopper-%d", servers.SaleID())}, chromedp.WithNewBrowserContext())
}

func openTab(t *testing.T, parent context.Context, p *shopper, options ...chromedp.ContextOption) *shopper {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, options...)
	t.Cleanup(cancel)
	p.t, p.ctx = t, ctx
	if err := chromedp.Do(ctx); err != nil { // without a deadline, which would end the tab
		t.Fatalf("open a tab: %v", err)
	}
	send(p, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Berlin"})
	// Tabs in the background are shoppers too: none may sleep.
	send(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	p.speaks("en-GB,en")
	p.resize(false)
	p.listen()
	return p
}

// speaks sets the browser's languages.
func (p *shopper) speaks(languages string) {
	p.t.Helper()
	agent, err := eval[string](p, "navigator.userAgent")
	if err != nil {
		p.t.Fatal(err)
	}
	send(p, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: agent, AcceptLanguage: languages})
}

// secondTab is another tab of the same shopper's browser.
func (p *shopper) secondTab() *shopper {
	p.t.Helper()
	return openTab(p.t, p.ctx, &shopper{shop: p.shop, sale: p.sale, user: p.user})
}

func (p *shopper) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

// send runs a command of the browser's protocol on the shopper's tab.
func send[P, R any](p *shopper, command cdp.Command[P, R], params P) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		p.t.Fatalf("%s: %v", command.Method, err)
	}
}

// before runs a script in each document of the tab before the page's own.
func (p *shopper) before(script string) {
	p.t.Helper()
	send(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
}

func (p *shopper) address() string { return fmt.Sprintf("%s/?sale=%d", p.shop.url, p.sale.ID) }

// visit opens the page without a shopper. The configuration is the server's own, with pictures
// for this sale and what more says.
func (p *shopper) visit(more ...map[string]any) *shopper {
	p.t.Helper()
	_, config := p.shop.call(p.t, "GET", "/config.json", "", nil)
	pictures := make(map[string]string)
	for i, item := range p.sale.Items {
		pictures[strconv.FormatInt(item.ID, 10)] = []string{"dev/art/headphones.svg", "dev/art/console.svg"}[i]
	}
	config["pictures"] = pictures
	for _, fields := range more {
		maps.Copy(config, fields)
	}
	text, err := json.Marshal(config)
	if err != nil {
		p.t.Fatal(err)
	}
	p.put(fault{path: "/config.json", times: -1, status: 200, body: string(text)})
	p.navigate()
	p.until("the sale is shown", fmt.Sprintf("document.querySelector('h1').textContent === %q", p.sale.Name))
	return p
}

func (p *shopper) navigate() {
	p.t.Helper()
	p.do("open the page", chromedp.Navigate(p.address()))
}

// signIn goes the page's own way, by the identity provider's form.
func (p *shopper) signIn() {
	p.t.Helper()
	p.press("#sign")
	p.says("any name will do")
	p.do("give the name", chromedp.SetValue("#user", p.user))
	p.press("button.primary")
	p.until("signed in and back at the sale", fmt.Sprintf("document.querySelector('#who').textContent === %q && location.search === '?sale=%d'", p.user, p.sale.ID))
}

// key presses a key where the focus is.
func (p *shopper) key(key string) {
	p.t.Helper()
	p.do("press a key", chromedp.KeyEvent(key))
}

// tabTo moves the focus on with the tab key until the expression is true.
func (p *shopper) tabTo(expression string) {
	p.t.Helper()
	for range 20 {
		p.key("\t")
		if yes, err := eval[bool](p, expression); err == nil && yes {
			return
		}
	}
	p.t.Fatalf("the tab key never leads to %s", expression)
}

// arrive opens the page as a shopper who has signed in before.
func (p *shopper) arrive() *shopper {
	p.t.Helper()
	p.before(fmt.Sprintf(`if (!localStorage.getItem("test arrived")) {
		localStorage.setItem("test arrived", "1"); sessionStorage.setItem("flashsale session", %q); }`, p.shop.token(p.t, p.user)))
	return p.visit()
}

// eval returns what an expression in the page comes to; a promise is waited for.
func eval[T any](p *shopper, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits for an expression to be true. In a document that is just being left it is not.
func (p *shopper) until(what, expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(40 * time.Millisecond) {
		yes, err := eval[bool](p, "Boolean("+expression+")")
		if err == nil && yes {
			return
		}
		if time.Now().After(deadline) {
			text, _ := eval[string](p, "location.href + '\\n' + document.body.innerText")
			p.shoot("failed-" + strings.ReplaceAll(p.t.Name(), "/", "-"))
			p.t.Fatalf("in vain: %s (%v)\n%s\ncalls %q\nerrors %q", what, err, text, p.calls(""), p.complaints())
		}
	}
}

// order waits for the order to be in that phase.
func (p *shopper) order(phase string) {
	p.t.Helper()
	p.until("the order is "+phase, fmt.Sprintf(`document.querySelector('#order:not([hidden])[data-phase=%q]')`, phase))
}

func (p *shopper) phase(phase string) {
	p.t.Helper()
	p.until("the sale is "+phase, fmt.Sprintf(`document.querySelector('#state[data-state=%q]')`, phase))
}

// offered waits for the first item's button to offer that.
func (p *shopper) offered(kind string) {
	p.t.Helper()
	p.until("the button offers "+kind, fmt.Sprintf(`document.querySelector('#items button')?.dataset.kind === %q`, kind))
}

// says waits until the page shows these words.
func (p *shopper) says(words string) {
	p.t.Helper()
	p.until("the page says "+words, fmt.Sprintf(`document.body.innerText.includes(%q)`, words))
}

// press clicks with the mouse.
func (p *shopper) press(selector string) {
	p.t.Helper()
	p.do("press "+selector, chromedp.Click(selector, chromedp.NodeVisible))
}

func (p *shopper) buy() {
	p.t.Helper()
	p.offered("buy")
	p.press("#items li:first-child button")
}

func (p *shopper) text(selector string) string {
	p.t.Helper()
	text, err := eval[string](p, fmt.Sprintf(`document.querySelector(%q).innerText`, selector))
	if err != nil {
		p.t.Fatalf("text of %s: %v", selector, err)
	}
	return text
}

// orderID is the order that the page shows.
func (p *shopper) orderID() string {
	p.t.Helper()
	fields := strings.Fields(p.text("#order-id"))
	if len(fields) != 2 {
		p.t.Fatalf("the page shows no order's id: %q", fields)
	}
	return fields[1]
}

// opens moves the opening, as an operator may, and lets the page look: while a test's shoppers
// arrive no time passes for the sale.
func (p *shopper) opens(in string) {
	p.t.Helper()
	path := fmt.Sprintf("/api/flash-sales/%d", p.sale.ID)
	_, before := p.shop.call(p.t, "GET", path, "", nil)
	p.sale.OpensAt = in
	p.shop.invoke(p.t, "saleadmin", map[string]any{"action": "update", "saleId": p.sale.ID, "sale": p.sale})
	eventually(p.t, "everybody sees the new opening", func() bool {
		_, view := p.shop.call(p.t, "GET", path, "", nil)
		return view["opensAt"] != before["opensAt"]
	})
	p.wake()
}

// wake lets the page ask at once, as it does when its line comes back.
func (p *shopper) wake() {
	p.t.Helper()
	if _, err := eval[bool](p, `dispatchEvent(new Event("online"))`); err != nil {
		p.t.Fatal(err)
	}
}
