package stockkeeper_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"flashsale/functions/stockkeeper"
	"flashsale/localstack/servers"
	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

func TestLoadsInTime(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	soon, later, over := d.later(t, 9*time.Minute), d.later(t, 15*time.Minute), d.later(t, -2*time.Hour)

	d.passes(t, stockkeeper.Result{Loaded: 1})
	if got := d.Outcome(t, soon, 0, "u1"); got != stock.NotOpen {
		t.Errorf("loaded sale: got %v, want not open", got)
	}
	for name, sl := range map[string]sale.Sale{"too early": later, "over": over} {
		if got := d.Outcome(t, sl, 0, "u1"); got != stock.NotLoaded {
			t.Errorf("%s: got %v, want not loaded", name, got)
		}
	}
	for id, want := range map[sale.ID]bool{soon.ID: true, later.ID: false, over.ID: false} {
		if got := d.listing(t, id); got.Loaded != want {
			t.Errorf("catalog, sale %d: got loaded %v, want %v", id, got.Loaded, want)
		}
	}
	d.passes(t, stockkeeper.Result{})
	if _, err := d.Pool.Exec(t.Context(), `UPDATE flash_sale SET opens_at = opens_at - interval '6 minutes' WHERE id = $1`, int64(later.ID)); err != nil {
		t.Fatal(err)
	}
	d.passes(t, stockkeeper.Result{Loaded: 1})
	d.WantUnits(t, later, 0, [4]int64{10, 0, 0, 0})
}

// TestLoadsByRedisClock has a host and a database whose clocks are off: a sale that Redis is about to
// open must be loaded, and one that it has closed must not.
func TestLoadsByRedisClock(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"behind": -20 * time.Minute, "ahead": 2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, unused{t})
			d.Passes(off)
			soon := d.later(t, 5*time.Minute)
			d.passes(t, stockkeeper.Result{Loaded: 1})
			if got := d.Outcome(t, soon, 0, "u1"); got != stock.NotOpen {
				t.Errorf("got %v, want not open", got)
			}
		})
	}
}

// TestLoadsOnce has passes at once, and passes while units are sold.
func TestLoadsOnce(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	sl := d.later(t, -time.Minute)
	var wait sync.WaitGroup
	var mu sync.Mutex
	loaded := 0
	for range 3 {
		wait.Go(func() {
			got := d.invoke(t, once)
			mu.Lock()
			defer mu.Unlock()
			loaded += got.Loaded
		})
	}
	wait.Wait()
	if loaded != 1 {
		t.Errorf("loads of three passes at once: got %d, want 1", loaded)
	}
	d.Reserve(t, sl, 0, "u1")
	d.passes(t, stockkeeper.Result{})
	d.WantUnits(t, sl, 0, [4]int64{9, 1, 0, 0})
}

// TestAssertsSettings has a pause that Redis never heard of.
func TestAssertsSettings(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	sl := d.Open(t, 2)
	if err := d.Orders.Pause(t.Context(), sl.ID, sale.PausedByOperator, "test"); err != nil {
		t.Fatal(err)
	}
	if got := d.Outcome(t, sl, 0, "u1"); got != stock.Reserved {
		t.Fatalf("before the pass: got %v, want reserved", got)
	}
	d.passes(t, stockkeeper.Result{})
	if got := d.Outcome(t, sl, 0, "u1"); got != stock.Paused {
		t.Errorf("after the pass: got %v, want paused", got)
	}
	if !d.listing(t, sl.ID).Paused {
		t.Error("catalog: got not paused, want paused")
	}
}

// TestStuckHold is a purchase that died before its publish.
func TestStuckHold(t *testing.T) {
	t.Parallel()
	topic := servers.Topic(t, "orders", 1)
	d := open(t, orderlog.NewProducer(shoptest.Kafka(t, servers.KafkaBrokers(t), topic), topic))
	sl := d.Open(t, 3)
	stuck := d.Reserve(t, sl, 0, "u1")
	d.Reserve(t, sl, 0, "young")
	d.passes(t, stockkeeper.Result{})

	d.due(t, sl, "u1")
	d.passes(t, stockkeeper.Result{Republished: 1})
	d.passes(t, stockkeeper.Result{}) // its next look is later
	records := shoptest.Records(t, servers.KafkaBrokers(t), topic)
	if len(records) != 1 {
		t.Fatalf("records: got %d, want 1", len(records))
	}
	again, err := orderlog.Decode(records[0].Value)
	if err != nil || again != stuck {
		t.Fatalf("record: got %+v, %v, want %+v", again, err, stuck)
	}

	// The writer writes it and dies before it tells Redis.
	if got, err := d.Stock.Claim(t.Context(), stock.Of(&sl), []sale.Placed{again}); err != nil || got[0] != stock.Claimed {
		t.Fatalf("claim: got %v, %v", got, err)
	}
	d.Write(t, again)
	d.due(t, sl, "u1")
	d.passes(t, stockkeeper.Result{Confirmed: 1})
	d.WantRow(t, stuck.OrderID, order.Pending, "")
	d.WantUnits(t, sl, 0, [4]int64{1, 1, 0, 1})
	hold, _, err := d.Stock.Hold(t.Context(), stock.Of(&sl), "u1")
	if row := d.Row(t, stuck.OrderID); err != nil || !hold.PayBy.Equal(row.PayBy) {
		t.Errorf("payBy in redis: got %s, %v, want %s", hold.PayBy, err, row.PayBy)
	}
}

