package giveback_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/giveback"
	"flashsale/shared/order"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

func open(t *testing.T) *shoptest.Shop {
	t.Helper()
	return shoptest.OpenShop(t, servers.RedisURL(t), servers.Database(t, migrations.Hash(), shoptest.Migrate))
}

// expire makes n orders of the sale whose time is over.
func expire(t *testing.T, s *shoptest.Shop, sl sale.Sale, n int) {
	t.Helper()
	placed := make([]sale.Placed, n)
	for i := range placed {
		placed[i] = s.Place(sl, 0, fmt.Sprintf("u%d", i))
	}
	if _, err := s.Stock.Claim(t.Context(), stock.Of(&sl), placed); err != nil {
		t.Fatal(err)
	}
	s.Write(t, placed...)
	s.Passes(sl.PaymentWindow + sl.Grace)
	if got, err := s.Orders.Expire(t.Context(), n); got != n || err != nil {
		t.Fatalf("expire: got %d, %v, want %d", got, err, n)
	}
}

func waiting(t *testing.T, s *shoptest.Shop) int {
	t.Helper()
	rows, err := s.Orders.Releases(t.Context(), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	return len(rows)
}

func drain(t *testing.T, s *shoptest.Shop, want int) {
	t.Helper()
	if got, err := giveback.Drain(t.Context(), s.Orders, s.Stock); got != want || err != nil {
		t.Errorf("drain: got %d, %v, want %d", got, err, want)
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	s := open(t)
	one, two := s.Open(t, 3), s.Open(t, 2)
	drain(t, s, 0)
	expire(t, s, one, 3)
	expire(t, s, two, 1)
	drain(t, s, 4)
	if n := waiting(t, s); n != 0 {
		t.Errorf("releases that wait: got %d, want 0", n)
	}
	drain(t, s, 0)
	s.WantUnits(t, one, 0, [4]int64{3, 0, 0, 0})
	s.WantUnits(t, two, 0, [4]int64{2, 0, 0, 0})
}

// TestRepeated has a drain that died before it deleted its rows, and a shopper
// who has bought again since.
func TestRepeated(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.Open(t, 2)
	expire(t, s, sl, 1)
	rows, err := s.Orders.Releases(t.Context(), 0, 10)
	if err != nil || len(rows) != 1 {
		t.Fatalf("releases: got %v, %v, want one", rows, err)
	}
	held := []stock.Held{{OrderID: rows[0].OrderID, UserID: rows[0].UserID}}
	if _, err := s.Stock.Release(t.Context(), stock.Of(&sl), stock.Settled, held); err != nil {
		t.Fatal(err)
	}
	s.Reserve(t, sl, 0, "u0")
	drain(t, s, 0)
	if n := waiting(t, s); n != 0 {
		t.Errorf("releases that wait: got %d, want 0", n)
	}
	s.WantUnits(t, sl, 0, [4]int64{1, 1, 0, 0})
}

// TestOneSaleInTrouble has more releases of a sale that Redis cannot work on
// than one round takes; those of the sale behind it must come through.
func TestOneSaleInTrouble(t *testing.T) {
	t.Parallel()
	const many = 600
	s := open(t)
	damaged, fine := s.Open(t, many), s.Open(t, 2)
	expire(t, s, damaged, many)
	expire(t, s, fine, 2)
	key := shoptest.Key(damaged, "released")
	s.Redis.Set(t.Context(), key, "typed", 0)
	got, err := giveback.Drain(t.Context(), s.Orders, s.Stock)
	if got != 2 || err == nil || !strings.Contains(err.Error(), fmt.Sprint(damaged.ID)) {
		t.Errorf("drain: got %d, %v, want 2 and an error that names sale %d", got, err, damaged.ID)
	}
	s.WantUnits(t, fine, 0, [4]int64{2, 0, 0, 0})
	if n := waiting(t, s); n != many {
		t.Errorf("releases that wait: got %d, want %d", n, many)
	}
	s.Redis.Del(t.Context(), key)
	drain(t, s, many)
	s.WantUnits(t, damaged, 0, [4]int64{many, 0, 0, 0})
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	const n = 700
	s := open(t)
	sl := s.Open(t, n)
	expire(t, s, sl, n)
	var sum atomic.Int64
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			released, err := giveback.Drain(t.Context(), s.Orders, s.Stock)
			if err != nil {
				t.Errorf("drain: %v", err)
			}
			sum.Add(int64(released))
		})
	}
	wait.Wait()
	if sum.Load() != n {
		t.Errorf("released by three drains: got %d, want %d", sum.Load(), n)
	}
	s.WantUnits(t, sl, 0, [4]int64{n, 0, 0, 0})
}

// TestNotLoaded has units of a sale that Redis has lost: a rebuild will count
// them, so nothing waits and nothing is written.
func TestNotLoaded(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.Open(t, 1)
	expire(t, s, sl, 1)
	for _, part := range []string{"meta", "holds", "stock", "unconfirmed"} {
		s.Redis.Del(t.Context(), shoptest.Key(sl, part))
	}
	drain(t, s, 0)
	if n := waiting(t, s); n != 0 {
		t.Errorf("releases that wait: got %d, want 0", n)
	}
	if got := s.Check(t, sl); len(got.Items) != 0 {
		t.Errorf("redis: got %+v, want nothing", got)
	}
}

func TestServersAway(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.Open(t, 1)
	expire(t, s, sl, 1)
	away := shoptest.OpenShelf(t, "redis://127.0.0.1:1")
	if got, err := giveback.Drain(t.Context(), s.Orders, away.Stock); got != 0 || err == nil {
		t.Errorf("without redis: got %d, %v, want an error", got, err)
	}
	nowhere := order.New(shoptest.Pool(t, "postgres://127.0.0.1:1/none"))
	if got, err := giveback.Drain(t.Context(), nowhere, s.Stock); got != 0 || err == nil {
		t.Errorf("without postgres: got %d, %v, want an error", got, err)
	}
	drain(t, s, 1)
}
