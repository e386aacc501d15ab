package purchase_test

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/shared/config"
	"flashsale/shared/stock"
	"flashsale/shared/throttle"
)

func limited(t *testing.T, c *counter) {
	t.Helper()
	// The window is as long as a slow test; the number is the default's.
	c.h.Gate.Limit = throttle.New(config.Rate{Calls: 20, Window: time.Hour}, time.Now)
}

// from is a purchase as it arrives from an address, with what its client claims of it.
func from(item, token, address, forwarded string) call {
	return call{
		item: item, bearer: token, multi: map[string][]string{"X-Forwarded-For": {forwarded, address}, "X-Real-Ip": {forwarded}, "Forwarded": {"for=" + forwarded}},
		extra: map[string]any{"requestContext": map[string]any{"requestId": "r1", "identity": map[string]any{"sourceIp": address}}},
	}
}

// TestLimitIsTheShoppers: whoever calls from many addresses, by several tokens, is one
// shopper. The own order is told all the time; after 20 calls nothing more is sold.
func TestLimitIsTheShoppers(t *testing.T) {
	t.Parallel()
	c := open(t, fault(nothingWrong))
	limited(t, c)
	sl := c.sells(t, 5)
	press := func(i int) answer {
		token := provider.Sign(map[string]any{"sub": "loop", "jti": strconv.Itoa(i)})
		return c.answer(t, from(itemText(sl, 0), token, fmt.Sprint("198.51.100.", i), fmt.Sprint("203.0.113.", i)))
	}
	bought := press(0)
	bought.want(t, 202, "")
	for i := range 30 {
		press(i+1).want(t, 409, "ALREADY_PURCHASED")
	}
	held := []stock.Held{{OrderID: bought.Body.OrderID, UserID: "loop"}}
	if _, err := c.Stock.Release(t.Context(), stock.Of(&sl), stock.Settled, held); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		a := press(i + 31)
		a.want(t, 429, "TOO_MANY_REQUESTS")
		if wait, err := strconv.Atoi(a.Headers["Retry-After"]); err != nil || wait < 1 || wait > 3600 {
			t.Errorf("Retry-After: got %q, want the seconds until the first call is an hour old", a.Headers["Retry-After"])
		}
	}
	c.WantUnits(t, sl, 0, [4]int64{5, 0, 0, 0})
	c.buy(t, sl, 0, "other", "").want(t, 202, "")
}

// TestForgedTokensCountForNobody: who sends another's name without a signature does not
// use up that shopper's calls.
func TestForgedTokensCountForNobody(t *testing.T) {
	t.Parallel()
	c := open(t, fault(nothingWrong))
	limited(t, c)
	sl := c.sells(t, 1)
	good := provider.Token("victim")
	for range 30 {
		c.answer(t, call{item: itemText(sl, 0), bearer: good[:len(good)-8] + "AAAAAAAA"}).want(t, 401, "UNAUTHENTICATED")
	}
	c.answer(t, call{item: itemText(sl, 0), bearer: good}).want(t, 202, "")
}

// TestManyBehindOneAddress: 500 shoppers of one office or one phone network.
func TestManyBehindOneAddress(t *testing.T) {
	t.Parallel()
	c := open(t, fault(nothingWrong))
	limited(t, c)
	sl := c.sells(t, 500)
	var sold atomic.Int64
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := worker; i < 500; i += 4 {
				a := c.answer(t, from(itemText(sl, 0), provider.Token(fmt.Sprint("u", i)), "203.0.113.7", "203.0.113.7"))
				if a.Status == 202 {
					sold.Add(1)
				}
			}
		})
	}
	all.Wait()
	if sold.Load() != 500 {
		t.Errorf("%d of 500 shoppers behind one address have bought", sold.Load())
	}
	c.WantUnits(t, sl, 0, [4]int64{0, 500, 0, 0})
}
