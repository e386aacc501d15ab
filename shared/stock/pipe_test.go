package stock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// Each caller of a crowd gets its own answer, also from a server that forgets its
// scripts again and again.
func TestPipelined(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		const shoppers, units = 600, 200
		f.sh.N = 2
		f.load(t, units/2)
		s := stock.New(f.rdb, stock.Pipelined(true))
		done := make(chan struct{})
		var forgets sync.WaitGroup
		forgets.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(20 * time.Millisecond):
					f.rdb.ScriptFlush(t.Context())
				}
			}
		})
		var seen sync.Map
		winners, losers := crowd(t, shoppers, func(user string) (bool, error) {
			a := f.attempt(user)
			got, err := s.Reserve(t.Context(), f.sh, a)
			if err != nil || got.Outcome != stock.Reserved {
				return false, err
			}
			hold, held, err := f.Hold(t.Context(), f.sh, user)
			if err != nil || !held || hold.OrderID != a.OrderID {
				return true, fmt.Errorf("%s has the answer of somebody else: %v, %v, %w", user, hold.OrderID, held, err)
			}
			if other, twice := seen.LoadOrStore(fmt.Sprint(f.sh.Home(user), got.Left), user); twice {
				return true, fmt.Errorf("%s and %s have the same answer", user, other)
			}
			return true, nil
		})
		close(done)
		forgets.Wait()
		left, err := f.Left(t.Context(), f.selling(units))
		if err != nil || len(winners)+int(left[f.item]) != units || len(winners)+len(losers) != shoppers {
			t.Errorf("%d winners, %d losers, %d left, %v; want %d units and %d shoppers", len(winners), len(losers), left[f.item], err, units, shoppers)
		}
	})
}

// A caller is back at its deadline, whatever the pipeline does; a call that was
// not sent by then never is.
func TestPipelinedDeadline(t *testing.T) {
	t.Parallel()
	f := newMini(t)
	f.load(t, 5)
	rdb := redis.NewClient(f.rdb.Options())
	t.Cleanup(func() { _ = rdb.Close() })
	held := &heldPipelines{release: make(chan struct{}), began: make(chan struct{}, 8)}
	rdb.AddHook(held)
	s := stock.New(rdb, stock.Pipelined(true))
	answers := make(chan error, 2)
	ctx, cancel := context.WithCancel(t.Context())
	reserve := func(user string) {
		_, err := s.Reserve(ctx, f.sh, f.attempt(user))
		answers <- err
	}
	go reserve("sent")
	<-held.began
	go reserve("queued") // within the time in which the first one is not suspicious
	time.Sleep(5 * time.Millisecond)
	cancel()
	for range 2 {
		if err := <-answers; !errors.Is(err, context.Canceled) {
			t.Errorf("reserve: got %v, want the context's error", err)
		}
	}
	stalled := len(held.began) > 0 // a slow machine: a further round trip was begun for it
	close(held.release)
	f.eventually(t, "the call that was sent has its hold", func() bool {
		_, ok, err := f.Hold(t.Context(), f.sh, "sent")
		return err == nil && ok
	})
	if _, err := s.Reserve(t.Context(), f.sh, f.attempt("later")); err != nil {
		t.Errorf("later: %v", err)
	}
	if _, ok, err := f.Hold(t.Context(), f.sh, "queued"); (ok || err != nil) && !stalled {
		t.Errorf("a call whose caller had gone was sent: %v, %v", ok, err)
	}
}

func (f *fixture) eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 200 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}

// heldPipelines waits for release before each pipeline goes out.
type heldPipelines struct {
	began   chan struct{}
	release chan struct{}
}

func (*heldPipelines) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*heldPipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h *heldPipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.began <- struct{}{}
		<-h.release
		return next(ctx, cmds)
	}
}

