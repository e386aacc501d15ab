package browser_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSignInRefused comes back from the identity provider with nothing, or with somebody else's
// code: nobody is signed in, and the page says so.
func TestSignInRefused(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 5))
	p := newShopper(t, market, sale).visit()
	for name, query := range map[string]string{
		"refused": "error=access_denied&state=x", "a code that was not asked for": "code=stolen&state=x",
	} {
		if _, err := eval[bool](p, fmt.Sprintf("location.assign('/?%s'); true", query)); err != nil {
			t.Fatal(err)
		}
		p.says("The sign-in did not work")
		p.until(name+": the code is gone from the address", `location.search === "" && !document.querySelector("#who").textContent`)
	}
	if got := p.calls("/dev/token"); len(got) > 0 {
		t.Errorf("a foreign code was redeemed: %q", got)
	}
}

// TestRedirect signs in on an address whose path begins with two slashes, as a CDN may serve it:
// the identity provider is never told of another host.
func TestRedirect(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 5))
	p := newShopper(t, market, sale).visit()
	if _, err := eval[bool](p, `history.pushState(null, "", location.origin + "//elsewhere.example/"),
		import("/session.js?again").then(({ Session }) => { new Session({ authorize: "/dev/authorize", clientId: "x" }).signIn(); return true; })`); err != nil {
		t.Fatal(err)
	}
	p.until("the way back is to the page's own host", `new URLSearchParams(location.search).get("redirect_uri") === location.origin + "//elsewhere.example/"`)
}

// TestTokenHooks are a shop's own ways to say who the shopper is.
func TestTokenHooks(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(-time.Second, 5, 5))
	t.Run("a function", func(t *testing.T) {
		t.Parallel()
		p := newShopper(t, market, sale)
		p.before(fmt.Sprintf("globalThis.flashsaleToken = async () => %q", market.token(t, p.user)))
		p.visit(map[string]any{"identity": nil})
		p.until("signed in, and out only by the shop", fmt.Sprintf(`document.querySelector("#who").textContent === %q && document.querySelector("#sign").hidden`, p.user))
		p.buy()
		p.order("payable")
	})
	t.Run("an address", func(t *testing.T) {
		t.Parallel()
		p := newShopper(t, market, sale)
		// The first token is not good any more: the page asks for another one and goes on.
		p.put(fault{path: "/shop-token", times: 1, status: 200, body: fmt.Sprintf(`{"token":%q}`, spoilt(market.token(t, p.user)))})
		p.put(fault{path: "/shop-token", times: -1, status: 200, body: fmt.Sprintf(`{"token":%q}`, market.token(t, p.user))})
		p.visit(map[string]any{"identity": map[string]string{"tokenUrl": "/shop-token"}})
		p.buy()
		p.order("payable")
	})
}

// spoilt is a token whose signature does not fit any more.
func spoilt(token string) string {
	parts := strings.Split(token, ".")
	parts[2] = strings.Repeat("A", len(parts[2]))
	return strings.Join(parts, ".")
}
