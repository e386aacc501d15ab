package crowd_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/localstack/stampede/crowd"
	"flashsale/localstack/stampede/report"
)

// A door is a target that refuses everybody and remembers who came.
type door struct {
	mu      sync.Mutex
	keys    map[string]int
	inside  atomic.Int64
	most    atomic.Int64
	answers func(c crowd.Call) crowd.Answer
}

func (d *door) Answer(_ context.Context, c crowd.Call) crowd.Answer {
	inside := d.inside.Add(1)
	defer d.inside.Add(-1)
	for most := d.most.Load(); inside > most && !d.most.CompareAndSwap(most, inside); most = d.most.Load() {
	}
	if c.Action == crowd.Purchase {
		d.mu.Lock()
		d.keys[c.Key]++
		d.mu.Unlock()
	}
	return d.answers(c)
}

func refuse(c crowd.Call) crowd.Answer {
	if c.Action == crowd.MyOrder {
		return crowd.Answer{Code: 404, Error: "NO_ORDER"}
	}
	return crowd.Answer{Code: 410, Error: "SOLD_OUT"}
}

func newDoor(answers func(crowd.Call) crowd.Answer) *door {
	return &door{keys: map[string]int{}, answers: answers}
}

func config(shoppers int) crowd.Config {
	return crowd.Config{
		Shoppers: shoppers, Part: 1, Parts: 1, Seed: 5, Token: func(i int) string { return fmt.Sprint(i) },
		Sale: 7, Item: 1001, Opens: time.Now(), InFlight: 8, Limit: time.Minute, Patience: time.Second,
		Habits: report.Habits{Spread: report.Duration(200 * time.Millisecond), Double: 0.2, DropOut: 0.1},
	}
}

func run(t *testing.T, cfg crowd.Config, to crowd.Target) *report.Report {
	t.Helper()
	r, err := crowd.Run(t.Context(), cfg, to)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCrowd(t *testing.T) {
	t.Parallel()
	const shoppers = 500

	t.Run("the same shoppers come in parts as in a whole", func(t *testing.T) {
		t.Parallel()
		whole := newDoor(refuse)
		all := run(t, config(shoppers), whole)
		parts := newDoor(refuse)
		sums, sizes := map[report.Class]int{}, 0
		for part := 1; part <= 3; part++ {
			cfg := config(shoppers)
			cfg.Part, cfg.Parts = part, 3
			r := run(t, cfg, parts)
			sizes += r.Shoppers
			for class, n := range r.Classes {
				sums[class] += n
			}
		}
		// After the rush somebody presses once more to hear what is left; those keys say so.
		for _, d := range []*door{whole, parts} {
			maps.DeleteFunc(d.keys, func(key string, _ int) bool { return key[len(key)-1] == 't' })
		}
		if sizes != shoppers || len(whole.keys) != shoppers || !maps.Equal(whole.keys, parts.keys) {
			t.Errorf("%d in parts, keys: whole %d, parts %d; want the same %d", sizes, len(whole.keys), len(parts.keys), shoppers)
		}
		if !maps.Equal(sums, all.Classes) {
			t.Errorf("classes: parts %v, whole %v", sums, all.Classes)
		}
		doubles := slices.Collect(maps.Values(whole.keys))
		if slices.Max(doubles) != 2 || all.Classes[report.DroppedOut] == 0 {
			t.Errorf("presses %d at most, %d dropped out; want double clicks and drop-outs", slices.Max(doubles), all.Classes[report.DroppedOut])
		}
	})

	t.Run("no more calls at a time than there are places", func(t *testing.T) {
		t.Parallel()
		d := newDoor(func(c crowd.Call) crowd.Answer { time.Sleep(2 * time.Millisecond); return refuse(c) })
		run(t, config(shoppers), d)
		if got := d.most.Load(); got > 8 {
			t.Errorf("%d calls at a time, want 8 at most", got)
		}
	})

	t.Run("the limit ends it, and it is said", func(t *testing.T) {
		t.Parallel()
		cfg := config(shoppers)
		cfg.Limit = 100 * time.Millisecond // half of them arrive in it
		r := run(t, cfg, newDoor(func(c crowd.Call) crowd.Answer {
			if c.Action == crowd.MyOrder {
				return refuse(c)
			}
			return crowd.Answer{Code: 503}
		}))
		if r.Classes[report.Unfinished] < shoppers/2 || !r.Broken {
			t.Errorf("classes %v, broken %t; want most unfinished and true", r.Classes, r.Broken)
		}
	})

	t.Run("a stall is seen by those who waited for it", func(t *testing.T) {
		t.Parallel()
		const stall = 500 * time.Millisecond
		var once sync.Once
		cfg := config(shoppers)
		cfg.InFlight = 1
		r := run(t, cfg, newDoor(func(c crowd.Call) crowd.Answer {
			once.Do(func() { time.Sleep(stall) })
			return refuse(c)
		}))
		l := r.Latencies[report.Refusal]
		// One call was slow. Everybody else came while it lasted, and waited for it.
		if plain, corrected := l.Plain.At(90), l.Corrected.At(50); plain > stall/2 || corrected < stall/4 {
			t.Errorf("p90 from the send %s, median from the wish %s; want the stall in the second alone", plain, corrected)
		}
	})

	t.Run("who is too early presses again at the opening", func(t *testing.T) {
		t.Parallel()
		cfg := config(50)
		cfg.Habits = report.Habits{EarlyShare: 1, Early: report.Duration(300 * time.Millisecond), Spread: report.Duration(time.Millisecond)}
		cfg.Opens = time.Now().Add(400 * time.Millisecond)
		r := run(t, cfg, newDoor(func(c crowd.Call) crowd.Answer {
			if time.Now().Before(cfg.Opens) {
				return crowd.Answer{Code: 403, Error: "SALE_NOT_OPEN", OpensAt: cfg.Opens, RetryAfter: time.Second}
			}
			return refuse(c)
		}))
		if r.Classes[report.SoldOut] != 50 || r.Answers["POST 403 SALE_NOT_OPEN"] == 0 || r.Answers["POST 410 SOLD_OUT"] < 50 {
			t.Errorf("classes %v, answers %v; want all to be told to wait, and then sold out", r.Classes, r.Answers)
		}
	})

	t.Run("an order that nobody read of is found", func(t *testing.T) {
		t.Parallel()
		cfg := config(20)
		cfg.Habits.DropOut, cfg.Habits.Double = 1, 0
		r := run(t, cfg, newDoor(func(c crowd.Call) crowd.Answer {
			own := crowd.Answer{Code: 200, OrderID: "order-" + c.Token, Status: "PENDING", Payable: true, SaleID: 7, ItemID: 1001}
			if c.Action == crowd.Purchase {
				own.Code = 202
			}
			return own
		}))
		if r.Classes[report.Found] != 20 || r.Orders.Told != 20 || r.Broken {
			t.Errorf("classes %v, %d told of, broken %t; want 20 found, 20, false: %+v", r.Classes, r.Orders.Told, r.Broken, r.Promises)
		}
	})
}
