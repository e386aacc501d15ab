package purchase_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// A traffic counts what goes to Redis, and can cut it off.
type traffic struct {
	n   atomic.Int64
	cut atomic.Bool
}

func (*traffic) DialHook(next redis.DialHook) redis.DialHook { return next }

func (tr *traffic) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if tr.n.Add(1); tr.cut.Load() {
			return context.DeadlineExceeded
		}
		return next(ctx, cmd)
	}
}

func (tr *traffic) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if tr.n.Add(1); tr.cut.Load() {
			return context.DeadlineExceeded
		}
		return next(ctx, cmds)
	}
}

// A still counter has a clock that stands still until the test lets time pass.
type still struct {
	*counter
	traffic *traffic
	elapsed atomic.Int64
}

func openStill(t testing.TB, c *counter) *still {
	s := &still{counter: c, traffic: &traffic{}}
	c.Redis.AddHook(s.traffic)
	start := time.Now()
	now := func() time.Time { return start.Add(time.Duration(s.elapsed.Load())) }
	c.h.Catalog, c.h.Now = stock.NewCatalog(c.Stock, now), now
	c.h.Latch = stock.NewLatch(c.Stock, c.h.Catalog, now)
	return s
}

func (s *still) passes(d time.Duration) { s.elapsed.Add(int64(d)) }

// forged is a token for a shopper that the provider never signed.
func forged(user string) string {
	good := provider.Token(user)
	return good[:strings.LastIndexByte(good, '.')] + ".c2lnbmF0dXJl"
}

// latched makes a sale whose only unit the shopper "winner" has, with the latch closed.
func (s *still) latched(t *testing.T) (sl sale.Sale, own sale.OrderID) {
	t.Helper()
	sl = s.sells(t, 1)
	own = s.buy(t, sl, 0, "winner", "key").Body.OrderID
	s.buy(t, sl, 0, "early loser", "").want(t, 410, "SOLD_OUT")
	return sl, own
}

// TestPrecedenceLatched is the order of precedence while the latch is closed.
// Forged tokens get what good ones get, and a refusal looks at nothing else.
func TestPrecedenceLatched(t *testing.T) {
	t.Parallel()
	s := openStill(t, open(t, fault(nothingWrong)))
	sl, own := s.latched(t)
	item := itemText(sl, 0)
	for name, c := range map[string]struct {
		made   call
		status int
		code   string
	}{
		"no bearer":                         {call{item: item}, 401, "UNAUTHENTICATED"},
		"malformed bearer":                  {call{item: item, bearer: "x"}, 401, "UNAUTHENTICATED"},
		"malformed bearer, unknown item":    {call{item: "1", bearer: "x"}, 401, "UNAUTHENTICATED"},
		"unknown item, forged":              {call{item: "1", bearer: forged("u1")}, 404, "UNKNOWN_ITEM"},
		"no item, forged":                   {call{item: "0x1", bearer: forged("u1")}, 404, "UNKNOWN_ITEM"},
		"stranger":                          {call{item: item, bearer: provider.Token("u1")}, 410, "SOLD_OUT"},
		"stranger, forged":                  {call{item: item, bearer: forged("u1")}, 410, "SOLD_OUT"},
		"stranger, bad key":                 {call{item: item, bearer: provider.Token("u1"), key: longText(256)}, 410, "SOLD_OUT"},
		"nobody's token":                    {call{item: item, bearer: "not.a.token"}, 410, "SOLD_OUT"},
		"winner":                            {call{item: item, bearer: provider.Token("winner")}, 409, "ALREADY_PURCHASED"},
		"winner, same key":                  {call{item: item, bearer: provider.Token("winner"), key: "key"}, 202, ""},
		"winner, bad key":                   {call{item: item, bearer: provider.Token("winner"), key: longText(256)}, 400, "BAD_REQUEST"},
		"winner, forged":                    {call{item: item, bearer: forged("winner")}, 410, "SOLD_OUT"},
		"winner, forged, bad key":           {call{item: item, bearer: forged("winner"), key: longText(256)}, 410, "SOLD_OUT"},
		"GET":                               {call{item: item, bearer: provider.Token("u1"), extra: map[string]any{"httpMethod": "GET"}}, 405, "METHOD_NOT_ALLOWED"},
		"two Authorization headers":         {call{item: item, multi: map[string][]string{"authorization": {"Bearer a.b.c", "Bearer a.b.c"}}}, 401, "UNAUTHENTICATED"},
		"stranger, the event read in full":  {call{item: item, bearer: provider.Token("u1"), extra: map[string]any{"resource": "\u00e4\"", "HTTPMETHOD": "POST"}}, 410, "SOLD_OUT"},
		"winner, forged, read in full":      {call{item: item, bearer: forged("winner"), extra: map[string]any{"HTTPMETHOD": "POST"}}, 410, "SOLD_OUT"},
		"unknown item, the event in full":   {call{item: "1", bearer: forged("u1"), extra: map[string]any{"HTTPMETHOD": "POST"}}, 404, "UNKNOWN_ITEM"},
		"a winner's sub that needs reading": {call{item: item, bearer: "e30.eyJzdWIiOiJ3aW5uZXJcdTAwMjEifQ.e30"}, 410, "SOLD_OUT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := s.answer(t, c.made)
			a.want(t, c.status, c.code)
			if (c.status == 409 || c.status == 202) && a.Body.OrderID != own {
				t.Errorf("order: got %s, want the own one %s", a.Body.OrderID, own)
			}
			if got, want := a.Headers["WWW-Authenticate"] != "", c.status == 401; got != want {
				t.Errorf("WWW-Authenticate: present %v, want %v", got, want)
			}
		})
	}
}

