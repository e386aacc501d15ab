package purchase_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/lua"
	"flashsale/shared/identity"
	"flashsale/shared/identity/identitytest"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// inBudget is the one time that is promised: 2 s, and some for a busy machine.
const inBudget = 2500 * time.Millisecond

func TestPublishFails(t *testing.T) {
	t.Parallel()
	var lost sale.Placed
	c := open(t, fault(func(_ context.Context, p sale.Placed) error {
		lost = p
		return errAway
	}))
	sl := c.sells(t, 1)
	a := c.buy(t, sl, 0, "u1", "k1")
	a.want(t, 503, "TRY_AGAIN")
	if a.Headers["Retry-After"] != "1" {
		t.Errorf("Retry-After: got %q, want 1", a.Headers["Retry-After"])
	}
	c.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 0})
	if got := c.Check(t, sl).Tombstones; got != 1 {
		t.Errorf("tombstones: got %d, want 1", got)
	}
	// The record may land all the same.
	got, err := c.Stock.Claim(t.Context(), stock.Of(&sl), []sale.Placed{lost})
	if err != nil || got[0] != stock.Dropped {
		t.Errorf("late record: got %v, %v, want dropped", got, err)
	}
	c.h.Log = fault(nothingWrong)
	c.buy(t, sl, 0, "u1", "k1").want(t, 202, "")
}

// TestAnswerLost has Redis hold a unit and its answer not arrive: the shopper is told to try again,
// so the unit goes back at once, and not when the sweep finds it.
func TestAnswerLost(t *testing.T) {
	t.Parallel()
	c := open(t, silent(t))
	sl := c.sells(t, 1)
	deaf := shoptest.OpenShelf(t, servers.RedisURL(t))
	deaf.Redis.AddHook(deafToReserve{})
	c.h.Stock = deaf.Stock
	c.buy(t, sl, 0, "u1", "").want(t, 503, "TRY_AGAIN")
	c.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 0})
	if got := c.Check(t, sl).Tombstones; got != 1 {
		t.Errorf("tombstones: got %d, want 1", got)
	}
}

// deafToReserve loses the answers of reserve.lua.
type deafToReserve struct{}

func (deafToReserve) DialHook(next redis.DialHook) redis.DialHook { return next }
func (deafToReserve) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (deafToReserve) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	reserve := redis.NewScript(lua.Reserve).Hash()
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); err == nil && len(args) > 1 && args[1] == reserve {
			err = errors.New("the answer is lost")
			cmd.SetErr(err)
		}
		return err
	}
}

func TestPublishHangs(t *testing.T) {
	t.Parallel()
	c := open(t, fault(func(ctx context.Context, _ sale.Placed) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}))
	sl := c.sells(t, 1)
	start := time.Now()
	c.buy(t, sl, 0, "u1", "").want(t, 503, "TRY_AGAIN")
	if took := time.Since(start); took > inBudget {
		t.Errorf("answer after %s, want within the budget of 2s", took)
	}
	c.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 0})
}

// TestTimeThatRemains has less time than the budget: the publish must leave
// some of it for the release.
func TestTimeThatRemains(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	end, _ := ctx.Deadline()
	c := open(t, fault(func(ctx context.Context, _ sale.Placed) error {
		if publish, ok := ctx.Deadline(); !ok || end.Sub(publish) < 100*time.Millisecond {
			t.Errorf("the publish may take until %s, the whole call until %s", publish, end)
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}))
	sl := c.sells(t, 1)
	text, err := c.h.Invoke(ctx, call{item: itemText(sl, 0), bearer: provider.Token("u1")}.event())
	if err != nil || !strings.Contains(string(text), `"statusCode":503`) {
		t.Errorf("answer: got %s, %v, want 503", text, err)
	}
	c.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 0})
}

func TestPublishFailsAfterItLanded(t *testing.T) {
	t.Parallel()
	var c *counter
	var sl sale.Sale
	c = open(t, fault(func(ctx context.Context, p sale.Placed) error {
		if got, err := c.Stock.Claim(ctx, stock.Of(&sl), []sale.Placed{p}); err != nil || got[0] != stock.Claimed {
			t.Errorf("claim: got %v, %v, want claimed", got, err)
		}
		return errAway
	}))
	sl = c.sells(t, 1)
	a := c.buy(t, sl, 0, "u1", "")
	a.want(t, 202, "")
	c.wantHold(t, sl, "u1", a.Body.OrderID)
}