// TestHoldsOfEndedRows has rows that ended before Redis heard of them.
func TestHoldsOfEndedRows(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	sl := d.Open(t, 3)
	expired, rejected := d.Reserve(t, sl, 0, "u1"), d.Reserve(t, sl, 0, "u2")
	d.Write(t, expired)
	if err := d.Orders.Reject(t.Context(), []sale.Placed{rejected}, "test"); err != nil {
		t.Fatal(err)
	}
	d.Passes(sl.PaymentWindow + sl.Grace)
	if n, err := d.Orders.Expire(t.Context(), 10); n != 1 || err != nil {
		t.Fatalf("expire: got %d, %v", n, err)
	}
	d.due(t, sl, "u1")
	d.due(t, sl, "u2")
	d.passes(t, stockkeeper.Result{Released: 2})
	d.WantUnits(t, sl, 0, [4]int64{3, 0, 0, 0})
}

// TestLostSale has Redis lose a sale of which two units are sold. It must never
// be loaded again as if it were new, and the other sales are kept meanwhile.
func TestLostSale(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	lost, fine := d.Open(t, 5), d.Open(t, 5)
	soon := d.later(t, time.Minute)
	placed := []sale.Placed{d.Reserve(t, lost, 0, "u1"), d.Reserve(t, lost, 0, "u2")}
	d.Write(t, placed...)
	for _, part := range []string{"meta", "holds", "stock", "unconfirmed"} {
		d.Redis.Del(t.Context(), shoptest.Key(lost, part))
	}
	if err := d.Orders.Pause(t.Context(), fine.ID, sale.PausedByOperator, "test"); err != nil {
		t.Fatal(err)
	}

	waiting := true
	d.h.Keeper.Mark = func(context.Context, []sale.ItemID) (func(context.Context) (bool, error), error) {
		return func(context.Context) (bool, error) { return !waiting, nil }, nil
	}
	if got := d.invoke(t, once); got.Loaded != 1 {
		t.Errorf("loaded: got %d, want the new sale only", got.Loaded)
	}
	if got := d.Outcome(t, lost, 0, "u3"); got != stock.NotLoaded {
		t.Errorf("lost sale while records wait: got %v, want not loaded", got)
	}
	if got := d.Outcome(t, fine, 0, "u3"); got != stock.Paused {
		t.Errorf("other sale: got %v, want paused by the pass", got)
	}
	if got := d.Outcome(t, soon, 0, "u3"); got != stock.NotOpen {
		t.Errorf("new sale: got %v, want not open", got)
	}

	waiting = false
	if got := d.invoke(t, once); got.Loaded != 0 || got.Adopted != 2 {
		t.Errorf("rebuild: got %+v, want nothing loaded and 2 adopted", got)
	}
	d.WantUnits(t, lost, 0, [4]int64{3, 0, 0, 2})
}

// TestOneSaleInTrouble has a sale that Redis refuses to work on.
func TestOneSaleInTrouble(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	damaged, soon := d.later(t, time.Minute), d.later(t, time.Minute)
	d.Redis.Set(t.Context(), shoptest.Key(damaged, "stock"), "typed", 0)
	if answer, err := d.h.Invoke(t.Context(), []byte(once)); err == nil {
		t.Errorf("answer: got %s, want an error", answer)
	}
	if got := d.Outcome(t, soon, 0, "u1"); got != stock.NotOpen {
		t.Errorf("other sale: got %v, want it loaded", got)
	}
	if !d.listing(t, soon.ID).Loaded {
		t.Error("catalog: got the other sale not loaded, want loaded")
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	d.h.Pause = time.Millisecond
	d.later(t, time.Minute)
	if got := d.invoke(t, `{"source":"aws.events","detail-type":"Scheduled Event","detail":{}}`); got.Loaded != 1 {
		t.Errorf("two passes: got %+v, want the sale loaded once", got)
	}
	text, err := d.h.Invoke(t.Context(), []byte(once))
	const want = `{"loaded":0,"republished":0,"confirmed":0,"adopted":0,"released":0,"repaired":0,"transfersFinished":0}`
	if err != nil || string(text) != want {
		t.Errorf("answer: got %s, %v, want %s", text, err, want)
	}
	for _, event := range []string{``, `{}`, `null`, `{"passes":-1}`, `{"passes":1000000}`} {
		if answer, err := d.h.Invoke(t.Context(), []byte(event)); err == nil {
			t.Errorf("event %q: got %s, want an error", event, answer)
		}
	}
}

// TestDatabaseForgotTheLoad has a database restored to a moment before a sale was loaded, when the
// sale is over: what Redis sold is still written.
func TestDatabaseForgotTheLoad(t *testing.T) {
	t.Parallel()
	var log published
	d := open(t, &log)
	sl := d.Open(t, 10)
	p := d.Reserve(t, sl, 0, "u1")
	for _, statement := range []string{
		`UPDATE flash_sale SET loaded_at = NULL, closes_at = now() WHERE id = $1`,
		`DELETE FROM operator_action WHERE sale_id = $1`,
	} {
		if _, err := d.Pool.Exec(t.Context(), statement, int64(sl.ID)); err != nil {
			t.Fatal(err)
		}
	}
	d.invoke(t, once)
	d.due(t, sl, "u1")
	d.invoke(t, once)
	if got := log.orders(); len(got) != 1 || got[0] != p {
		t.Errorf("published: got %v, want %v", got, p)
	}
	d.WantUnits(t, sl, 0, [4]int64{9, 1, 0, 0})
}

// published remembers.
type published struct {
	mu     sync.Mutex
	placed []sale.Placed
}

func (l *published) Publish(_ context.Context, p sale.Placed) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.placed = append(l.placed, p)
	return nil
}

func (l *published) orders() []sale.Placed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.placed
}