// The same refusal, byte by byte, whether it took the full way or not.
func TestLocalRefusalIsTheSame(t *testing.T) {
	t.Parallel()
	c := open(t, fault(nothingWrong))
	c.h.Edge.Origins = []string{"https://shop.example"}
	s := openStill(t, c)
	sl := s.sells(t, 1)
	s.buy(t, sl, 0, "winner", "")
	events := [][]byte{
		call{item: itemText(sl, 0), bearer: provider.Token("u1")}.event(),
		call{item: itemText(sl, 0), bearer: provider.Token("u1"), multi: map[string][]string{"Origin": {"https://shop.example"}}}.event(),
		call{item: itemText(sl, 0), bearer: provider.Token("u1"), multi: map[string][]string{"Origin": {"https://other.example"}}}.event(),
	}
	var full []string
	for _, event := range events {
		s.h.Latch = stock.NewLatch(s.Stock, s.h.Catalog, s.h.Now) // knows nothing
		full = append(full, string(s.invoke(t, event)))
	}
	before := s.traffic.n.Load()
	for i, event := range events {
		if got := string(s.invoke(t, event)); got != full[i] {
			t.Errorf("local refusal %s, want %s", got, full[i])
		}
	}
	if s.traffic.n.Load() != before {
		t.Error("the second round asked Redis")
	}
	for _, bearer := range []string{"", "a.b"} {
		local := s.invoke(t, call{item: "1", bearer: bearer}.event())
		inFull := s.invoke(t, call{item: "1", bearer: bearer, extra: map[string]any{"HTTPMETHOD": "POST"}}.event())
		if string(local) != string(inFull) {
			t.Errorf("bearer %q: local refusal %s, want %s", bearer, local, inFull)
		}
	}
}

