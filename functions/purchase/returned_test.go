package purchase_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// looks counts how often an environment has seen what a sale has left.
type looks struct{ n atomic.Int64 }

func (*looks) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*looks) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (l *looks) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if err == nil && len(cmds) > 0 && cmds[0].Name() == "hgetall" { // as Levels asks
			l.n.Add(1)
		}
		return err
	}
}

// An environment has a crowd of its own, which is refused.
type environment struct {
	*counter
	looks    looks
	refusals atomic.Int64
	crowd    sync.WaitGroup
}

// A sold unit, and how many looks its environment had made by then.
type sold struct {
	sale.Placed
	in    *environment
	looks int64
}

// openCrowded has a few shoppers press as fast as they can until ctx ends.
func openCrowded(ctx context.Context, t *testing.T, sl sale.Sale, name string, told chan<- sold) *environment {
	t.Helper()
	e := &environment{}
	e.counter = open(t, fault(func(_ context.Context, p sale.Placed) error {
		told <- sold{p, e, e.looks.n.Load()}
		return nil
	}))
	e.Redis.AddHook(&e.looks)
	e.List(t, sl)
	for k := range 3 {
		event := call{item: itemText(sl, 0), bearer: provider.Token(fmt.Sprint(name, k))}.event()
		e.crowd.Go(func() {
			for ctx.Err() == nil {
				switch got := string(e.invoke(t, event)); {
				case strings.Contains(got, "SOLD_OUT"):
					e.refusals.Add(1)
				case strings.Contains(got, `"statusCode":202`):
					return
				default:
					t.Errorf("the crowd hears %s", got)
					return
				}
			}
		})
	}
	t.Cleanup(e.crowd.Wait)
	return e
}

// TestReturnedUnit has two environments whose crowds are refused at full speed. A unit
// that comes back is sold at one of their next looks. The winner, whose answer was
// lost, asks in the other environment and hears of the own order as soon. Looks are
// counted and not seconds, for those are the machine's.
func TestReturnedUnit(t *testing.T) {
	t.Parallel()
	// One may be under way and have seen it too early, the next knows; and one for a
	// goroutine that is told late.
	const most = 3
	c := open(t, silent(t))
	sl := c.sells(t, 1)
	held := c.Reserve(t, sl, 0, "first")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	told := make(chan sold, 8)
	environments := [2]*environment{openCrowded(ctx, t, sl, "left ", told), openCrowded(ctx, t, sl, "right ", told)}
	for _, e := range environments { // latched, and refusing by themselves
		for e.looks.n.Load() < 2 || e.refusals.Load() < 1000 {
			if time.Sleep(time.Millisecond); t.Context().Err() != nil || t.Failed() {
				t.FailNow()
			}
		}
	}
	for range 3 {
		got, err := c.Stock.Release(t.Context(), stock.Of(&sl), stock.Settled, []stock.Held{{OrderID: held.OrderID, UserID: held.UserID}})
		if err != nil || got[0] != stock.Released {
			t.Fatalf("release: %v, %v", got, err)
		}
		before := map[*environment]int64{}
		for _, e := range environments {
			before[e] = e.looks.n.Load()
		}
		var won sold
		select {
		case won = <-told:
		case <-time.After(10 * time.Second):
			t.Fatal("the unit is not sold")
		}
		if n := won.looks - before[won.in]; n > most {
			t.Errorf("sold after %d looks, want %d at the most", n, most)
		}
		other := environments[0]
		if other == won.in {
			other = environments[1]
		}
		other.hears(t, sl, won.Placed, most)
		held = won.Placed
	}
	leave()
	for _, e := range environments {
		e.crowd.Wait()
	}
	c.WantUnits(t, sl, 0, [4]int64{0, 1, 0, 0})
}

// hears has a winner ask until the answer is the own order.
func (e *environment) hears(t *testing.T, sl sale.Sale, own sale.Placed, most int64) {
	t.Helper()
	for first := e.looks.n.Load(); ; {
		made := e.looks.n.Load() - first // before the question, which may take its time
		a := e.buy(t, sl, 0, own.UserID, "")
		if a.Status == 409 {
			if a.Body.OrderID != own.OrderID {
				t.Errorf("the winner hears of order %s, want %s", a.Body.OrderID, own.OrderID)
			}
			return
		}
		if a.want(t, 410, "SOLD_OUT"); made > most || t.Failed() {
			t.Fatalf("after %d looks the winner still hears %d %s", made, a.Status, a.Text)
		}
	}
}
