package stock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// A shelf is a catalog copy over a server of its own, since all sales share the one key.
type shelf struct {
	*fixture
	*stock.Catalog
	elapsed atomic.Int64
	gets    gate
}

func newShelf(t *testing.T) *shelf {
	s := &shelf{fixture: newMini(t)}
	s.rdb.AddHook(&s.gets)
	start := time.Now()
	s.Catalog = stock.NewCatalog(s.Store, func() time.Time { return start.Add(time.Duration(s.elapsed.Load())) })
	return s
}

func (s *shelf) wait(d time.Duration) { s.elapsed.Add(int64(d)) }

// put publishes one sale with that item for each id.
func (s *shelf) put(t *testing.T, ids ...sale.ItemID) {
	t.Helper()
	var listings []sale.Listing
	for _, id := range ids {
		listings = append(listings, sale.Listing{Sale: sale.Sale{ID: sale.ID(id), Name: "sale", Items: []sale.Item{{ID: id}}}}) //nolint:gosec // small
	}
	if err := s.PutCatalog(t.Context(), sale.NewCatalog(listings)); err != nil {
		t.Fatal(err)
	}
}

// want looks an item up; known is nil where there is no catalog.
func (s *shelf) want(t *testing.T, id sale.ItemID, known bool, gets int64) {
	t.Helper()
	l, ok, err := s.ByItem(t.Context(), id)
	if err != nil || ok != known || ok && l.ID != sale.ID(id) { //nolint:gosec // small
		t.Errorf("ByItem(%d) = %+v, %v, %v; want known: %v", id, l, ok, err, known)
	}
	if got := s.gets.count.Load(); got != gets {
		t.Errorf("ByItem(%d): %d fetches so far, want %d", id, got, gets)
	}
}

func (s *shelf) wantNone(t *testing.T, id sale.ItemID) {
	t.Helper()
	if l, ok, err := s.ByItem(t.Context(), id); !errors.Is(err, stock.ErrNoCatalog) {
		t.Errorf("ByItem(%d) = %+v, %v, %v; want ErrNoCatalog", id, l, ok, err)
	}
}

// A gate counts GETs and can hold them up.
type gate struct {
	count atomic.Int64
	shut  atomic.Pointer[chan struct{}]
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "get" {
			g.count.Add(1)
			if shut := g.shut.Load(); shut != nil {
				<-*shut
			}
		}
		return next(ctx, cmd)
	}
}

func TestCatalogIsKeptForASecond(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.put(t, 1)
	s.want(t, 1, true, 1)
	s.put(t, 1, 2)
	s.wait(stock.CatalogAge - 1)
	s.want(t, 1, true, 1)
	s.wait(1)
	s.want(t, 1, true, 2)
	s.want(t, 2, true, 2)
	if l, ok, err := s.Sale(t.Context(), 2); err != nil || !ok || l.ID != 2 {
		t.Errorf("Sale(2) = %+v, %v, %v", l, ok, err)
	}
	if _, ok, err := s.Sale(t.Context(), 99); err != nil || ok {
		t.Errorf("Sale(99) = %v, %v; want unknown", ok, err)
	}
}

func TestCatalogLooksAgainForTheUnknown(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.put(t, 1)
	s.want(t, 1, true, 1)
	s.put(t, 1, 2)
	s.want(t, 2, true, 2) // at once, though the copy is fresh
	for range 5 {
		s.want(t, 3, false, 2)
	}
	s.wait(stock.CatalogAge)
	s.want(t, 3, false, 3)
	s.want(t, 3, false, 4)
	for range 5 {
		s.want(t, 3, false, 4)
	}
}

func TestCatalogWithoutOne(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.wantNone(t, 1)
	s.put(t, 1)
	s.wait(stock.CatalogAge)
	s.want(t, 1, true, s.gets.count.Load()+1)

	t.Log("the key goes missing: the last copy is used, but proves nothing about what it does not know")
	s.rdb.Del(t.Context(), stock.CatalogKey)
	s.wait(time.Minute)
	s.want(t, 1, true, s.gets.count.Load()+1)
	s.wantNone(t, 2)
	s.rdb.Set(t.Context(), stock.CatalogKey, "{nonsense", 0)
	s.wait(time.Minute)
	s.want(t, 1, true, s.gets.count.Load()+1)
	s.wantNone(t, 2)

	t.Log("Redis is away")
	s.mini.Close()
	s.wait(time.Minute)
	s.want(t, 1, true, s.gets.count.Load()+1)
	tries := s.gets.count.Load()
	for range 5 {
		s.wantNone(t, 2)
		s.want(t, 1, true, s.gets.count.Load())
	}
	if got := s.gets.count.Load(); got > tries+1 {
		t.Errorf("%d more tries within a second, want 1 at most", got-tries)
	}
}

func TestCatalogFetchesOneAtATime(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.put(t, 1)
	shut := make(chan struct{})
	s.gets.shut.Store(&shut)
	const callers = 50
	var wg, started sync.WaitGroup
	started.Add(callers)
	for range callers {
		wg.Go(func() {
			started.Done()
			if _, ok, err := s.ByItem(t.Context(), 1); err != nil || !ok {
				t.Errorf("ByItem while one fetches = %v, %v; want known", ok, err)
			}
		})
	}
	started.Wait()
	close(shut)
	wg.Wait()
	s.want(t, 1, true, 1)

	// While one fetches, others go on with what they have, and do not wait longer than they may.
	s.wait(stock.CatalogAge)
	shut = make(chan struct{})
	s.gets.shut.Store(&shut)
	wg.Go(func() { s.want(t, 1, true, 2) })
	for s.gets.count.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	s.want(t, 1, true, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.ByItem(ctx, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("an unknown item, cancelled: %v, want context.Canceled", err)
	}
	close(shut)
	wg.Wait()
}

func TestPutCatalogFails(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.mini.Close()
	if err := s.PutCatalog(t.Context(), sale.NewCatalog(nil)); err == nil {
		t.Error("PutCatalog to a server that is away succeeded")
	}
}

func BenchmarkCatalogHit(b *testing.B) {
	f := newMini(b)
	now := time.Now()
	c := stock.NewCatalog(f.Store, func() time.Time { return now })
	listing := sale.Listing{Sale: sale.Sale{ID: 1, Items: []sale.Item{{ID: 1}}}}
	if err := f.PutCatalog(b.Context(), sale.NewCatalog([]sale.Listing{listing})); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, _ := c.ByItem(b.Context(), 1); !ok {
			b.Fatal("unknown")
		}
	}
}
