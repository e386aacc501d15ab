package linear_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

const (
	quantity = 2
	clients  = 6
	each     = 9 // calls of a client in one history
	// patience bounds one call where requests are lost, and so how long a history takes. Where
	// none is, a call that is not answered on a busy machine would say nothing.
	patience, ample = 150 * time.Millisecond, 10 * time.Second
	// tooLong is no verdict: a history that is not decided by then fails.
	tooLong = 20 * time.Second
)

func TestSingle(t *testing.T) {
	t.Parallel()
	options, err := redis.ParseURL(servers.RedisURL(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, loss := range map[string]float64{"a network that is well": 0, "lost requests and answers": 0.05} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := *options
			w := &weather{loss: loss}
			// The client does not repeat a call here: that would be two.
			o.Dialer, o.MaxRetries, o.ContextTimeoutEnabled = w.dial, -1, true
			rdb := redis.NewClient(&o)
			t.Cleanup(func() { _ = rdb.Close() })
			explain(t, rdb, w, 40)
		})
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	options, err := redis.ParseClusterURL(strings.Replace(servers.ClusterURL(t), "cluster=true&", "", 1))
	if err != nil {
		t.Fatal(err)
	}
	for name, loss := range map[string]float64{"a network that is well": 0, "lost requests and answers": 0.05} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := *options
			w := &weather{loss: loss}
			o.Dialer, o.MaxRetries, o.MaxRedirects, o.ContextTimeoutEnabled = w.dial, -1, -1, true
			rdb := redis.NewClusterClient(&o)
			t.Cleanup(func() { _ = rdb.Close() })
			explain(t, rdb, w, 40)
		})
	}
}

// explain records histories of fresh shards and has each explained.
func explain(t *testing.T, rdb redis.UniversalClient, w *weather, rounds int) {
	t.Helper()
	seen := map[reply]int{}
	for range rounds {
		h := record(t, rdb, w)
		for _, op := range h {
			r := op.Output.(reply) //nolint:forcetypeassert // ours
			r.own = 0
			seen[r]++
		}
		verdict, _ := porcupine.CheckOperationsVerbose(model(quantity), h, tooLong)
		if verdict != porcupine.Ok {
			t.Errorf("history: got %s, want a sequence that explains it:", verdict)
			for _, op := range h {
				t.Logf("client %d from %d to %d: %+v → %+v", op.ClientId, op.Call, op.Return, op.Input, op.Output)
			}
			return
		}
	}
	t.Logf("outcomes: %v", seen)
	// A history in which nobody met would prove nothing.
	for _, outcome := range []string{
		"reserved", "already", "sold out", "claimed", "dropped", "superseded", "released", "not held", "still claimed",
	} {
		if seen[reply{outcome: outcome}] == 0 {
			t.Errorf("outcome %q never came up", outcome)
		}
	}
	if got := seen[reply{unknown: true}]; (got > 0) != (w.loss > 0) {
		t.Errorf("calls without an answer: got %d, with a loss of %v", got, w.loss)
	}
}

// record lets clients work on one fresh shard and returns what they saw.
func record(t *testing.T, rdb redis.UniversalClient, w *weather) []porcupine.Operation {
	t.Helper()
	b := newBooth(t, rdb)
	b.patience = w.patience()
	w.bad.Store(true)
	defer w.bad.Store(false)
	var mu sync.Mutex
	var h []porcupine.Operation
	var working sync.WaitGroup
	start := time.Now()
	for client := range clients {
		working.Go(func() {
			for range each {
				c := b.wish()
				from := time.Since(start).Nanoseconds()
				r := b.make(t, c)
				op := porcupine.Operation{ClientId: client, Input: c, Call: from, Output: r, Return: time.Since(start).Nanoseconds()}
				if r.unknown {
					op.Return = math.MaxInt64
				}
				mu.Lock()
				h = append(h, op)
				mu.Unlock()
			}
		})
	}
	working.Wait()
	return h
}

// A booth is one fresh sale with one item in one shard.
type booth struct {
	units  *stock.Store
	shards stock.Shards
	item   sale.ItemID
	ids    [orders]sale.OrderID
	next   atomic.Int64
	known  map[sale.OrderID]int
	// patience is how long a call waits for its answer.
	patience time.Duration
}