// One dead connection does not hold up those who come later.
func TestPipelinedPastADeadConnection(t *testing.T) {
	t.Parallel()
	f := newMini(t)
	f.load(t, 5)
	rdb, err := connect.Redis(config.Redis{URL: config.Secret("redis://" + firstIsDeaf(t, f.mini.Addr())), PoolSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	s := stock.New(rdb, stock.Pipelined(true))
	first := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := s.Reserve(ctx, f.sh, f.attempt("first"))
		first <- err
	}()
	time.Sleep(100 * time.Millisecond)
	got, err := s.Reserve(t.Context(), f.sh, f.attempt("second"))
	if err != nil || got.Outcome != stock.Reserved {
		t.Errorf("second: %v, %v, want reserved", got.Outcome, err)
	}
	select {
	case err := <-first:
		t.Errorf("the first was answered before the second: %v", err)
	default:
	}
	if err := <-first; err == nil {
		t.Log("the first was retried on a good connection")
	}
}

// firstIsDeaf forwards connections to a server, except that the first one leads nowhere.
func firstIsDeaf(t *testing.T, server string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for n := 0; ; n++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			if n == 0 {
				continue
			}
			go forward(conn, server)
		}
	}()
	return listener.Addr().String()
}

func forward(conn net.Conn, server string) {
	other, err := net.Dial("tcp", server)
	if err != nil {
		_ = conn.Close()
		return
	}
	go func() { _, _ = copyTo(conn, other) }()
	_, _ = copyTo(other, conn)
}

func copyTo(to, from net.Conn) (int64, error) {
	defer func() { _ = to.Close() }()
	var sum int64
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return sum, err
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return sum, err
		}
		sum += int64(n)
	}
}

// In a cluster each shard has its own pipe, and its own node.
func TestPipelinedCluster(t *testing.T) {
	t.Parallel()
	rdb, err := connect.Redis(config.Redis{URL: config.Secret(servers.ClusterURL(t)), PoolSize: 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	s := stock.New(rdb, stock.Pipelined(true))
	sh, item := stock.Shards{Sale: sale.ID(servers.SaleID()), N: 6}, sale.ItemID(servers.ItemID())
	t.Cleanup(func() { _ = s.Drop(context.WithoutCancel(t.Context()), sh) })
	mint, err := sale.NewMint([]byte("a secret of the tests"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for shard := range sh.N {
		if got, err := s.SetQuota(t.Context(), sh, shard, 1, map[sale.ItemID]int{item: 20}, true); err != nil || got != stock.QuotaApplied {
			t.Fatalf("quota: %v, %v", got, err)
		}
		set := sale.Settings{Version: 1, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(time.Hour)}
		if _, err := s.Steer(t.Context(), sh, shard, set); err != nil {
			t.Fatal(err)
		}
	}
	winners, _ := crowd(t, 400, func(user string) (bool, error) {
		got, err := s.Reserve(t.Context(), sh, stock.Attempt{OrderID: mint.New(sh.Sale, user), UserID: user, ItemID: item})
		return got.Outcome == stock.Reserved, err
	})
	if len(winners) != 120 {
		t.Errorf("%d winners, want all 120 units", len(winners))
	}
	// The latch works over the nodes as well.
	sl := &sale.Sale{ID: sh.Sale, Shards: sh.N, Items: []sale.Item{{ID: item, Quantity: 120}}}
	latch := stock.NewLatch(s, stock.NewCatalog(s, time.Now), time.Now)
	out, err := latch.SoldOut(t.Context(), sl, item)
	r := latch.Refusal(t.Context(), time.Now(), &sale.Listing{Sale: *sl, Standing: sale.Standing{Loaded: true}}, item)
	if err != nil || !out {
		t.Fatalf("sold out: %v, %v", out, err)
	}
	if r.Outcome != stock.SoldOut || r.MayName([]byte("a stranger")) || !r.MayName([]byte(winners[0])) {
		t.Errorf("refusal: got %v, stranger %v, winner %v", r.Outcome, r.MayName([]byte("a stranger")), r.MayName([]byte(winners[0])))
	}
}
