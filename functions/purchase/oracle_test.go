package purchase_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/shared/config"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
	"flashsale/shared/throttle"
)

// A scene is what a sale is like, before anybody asks.
type scene struct {
	state, window string // "", paused, doubt, unloaded; "", early, over
	out, latched  bool
}

// An asker is who asks, and how.
type asker struct {
	bearer, own      string // good, forged, malformed, none; "", other key, same key
	unknown, badKey  bool
	noPass, tooOften bool
}

// expected is the API's order of precedence, written down once more: first match wins.
func expected(s scene, a asker) string {
	local := "" // what the function knows by itself
	switch {
	case !s.latched:
	case s.window == "over":
		local = "410 SALE_CLOSED"
	case s.window == "early":
		local = "403 SALE_NOT_OPEN"
	case s.out:
		local = "410 SOLD_OUT"
	}
	switch {
	case a.bearer == "none" || a.bearer == "malformed":
		return "401 UNAUTHENTICATED"
	case a.unknown:
		return "404 UNKNOWN_ITEM"
	case local != "" && (a.own == "" || a.bearer == "forged"):
		return local
	case a.bearer == "forged":
		return "401 UNAUTHENTICATED"
	case a.badKey:
		return "400 BAD_REQUEST"
	case s.state == "unloaded":
		return "503 TRY_AGAIN"
	case a.own == "same key":
		return "202 "
	case a.own != "":
		return "409 ALREADY_PURCHASED"
	case s.state != "":
		return "503 TRY_AGAIN"
	case s.window == "early":
		return "403 SALE_NOT_OPEN"
	case s.window == "over":
		return "410 SALE_CLOSED"
	case a.noPass:
		return "403 ADMISSION_REQUIRED"
	case a.tooOften:
		return "429 TOO_MANY_REQUESTS"
	case s.out:
		return "410 SOLD_OUT"
	}
	return "202 "
}

// TestOracle asks in every way in every scene, of a function that knows nothing by itself and of
// one that does.
func TestOracle(t *testing.T) {
	t.Parallel()
	var askers []asker
	for _, bearer := range []string{"good", "forged", "malformed", "none"} {
		for _, own := range []string{"", "other key", "same key"} {
			for bits := range 16 {
				askers = append(askers, asker{bearer, own, bits&1 > 0, bits&2 > 0, bits&4 > 0, bits&8 > 0})
			}
		}
	}
	for _, state := range []string{"", "paused", "doubt", "unloaded"} {
		for _, window := range []string{"", "early", "over"} {
			for bits := range 4 {
				s := scene{state, window, bits&1 > 0, bits&2 > 0}
				t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
					t.Parallel()
					s.ask(t, askers)
				})
			}
		}
	}
}

func (s scene) ask(t *testing.T, askers []asker) {
	c := openStill(t, open(t, fault(nothingWrong)))
	office := c.spreads(t)
	c.h.Gate.Limit = throttle.New(config.Rate{Calls: 1, Window: time.Hour}, time.Now)
	holders := 0
	for _, a := range askers {
		if a.own != "" {
			holders++
		}
	}
	quantity := holders
	if !s.out {
		quantity += len(askers)
	}
	sl := c.spread(quantity)
	c.Offer(t, sl, nil)
	user := func(i int) string { return fmt.Sprintf("u%d", i) }
	key := func(a asker) string {
		switch {
		case a.badKey:
			return longText(256)
		case a.own == "same key":
			return "key"
		}
		return "another"
	}
	own := make([]sale.OrderID, len(askers))
	for i, a := range askers {
		if a.own == "" {
			continue
		}
		p := c.Place(sl, 0, user(i))
		got, err := c.Stock.Reserve(t.Context(), stock.Of(&sl), stock.Attempt{OrderID: p.OrderID, UserID: user(i), ItemID: p.ItemID, IdempotencyKey: "key"})
		if err != nil || got.Outcome != stock.Reserved {
			t.Fatalf("reserve: %v, %v", got.Outcome, err)
		}
		own[i] = p.OrderID
	}
	listed := sl // an environment that is latched knows the window by the catalog too
	if s.latched && s.window == "early" {
		listed.OpensAt = time.Now().Add(30 * time.Minute)
	}
	if s.latched && s.window == "over" {
		listed.ClosesAt = time.Now().Add(-time.Minute)
	}
	c.List(t, listed)
	if s.latched {
		pass := issue(t, office, listed, "scout")
		knows := func() bool {
			found, ok, err := c.h.Catalog.ByItem(t.Context(), sl.Items[0].ID)
			if err != nil || !ok {
				t.Fatalf("catalog: %t, %v", ok, err)
			}
			return c.h.Latch.Refusal(t.Context(), c.h.Now(), found, sl.Items[0].ID).Outcome != 0
		}
		c.brings(t, sl, "scout", pass) // makes the look, which on a busy machine may end too late
		for tries := 0; (s.out || s.window != "") && !knows(); tries++ {
			if tries == 10 {
				t.Fatal("the function does not know by itself")
			}
			c.passes(time.Second)
			c.brings(t, sl, "scout", pass)
		}
	}
	c.Steer(t, sl, 2, func(set *sale.Settings) {
		switch s.window {
		case "early":
			early(set)
		case "over":
			over(set)
		}
		switch s.state {
		case "paused":
			paused(set)
		case "doubt":
			set.Doubts = []sale.ItemID{sl.Items[0].ID}
		}
	})
	if s.state == "unloaded" {
		c.Redis.HDel(t.Context(), metaOf(sl), "loaded")
	}
	for i, a := range askers {
		if s.latched && s.window == "early" && a.own != "" {
			continue // nobody has won before the opening
		}
		made := call{item: itemText(sl, 0), key: key(a), multi: map[string][]string{}}
		switch a.bearer {
		case "good":
			made.bearer = provider.Token(user(i))
		case "forged":
			made.bearer = forged(user(i))
		case "malformed":
			made.bearer = "a.b"
		}
		if a.unknown {
			made.item = "1"
		}
		if !a.noPass {
			made.multi["X-Admission-Pass"] = []string{issue(t, office, listed, user(i))}
		}
		if a.tooOften {
			c.h.Gate.Limit.Take(user(i))
		}
		if !s.latched {
			c.h.Latch = stock.NewLatch(c.Stock, c.h.Catalog, c.h.Now) // forgets what the last answer has taught
		}
		got := c.answer(t, made)
		if text := fmt.Sprintf("%d %s", got.Status, got.Body.Error); text != expected(s, a) {
			t.Errorf("%+v: got %s, want %s", a, text, expected(s, a))
		}
		if named := got.Body.OrderID; a.own != "" && named != (sale.OrderID{}) && named != own[i] {
			t.Errorf("%+v: got order %s, want the own one %s", a, named, own[i])
		}
		if strings.Contains(got.Text, "orderId") != (got.Status == 202 || got.Status == 409) {
			t.Errorf("%+v: got %s", a, got.Text)
		}
	}
	if s.state != "unloaded" && !c.Check(t, sl).Conserved() {
		t.Error("stock + holds is not the quota")
	}
}