func newBooth(t *testing.T, rdb redis.UniversalClient) *booth {
	t.Helper()
	b := &booth{
		units: stock.New(rdb), shards: stock.Shards{Sale: sale.ID(servers.SaleID()), N: 1},
		item: sale.ItemID(servers.ItemID()), known: map[sale.OrderID]int{},
	}
	var ms atomic.Int64
	mint, err := sale.NewMint([]byte("a secret of the tests"), func() time.Time { return time.UnixMilli(1_700_000_000_000 + ms.Add(1)) })
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.ids {
		b.ids[i] = mint.New(b.shards.Sale, userName(i%shoppers))
		b.known[b.ids[i]] = i
	}
	t.Cleanup(func() { _ = b.units.Drop(context.WithoutCancel(t.Context()), b.shards) })
	if _, err := b.units.SetQuota(t.Context(), b.shards, 0, 1, map[sale.ItemID]int{b.item: quantity}, true); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	set := sale.Settings{Version: 1, OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour)}
	if _, err := b.units.Steer(t.Context(), b.shards, 0, set); err != nil {
		t.Fatal(err)
	}
	return b
}

func userName(i int) string { return fmt.Sprintf("u%d", i) }

// wish is what a client does next: half of the time a purchase with a new order, else something
// with one of the last orders. Order n is shopper n mod 4's.
func (b *booth) wish() call {
	latest := int(b.next.Load())
	if latest == 0 || rand.IntN(5) < 2 {
		n := int(b.next.Add(1))
		return call{"reserve", n % shoppers, n}
	}
	n := max(1, latest-rand.IntN(6))
	verbs := []string{"reserve", "claim", "claim", string(stock.Unclaimed), string(stock.Unclaimed), string(stock.Settled), string(stock.Rejected)}
	return call{verbs[rand.IntN(len(verbs))], n % shoppers, n}
}

// make does the call. Any error is an unknown outcome.
func (b *booth) make(t *testing.T, c call) reply {
	ctx, cancel := context.WithTimeout(t.Context(), b.patience)
	defer cancel()
	id, user := b.ids[c.order], userName(c.user)
	switch c.verb {
	case "reserve":
		a, err := b.units.Reserve(ctx, b.shards, stock.Attempt{OrderID: id, UserID: user, ItemID: b.item})
		if err != nil {
			return reply{unknown: true}
		}
		r := reply{outcome: a.Outcome.String()}
		if a.Outcome == stock.Already {
			r.own = b.known[a.OrderID]
		}
		return r
	case "claim":
		o, err := b.units.Claim(ctx, b.shards, []sale.Placed{{OrderID: id, SaleID: b.shards.Sale, ItemID: b.item, UserID: user, ReservedAt: time.Now()}})
		if err != nil {
			return reply{unknown: true}
		}
		return reply{outcome: o[0].String()}
	default:
		o, err := b.units.Release(ctx, b.shards, stock.ReleaseMode(c.verb), []stock.Held{{OrderID: id, UserID: user}})
		if err != nil {
			return reply{unknown: true}
		}
		return reply{outcome: o[0].String()}
	}
}

// weather is a network that loses what is sent, or what comes back.
type weather struct {
	loss float64
	bad  atomic.Bool
}

var errLost = errors.New("the connection broke")

// patience is how long a call waits in it.
func (w *weather) patience() time.Duration {
	if w.loss > 0 {
		return patience
	}
	return ample
}

func (w *weather) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &line{Conn: conn, weather: w}, nil
}

type line struct {
	net.Conn
	*weather
}

func (l *line) strikes() bool { return l.loss > 0 && l.bad.Load() && rand.Float64() < l.loss }

// Write loses the request before the server has it.
func (l *line) Write(p []byte) (int, error) {
	if l.strikes() {
		_ = l.Close()
		return 0, errLost
	}
	return l.Conn.Write(p)
}

// Read loses the answer after the server has done it.
func (l *line) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if err == nil && l.strikes() {
		_ = l.Close()
		return 0, errLost
	}
	return n, err
}
