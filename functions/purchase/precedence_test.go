package purchase_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// Causes of a refusal. The tables below combine neighbours.
func early(s *sale.Settings)  { s.OpensAt = time.Now().Add(30 * time.Minute) }
func over(s *sale.Settings)   { s.ClosesAt = time.Now().Add(-time.Minute) }
func paused(s *sale.Settings) { s.Paused = []sale.PauseReason{sale.PausedByOperator} }

func longText(n int) string { return strings.Repeat("k", n) }

// TestPrecedence sets up two neighbouring causes at a time; the first one in
// the API's order must win, and nothing may change.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	c := open(t, silent(t))
	doubt := func(sl sale.Sale) func(*sale.Settings) {
		return func(s *sale.Settings) { s.Doubts = []sale.ItemID{sl.Items[0].ID} }
	}
	both := func(changes ...func(*sale.Settings)) func(*sale.Settings) {
		return func(s *sale.Settings) {
			for _, change := range changes {
				change(s)
			}
		}
	}
	const good, bad, none = "", "not.a.token", "none"
	type row struct {
		name    string
		token   string
		unknown bool // the item
		key     string
		own     bool // the shopper has a hold
		soldOut bool
		offer   func(sl sale.Sale) // nil: open and nothing else
		status  int
		code    string
	}
	steer := func(change func(*sale.Settings)) func(sale.Sale) {
		return func(sl sale.Sale) { c.Steer(t, sl, 2, change) }
	}
	inDoubt := func(more func(*sale.Settings)) func(sale.Sale) {
		return func(sl sale.Sale) { c.Steer(t, sl, 2, both(doubt(sl), more)) }
	}
	lost := func(sl sale.Sale) {
		c.Steer(t, sl, 2, early)
		c.Redis.HDel(t.Context(), metaOf(sl), "loaded")
	}
	rows := []row{
		{"no bearer, unknown item", none, true, "", false, false, nil, 401, "UNAUTHENTICATED"},
		{"malformed bearer, unknown item", "x", true, "", false, false, nil, 401, "UNAUTHENTICATED"},
		{"unknown item, invalid token", bad, true, "", false, false, nil, 404, "UNKNOWN_ITEM"},
		{"invalid token, bad key", bad, false, longText(256), false, false, nil, 401, "UNAUTHENTICATED"},
		{"bad key, own hold", good, false, longText(256), true, false, nil, 400, "BAD_REQUEST"},
		{"own hold, paused", good, false, "", true, false, steer(paused), 409, "ALREADY_PURCHASED"},
		{"own hold, not open", good, false, "", true, false, steer(early), 409, "ALREADY_PURCHASED"},
		{"own hold, closed", good, false, "", true, false, steer(over), 409, "ALREADY_PURCHASED"},
		{"own hold, sold out", good, false, "", true, true, nil, 409, "ALREADY_PURCHASED"},
		{"paused, not open", good, false, "", false, false, steer(both(paused, early)), 503, "TRY_AGAIN"},
		{"paused, closed", good, false, "", false, false, steer(both(paused, over)), 503, "TRY_AGAIN"},
		{"paused, sold out", good, false, "", false, true, steer(paused), 503, "TRY_AGAIN"},
		{"in doubt, not open", good, false, "", false, false, inDoubt(early), 503, "TRY_AGAIN"},
		{"in doubt, sold out", good, false, "", false, true, inDoubt(func(*sale.Settings) {}), 503, "TRY_AGAIN"},
		{"not loaded, not open", good, false, "", false, false, lost, 503, "TRY_AGAIN"},
		{"not open, sold out", good, false, "", false, true, steer(early), 403, "SALE_NOT_OPEN"},
		{"closed, sold out", good, false, "", false, true, steer(over), 410, "SALE_CLOSED"},
		{"sold out", good, false, "", false, true, nil, 410, "SOLD_OUT"},
	}
	sales := make([]sale.Sale, len(rows))
	for i, r := range rows {
		sales[i] = c.Sale(1)
		c.Offer(t, sales[i], nil)
		if r.own {
			c.Reserve(t, sales[i], 0, "u1")
		} else if r.soldOut {
			c.Reserve(t, sales[i], 0, "somebody")
		}
		if r.offer != nil {
			r.offer(sales[i])
		}
	}
	c.List(t, sales...)
	for i, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			before := c.Check(t, sales[i])
			made := call{item: itemText(sales[i], 0), bearer: r.token, key: r.key}
			if r.unknown {
				made.item = "1"
			}
			switch r.token {
			case good:
				made.bearer = provider.Token("u1")
			case none:
				made.bearer = ""
			}
			a := c.answer(t, made)
			a.want(t, r.status, r.code)
			if got, want := a.Headers["Retry-After"] != "", r.status == 503 || r.status == 403; got != want {
				t.Errorf("Retry-After %q: present %v, want %v", a.Headers["Retry-After"], got, want)
			}
			if got, want := a.Headers["WWW-Authenticate"] != "", r.status == 401; got != want {
				t.Errorf("WWW-Authenticate: present %v, want %v", got, want)
			}
			if after := c.Check(t, sales[i]); !reflect.DeepEqual(before, after) {
				t.Errorf("a refusal changed the shard from %+v to %+v", before, after)
			}
		})
	}
}

// TestNothingToSell has every way in which Redis knows too little: 503, never
// sold out.
func TestNothingToSell(t *testing.T) {
	t.Parallel()
	c := open(t, silent(t))
	never, half, emptied := c.Sale(1), c.Sale(1), c.Sale(1)
	c.Stack(t, half)
	c.Offer(t, emptied, nil)
	c.Redis.Del(t.Context(), stockOf(emptied))
	c.List(t, never, half, emptied)
	for name, sl := range map[string]sale.Sale{"never loaded": never, "loaded half-way": half, "stock gone": emptied} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := c.buy(t, sl, 0, "u1", "")
			a.want(t, 503, "TRY_AGAIN")
			if a.Headers["Retry-After"] != "1" {
				t.Errorf("Retry-After: got %q, want 1", a.Headers["Retry-After"])
			}
			if _, held, err := c.Stock.Hold(t.Context(), stock.Of(&sl), "u1"); held || err != nil {
				t.Errorf("hold: got %v, %v, want none", held, err)
			}
		})
	}
}
