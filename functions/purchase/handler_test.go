package purchase_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"flashsale/functions/purchase"
	"flashsale/localstack/servers"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// TestAThousandForAHundred is the promise in small: a hundred units, a thousand
// shoppers at once, a hundred orders.
func TestAThousandForAHundred(t *testing.T) {
	t.Parallel()
	const shoppers, units = 1000, 100
	log, topic := onKafka(t)
	c := open(t, log)
	sl := c.sells(t, units)

	var mu sync.Mutex
	won := map[string]sale.OrderID{}
	var wait sync.WaitGroup
	next := make(chan string)
	for range 32 {
		wait.Go(func() {
			for user := range next {
				a := c.buy(t, sl, 0, user, "")
				for a.Status == 503 { // a busy machine; a page would ask again too
					time.Sleep(10 * time.Millisecond)
					a = c.buy(t, sl, 0, user, "")
				}
				if a.Status != 202 {
					a.want(t, 410, "SOLD_OUT")
					continue
				}
				mu.Lock()
				won[user] = a.Body.OrderID
				mu.Unlock()
			}
		})
	}
	for i := range shoppers {
		next <- fmt.Sprintf("u%d", i)
	}
	close(next)
	wait.Wait()

	if len(won) != units {
		t.Errorf("202s: got %d, want %d", len(won), units)
	}
	c.WantUnits(t, sl, 0, [4]int64{0, units, 0, 0})
	for user, id := range won {
		a := c.buy(t, sl, 0, user, "")
		a.want(t, 409, "ALREADY_PURCHASED")
		if a.Body.OrderID != id {
			t.Errorf("%s again: got %s, want %s", user, a.Body.OrderID, id)
		}
	}
	inLog := map[sale.OrderID]string{}
	for _, r := range shoptest.Records(t, servers.KafkaBrokers(t), topic) {
		p, err := orderlog.Decode(r.Value)
		if err != nil {
			t.Fatalf("record: %v", err)
		}
		inLog[p.OrderID] = p.UserID
	}
	for user, id := range won {
		if inLog[id] != user {
			t.Errorf("order %s of %s: the log has shopper %q", id, user, inLog[id])
		}
	}
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	log, topic := onKafka(t)
	c := open(t, log)
	sl := c.sells(t, 2)
	a := c.buy(t, sl, 0, "u1", "")
	a.want(t, 202, "")
	id := a.Body.OrderID
	if want := fmt.Sprintf(`{"orderId":"%s","status":"PENDING"}`, id); a.Text != want {
		t.Errorf("body: got %s, want %s", a.Text, want)
	}
	for name, want := range map[string]string{
		"Location": "/api/flash-sales/orders/" + id.String(), "Retry-After": "1",
		"Content-Type": "application/json", "Cache-Control": "no-store",
	} {
		if got := a.Headers[name]; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if id.SaleID() != sl.ID || !c.Mint.Owns(id, "u1") {
		t.Errorf("order id %s does not name sale %d and its shopper", id, sl.ID)
	}
	records := shoptest.Records(t, servers.KafkaBrokers(t), topic)
	if len(records) != 1 || string(records[0].Key) != itemText(sl, 0) {
		t.Fatalf("records: got %d, want 1 with the item as its key", len(records))
	}
	hold, _, err := c.Stock.Hold(t.Context(), stock.Of(&sl), "u1")
	if err != nil {
		t.Fatal(err)
	}
	want := sale.Placed{OrderID: id, SaleID: sl.ID, ItemID: sl.Items[0].ID, UserID: "u1", ReservedAt: hold.ReservedAt}
	if got, err := orderlog.Decode(records[0].Value); err != nil || got != want {
		t.Errorf("record: got %+v, %v, want %+v", got, err, want)
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	log, _ := onKafka(t)
	c := open(t, log)
	sl := c.sells(t, 5, 5)
	first := c.buy(t, sl, 0, "u1", "k1")
	first.want(t, 202, "")

	t.Run("again before the writer", func(t *testing.T) {
		again := c.buy(t, sl, 0, "u1", "k1")
		if again.Status != 202 || again.Text != first.Text {
			t.Errorf("again: got %d %s, want 202 %s", again.Status, again.Text, first.Text)
		}
	})
	t.Run("again after the writer", func(t *testing.T) {
		err := c.Stock.Confirm(t.Context(), stock.Of(&sl), []stock.Confirmation{
			{OrderID: first.Body.OrderID, UserID: "u1", PayBy: time.Now().Add(time.Minute)},
		})
		if err != nil {
			t.Fatal(err)
		}
		again := c.buy(t, sl, 0, "u1", "k1")
		if again.Status != 202 || again.Text != first.Text {
			t.Errorf("again: got %d %s, want 202 %s", again.Status, again.Text, first.Text)
		}
	})
	for name, tc := range map[string]struct {
		item int
		key  string
	}{"other item": {1, "k1"}, "other key": {0, "k2"}, "no key": {0, ""}} {
		t.Run(name, func(t *testing.T) {
			a := c.buy(t, sl, tc.item, "u1", tc.key)
			a.want(t, 409, "ALREADY_PURCHASED")
			if a.Body.OrderID != first.Body.OrderID {
				t.Errorf("own order: got %s, want %s", a.Body.OrderID, first.Body.OrderID)
			}
		})
	}
	t.Run("other shopper", func(t *testing.T) {
		a := c.buy(t, sl, 0, "u2", "k1")
		a.want(t, 202, "")
		if a.Body.OrderID == first.Body.OrderID {
			t.Errorf("two shoppers got one order %s", a.Body.OrderID)
		}
	})
	t.Run("longest key", func(t *testing.T) {
		c.buy(t, sl, 1, "u3", longText(255)).want(t, 202, "")
	})
	c.WantUnits(t, sl, 0, [4]int64{3, 1, 0, 1})
}

// TestWindowByRedis has a Redis whose clock is years ahead of the handler's. It
// jumps, so each moment has an environment that has just started: one that knows
// the time would not look again for a second.
func TestWindowByRedis(t *testing.T) {
	t.Parallel()
	c, mini := openMini(t, silent(t))
	sl := c.Sale(1)
	sl.OpensAt = time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)
	sl.ClosesAt = sl.OpensAt.Add(time.Hour)
	c.Offer(t, sl, nil)
	c.List(t, sl)
	at := func(now time.Time, log purchase.Log) {
		mini.SetTime(now)
		c.h = handler(t, c.Shelf, log)
	}
	for left, retry := range map[time.Duration]string{90*time.Second + 500*time.Millisecond: "91", time.Millisecond: "1"} {
		at(sl.OpensAt.Add(-left), silent(t))
		a := c.buy(t, sl, 0, "u1", "")
		a.want(t, 403, "SALE_NOT_OPEN")
		if a.Headers["Retry-After"] != retry || a.Body.OpensAt != "2031-05-01T12:00:00Z" {
			t.Errorf("%s early: got Retry-After %q, opensAt %q, want %q and 2031-05-01T12:00:00Z",
				left, a.Headers["Retry-After"], a.Body.OpensAt, retry)
		}
	}
	at(sl.ClosesAt, silent(t))
	c.buy(t, sl, 0, "u1", "").want(t, 410, "SALE_CLOSED")
	at(sl.ClosesAt.Add(-time.Millisecond), fault(nothingWrong))
	c.buy(t, sl, 0, "u1", "").want(t, 202, "")
	at(sl.OpensAt, silent(t))
	c.buy(t, sl, 0, "u2", "").want(t, 410, "SOLD_OUT")
}

func TestWarm(t *testing.T) {
	t.Parallel()
	c := open(t, fault(nothingWrong))
	c.h.Warm(t.Context()) // without a catalog, and with nobody to tell
	sl := c.sells(t, 1)
	if _, _, err := c.h.Catalog.Sale(t.Context(), sl.ID); errors.Is(err, stock.ErrNoCatalog) {
		time.Sleep(time.Second) // it looks once a second
	}
	c.buy(t, sl, 0, "u1", "").want(t, 202, "")
}