func (c *counter) invoke(t testing.TB, event []byte) []byte {
	answer, err := c.h.Invoke(context.Background(), event)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// TestRefusalsCostNothing cuts Redis off and takes the provider's keys away.
// Refusals go on for the latch time, without any allocation. Counting those, it
// cannot be parallel.
func TestRefusalsCostNothing(t *testing.T) {
	s := openStill(t, open(t, fault(nothingWrong)))
	known := s.shut(t)

	s.traffic.cut.Store(true)
	s.h.Shoppers = keysAway()
	before := s.traffic.n.Load()
	somebody := forged("stranger")
	for name, w := range map[string]struct {
		item, bearer, status, code string
	}{
		"sold out":  {itemText(known.out, 0), somebody, "410", "SOLD_OUT"},
		"not open":  {itemText(known.waiting, 0), somebody, "403", "SALE_NOT_OPEN"},
		"closed":    {itemText(known.over, 0), somebody, "410", "SALE_CLOSED"},
		"unknown":   {"1", somebody, "404", "UNKNOWN_ITEM"},
		"no item":   {"x", somebody, "404", "UNKNOWN_ITEM"},
		"no bearer": {itemText(known.out, 0), "", "401", "UNAUTHENTICATED"},
		"malformed": {"1", "a.b", "401", "UNAUTHENTICATED"},
	} {
		event := call{item: w.item, bearer: w.bearer}.event()
		if got := string(s.invoke(t, event)); !strings.Contains(got, w.status) || !strings.Contains(got, w.code) {
			t.Errorf("%s: got %s, want %s %s", name, got, w.status, w.code)
		}
		if raceDetector {
			continue // it allocates by itself; make test runs this test without it too
		}
		if got := testing.AllocsPerRun(100, func() { s.invoke(t, event) }); got != 0 {
			t.Errorf("%s: %v allocations, want none", name, got)
		}
	}
	if got := s.traffic.n.Load() - before; got != 0 {
		t.Errorf("%d calls of Redis, want none", got)
	}
	s.passes(300 * time.Millisecond)
	s.answer(t, call{item: itemText(known.out, 0), bearer: forged("stranger")}).want(t, 503, "TRY_AGAIN")
	s.answer(t, call{item: itemText(known.waiting, 0), bearer: forged("stranger")}).want(t, 403, "SALE_NOT_OPEN")
}

// TestWindowIsKnown has a sale whose opening and end the environment knows from
// the catalog and Redis' clock: it refuses by itself whatever stops the sale, but
// not near the limits, and not a winner.
func TestWindowIsKnown(t *testing.T) {
	t.Parallel()
	c := open(t, fault(nothingWrong))
	s := openStill(t, c)
	sl := c.Sale(5)
	sl.OpensAt = time.Now().UTC().Truncate(time.Millisecond).Add(10 * time.Second)
	sl.ClosesAt = sl.OpensAt.Add(10 * time.Second)
	c.Offer(t, sl, paused)
	c.List(t, sl)
	ask := func(user string, status int, code string) answer {
		t.Helper()
		a := s.answer(t, call{item: itemText(sl, 0), bearer: user})
		a.want(t, status, code)
		return a
	}
	a := ask(forged("stranger"), 403, "SALE_NOT_OPEN") // the first call learns the time on the full way
	if again := ask(forged("stranger"), 403, "SALE_NOT_OPEN"); again.Text != a.Text || again.Headers["Retry-After"] != a.Headers["Retry-After"] {
		t.Errorf("not open: got %v, want %v", again, a)
	}
	if a.Headers["Retry-After"] == "" || a.Body.OpensAt != sl.OpensAt.Format(time.RFC3339Nano) {
		t.Errorf("Retry-After %q, opensAt %q, want %s", a.Headers["Retry-After"], a.Body.OpensAt, sl.OpensAt.Format(time.RFC3339Nano))
	}
	// So near the opening only Redis knows, and there the sale is paused.
	soon := c.Sale(5)
	soon.OpensAt = time.Now().UTC().Truncate(time.Millisecond).Add(150 * time.Millisecond)
	c.Offer(t, soon, paused)
	c.List(t, soon)
	s.passes(time.Second)
	sl = soon
	ask(provider.Token("u1"), 503, "TRY_AGAIN")
}

// TestClosedWithFilter is the end of a sale: its winner still hears of the own order.
func TestClosedWithFilter(t *testing.T) {
	t.Parallel()
	c := open(t, fault(nothingWrong))
	s := openStill(t, c)
	sl := c.Sale(2)
	c.Offer(t, sl, nil)
	own := c.Reserve(t, sl, 0, "winner")
	sl.ClosesAt = time.Now().Add(-time.Minute)
	c.Steer(t, sl, 2, func(set *sale.Settings) {
		set.ClosesAt, set.Paused = sl.ClosesAt, []sale.PauseReason{sale.PausedByOperator}
	})
	never := c.Sale(1)
	never.OpensAt, never.ClosesAt = sl.OpensAt, sl.ClosesAt
	err := c.Stock.PutCatalog(t.Context(), sale.NewCatalog([]sale.Listing{{Sale: sl, Standing: sale.Standing{Loaded: true}}, {Sale: never}}))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.answer(t, call{item: itemText(sl, 0), bearer: forged("stranger")}).want(t, 410, "SALE_CLOSED")
		s.answer(t, call{item: itemText(sl, 0), bearer: forged("winner")}).want(t, 410, "SALE_CLOSED")
		s.answer(t, call{item: itemText(never, 0), bearer: forged("winner")}).want(t, 410, "SALE_CLOSED")
		a := s.buy(t, sl, 0, "winner", "")
		a.want(t, 409, "ALREADY_PURCHASED")
		if a.Body.OrderID != own.OrderID {
			t.Errorf("order: got %s, want %s", a.Body.OrderID, own.OrderID)
		}
	}
}
