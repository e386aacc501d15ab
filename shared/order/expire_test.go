package order_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

func (s *shop) expire(t testing.TB, at time.Time, limit int) int {
	t.Helper()
	s.Now = func() time.Time { return at }
	defer func() { s.Now = func() time.Time { return start } }()
	n, err := s.Expire(t.Context(), limit)
	if err != nil {
		t.Fatalf("expire: %v", err)
	}
	return n
}

func TestExpire(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := s.create(t, saleOf(7, 10, 10))
		other := saleOf(8, 10)
		other.Grace = 0
		s.create(t, other)
		ann, bob, cid := s.place(sl, 0, "ann"), s.place(sl, 1, "bob"), s.place(other, 0, "cid")
		s.write(t, ann, bob, cid)
		payBy := start.Add(10 * time.Minute)

		steps := []struct {
			name  string
			at    time.Time
			limit int
			want  int
		}{
			{"a millisecond before payBy, no grace", payBy.Add(-time.Millisecond), 100, 0},
			{"at payBy, no grace", payBy, 100, 1},
			{"a millisecond before the end of the grace", payBy.Add(time.Minute - time.Millisecond), 100, 0},
			{"at the end of the grace, limited", payBy.Add(time.Minute), 1, 1},
			{"a millisecond later", payBy.Add(time.Minute + time.Millisecond), 100, 1},
			{"once more", payBy.Add(time.Hour), 100, 0},
		}
		for _, step := range steps {
			if got := s.expire(t, step.at, step.limit); got != step.want {
				t.Errorf("%s: got %d expired, want %d", step.name, got, step.want)
			}
		}
		s.consistent(t)

		t.Run("its unit waits in the releases, once", func(t *testing.T) {
			waiting, err := s.Releases(t.Context(), 0, 100)
			if err != nil || len(waiting) != 3 {
				t.Fatalf("releases: got %v, %v, want 3", waiting, err)
			}
			want := order.Release{ID: waiting[0].ID, OrderID: cid.OrderID, UserID: "cid", SaleID: 8, Shards: 1}
			if waiting[0] != want {
				t.Errorf("first release: got %+v, want %+v", waiting[0], want)
			}
			if some, err := s.Releases(t.Context(), 0, 2); err != nil || !slices.Equal(some, waiting[:2]) {
				t.Errorf("limited: got %v, %v, want %v", some, err, waiting[:2])
			}
			if some, err := s.Releases(t.Context(), waiting[0].ID, 100); err != nil || !slices.Equal(some, waiting[1:]) {
				t.Errorf("after the first: got %v, %v, want %v", some, err, waiting[1:])
			}
			for range 2 {
				if err := s.ReleasesDone(t.Context(), []int64{waiting[0].ID, waiting[1].ID}); err != nil {
					t.Fatalf("done: %v", err)
				}
			}
			if left, err := s.Releases(t.Context(), 0, 100); err != nil || len(left) != 1 || left[0] != waiting[2] {
				t.Errorf("left: got %v, %v, want only %+v", left, err, waiting[2])
			}
		})
		t.Run("the shopper may buy again", func(t *testing.T) {
			if got := s.write(t, s.place(sl, 0, "ann"))[0]; got.Result != order.ResultNew {
				t.Errorf("second purchase: got %+v, want new", got)
			}
			if got := s.write(t, ann)[0]; got.Result != order.ResultKnown || got.State != order.Expired {
				t.Errorf("expired record again: got %+v, want known, EXPIRED", got)
			}
		})
	})
}

func TestPaidDoesNotExpire(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.create(t, saleOf(7, 10))
	p := s.place(sl, 0, "ann")
	s.write(t, p)
	if _, err := s.pool.Exec(t.Context(), `UPDATE flash_sale_order SET status = 'PAID', settled_at = now()`); err != nil {
		t.Fatal(err)
	}
	if got := s.expire(t, start.Add(time.Hour), 100); got != 0 {
		t.Errorf("expired: got %d, want 0", got)
	}
}

// A writer sells while two expirers take back; every unit returns exactly once.
func TestExpirersAndWriterAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.create(t, saleOf(7, 400, 400))
	const orders = 600
	late := order.New(s.pool)
	late.Now = func() time.Time { return start.Add(time.Hour) }

	var group sync.WaitGroup
	written := make(chan struct{})
	group.Go(func() {
		defer close(written)
		for first := 0; first < orders; first += 20 {
			s.retry(t, func() error {
				_, err := s.WriteBatch(t.Context(), append(s.many(sl, 0, first, 10), s.many(sl, 1, first+10, 10)...))
				return err
			})
		}
	})
	var mutex sync.Mutex
	expired := 0
	for range 2 {
		group.Go(func() {
			for finished := false; ; {
				n, err := late.Expire(t.Context(), 7)
				if err != nil {
					t.Errorf("expire: %v", err)
					return
				}
				mutex.Lock()
				expired += n
				mutex.Unlock()
				if finished && n == 0 {
					return
				}
				select {
				case <-written:
					finished = true
				default:
				}
			}
		})
	}
	group.Wait()
	s.consistent(t)
	rejected := s.count(t, `SELECT count(*) FROM flash_sale_order WHERE status = 'REJECTED'`)
	if expired+rejected != orders {
		t.Errorf("expired: got %d and %d rejected, want %d together", expired, rejected, orders)
	}
	if n := s.count(t, `SELECT count(*) FROM stock_release`); n != expired {
		t.Errorf("releases: got %d, want %d", n, expired)
	}
	if n := s.count(t, `SELECT sum(sold) FROM flash_sale_item`); n != 0 {
		t.Errorf("sold: got %d, want 0", n)
	}
}

// After any sequence of batches, repeats and expiries the promise holds.
func TestRandomSequences(t *testing.T) {
	t.Parallel()
	for range 6 {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 0))
			s := open(t)
			sales := []sale.Sale{s.create(t, saleOf(7, 5, 20)), s.create(t, saleOf(8, 3))}
			now := start
			s.Now = func() time.Time { return now }
			var past []sale.Placed
			for range 40 {
				now = now.Add(time.Duration(random.IntN(240)) * time.Second)
				if random.IntN(4) == 0 {
					if _, err := s.Expire(t.Context(), 1+random.IntN(20)); err != nil {
						t.Fatalf("expire: %v", err)
					}
					s.consistent(t)
					continue
				}
				var placed []sale.Placed
				for range 1 + random.IntN(12) {
					if len(past) > 0 && random.IntN(5) == 0 {
						placed = append(placed, past[random.IntN(len(past))])
						continue
					}
					sl := sales[random.IntN(len(sales))]
					placed = append(placed, s.place(sl, random.IntN(len(sl.Items)), fmt.Sprintf("u%d", random.IntN(40))))
				}
				past = append(past, placed...)
				s.write(t, placed...)
				s.consistent(t)
			}
		})
	}
}