// TestRepeatedWhileFailing has the first call's publish end only after the
// second call was answered: the second one's claim saves the order.
func TestRepeatedWhileFailing(t *testing.T) {
	t.Parallel()
	inFirst, answered := make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	c := open(t, fault(func(context.Context, sale.Placed) error {
		if calls.Add(1) > 1 {
			return nil
		}
		close(inFirst)
		<-answered
		return errAway
	}))
	sl := c.sells(t, 1)
	var first answer
	var wait sync.WaitGroup
	wait.Go(func() { first = c.buy(t, sl, 0, "u1", "k1") })
	<-inFirst
	second := c.buy(t, sl, 0, "u1", "k1")
	close(answered)
	wait.Wait()
	first.want(t, 202, "")
	second.want(t, 202, "")
	if first.Text != second.Text {
		t.Errorf("answers differ: %s and %s", first.Text, second.Text)
	}
	c.wantHold(t, sl, "u1", second.Body.OrderID)
}

// TestRepeatedRace lets both calls run freely, many times. Whatever the order of
// events, a 202 names an order that is acknowledged and still held.
func TestRepeatedRace(t *testing.T) {
	t.Parallel()
	const rounds = 150
	var acked, failedOnce sync.Map
	c := open(t, fault(func(_ context.Context, p sale.Placed) error {
		if _, again := failedOnce.LoadOrStore(p.UserID, true); !again {
			return errAway
		}
		acked.Store(p.OrderID, true)
		return nil
	}))
	sl := c.sells(t, rounds)
	for i := range rounds {
		user := fmt.Sprintf("u%d", i)
		var answers [2]answer
		var wait sync.WaitGroup
		for n := range answers {
			wait.Go(func() { answers[n] = c.buy(t, sl, 0, user, "k") })
		}
		wait.Wait()
		hold, held, err := c.Stock.Hold(t.Context(), stock.Of(&sl), user)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range answers {
			if a.Status != 202 {
				a.want(t, 503, "TRY_AGAIN")
				continue
			}
			_, published := acked.Load(a.Body.OrderID)
			if !held || hold.OrderID != a.Body.OrderID || !(published || hold.Claimed) {
				t.Errorf("%s: 202 for %s, but held %v %s, published %v", user, a.Body.OrderID, held, hold.OrderID, published)
			}
		}
		if answers[0].Status == 503 && answers[1].Status == 503 && held {
			t.Errorf("%s: two 503s left a hold", user)
		}
	}
	if !c.Check(t, sl).Conserved() {
		t.Error("stock + holds is not the quota")
	}
}

func TestRedisHangs(t *testing.T) {
	t.Parallel()
	hanging := shoptest.OpenShelf(t, "redis://"+deafServer(t))
	for name, withCatalog := range map[string]bool{"from the first": false, "once the catalog is known": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, silent(t))
			sl := c.sells(t, 1)
			c.h.Stock = hanging.Stock
			if !withCatalog {
				c.h.Catalog = catalogOf(hanging.Stock)
			}
			start := time.Now()
			c.buy(t, sl, 0, "u1", "").want(t, 503, "TRY_AGAIN")
			if took := time.Since(start); took > inBudget {
				t.Errorf("answer after %s, want within the budget of 2s", took)
			}
		})
	}
}

// deafServer accepts connections and never answers.
func deafServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
	}()
	return listener.Addr().String()
}

func TestCatalogMissing(t *testing.T) {
	t.Parallel()
	c := open(t, silent(t))
	for _, item := range []string{"1", "9223372036854775807"} {
		c.answer(t, call{item: item, bearer: provider.Token("u1")}).want(t, 503, "TRY_AGAIN")
	}
	// What no item can be needs no catalog.
	c.answer(t, call{item: "0", bearer: provider.Token("u1")}).want(t, 404, "UNKNOWN_ITEM")
}

func TestKeysUnavailable(t *testing.T) {
	t.Parallel()
	c := open(t, silent(t))
	sl := c.sells(t, 1)
	keys := identity.FetchedKeys("http://127.0.0.1:1/jwks.json", time.Minute, time.Now)
	c.h.Shoppers = identity.NewVerifier(keys, identitytest.Issuer, identitytest.Audience, time.Minute, time.Now)
	c.buy(t, sl, 0, "u1", "").want(t, 503, "TRY_AGAIN")
	c.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 0})
}

// wantHold checks that the shopper's hold is that order.
func (c *counter) wantHold(t *testing.T, sl sale.Sale, user string, id sale.OrderID) {
	t.Helper()
	hold, held, err := c.Stock.Hold(t.Context(), stock.Of(&sl), user)
	if err != nil || !held || hold.OrderID != id {
		t.Errorf("hold of %s: got %s, %v, %v, want %s", user, hold.OrderID, held, err, id)
	}
}
