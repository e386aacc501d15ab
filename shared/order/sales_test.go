package order_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

func TestCreateSale(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := saleOf(7, 10, 5)
		sl.Shards, sl.Spread = 3, 61*time.Second
		definition := []byte(`{"id":7, "opensAt":"+15s"}`)
		if created, err := s.CreateSale(t.Context(), sl, definition, "op"); err != nil || !created {
			t.Fatalf("create: got %v, %v, want true", created, err)
		}

		t.Run("reads back as given", func(t *testing.T) {
			got, err := s.Listing(t.Context(), 7)
			if want := (sale.Listing{Sale: sl}); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("listing: got %+v, %v, want %+v", got, err, want)
			}
			ledger, err := s.Ledger(t.Context(), 7)
			want := sale.Ledger{Version: 1, Shards: []map[sale.ItemID]int{{701: 4, 702: 2}, {701: 3, 702: 2}, {701: 3, 702: 1}}}
			if err != nil || !reflect.DeepEqual(ledger, want) {
				t.Errorf("ledger: got %+v, %v, want %+v", ledger, err, want)
			}
			settings, err := s.Settings(t.Context(), 7)
			if err != nil || settings.Version != 1 || !settings.OpensAt.Equal(sl.OpensAt) || !settings.ClosesAt.Equal(sl.ClosesAt) ||
				len(settings.Paused)+len(settings.Doubts) != 0 {
				t.Errorf("settings: got %+v, %v, want version 1, the window, nothing that stops it", settings, err)
			}
		})
		t.Run("the same text again changes nothing, whatever it resolves to", func(t *testing.T) {
			later := sl
			later.OpensAt = sl.OpensAt.Add(time.Minute)
			if created, err := s.CreateSale(t.Context(), later, []byte(`{"id":7,"opensAt":"+15s"}`), "op"); err != nil || created {
				t.Errorf("again: got %v, %v, want false", created, err)
			}
			if got, _ := s.Listing(t.Context(), 7); !got.OpensAt.Equal(sl.OpensAt) {
				t.Errorf("opensAt: got %v, want %v", got.OpensAt, sl.OpensAt)
			}
		})
		t.Run("another text under the same id", func(t *testing.T) {
			if _, err := s.CreateSale(t.Context(), sl, []byte(`{"id":7}`), "op"); !errors.Is(err, order.ErrSaleExists) {
				t.Errorf("error: got %v, want ErrSaleExists", err)
			}
		})
		t.Run("an item of another sale", func(t *testing.T) {
			thief := saleOf(8, 1)
			thief.Items = append(thief.Items, sl.Items[1])
			if _, err := s.CreateSale(t.Context(), thief, []byte(`{"id":8}`), "op"); !errors.Is(err, order.ErrItemExists) {
				t.Errorf("error: got %v, want ErrItemExists", err)
			}
			if _, err := s.Listing(t.Context(), 8); !errors.Is(err, order.ErrUnknownSale) {
				t.Errorf("listing: got %v, want ErrUnknownSale: nothing was written", err)
			}
		})
		t.Run("no JSON", func(t *testing.T) {
			if _, err := s.CreateSale(t.Context(), saleOf(9, 1), []byte(`{`), "op"); err == nil {
				t.Error("error: got none, want one")
			}
		})
		if n := s.count(t, `SELECT count(*) FROM operator_action WHERE action = 'create' AND actor = 'op'`); n != 1 {
			t.Errorf("audit: got %d lines, want 1", n)
		}
	})
}

func TestCreateSaleAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	race := func(definitions func(int) (sale.Sale, string)) (created int, errs []error) {
		var group sync.WaitGroup
		var mutex sync.Mutex
		for i := range 6 {
			group.Go(func() {
				sl, text := definitions(i)
				ok, err := s.CreateSale(t.Context(), sl, []byte(text), "op")
				mutex.Lock()
				defer mutex.Unlock()
				if ok {
					created++
				}
				if err != nil {
					errs = append(errs, err)
				}
			})
		}
		group.Wait()
		return created, errs
	}

	created, errs := race(func(int) (sale.Sale, string) { return saleOf(1, 10, 10), `{"id":1}` })
	if created != 1 || len(errs) != 0 {
		t.Errorf("same sale: got %d created, errors %v, want 1 and none", created, errs)
	}
	created, errs = race(func(i int) (sale.Sale, string) { return saleOf(2, 10+i), `{"n":` + string(rune('0'+i)) + `}` })
	if created != 1 || len(errs) != 5 || !all(errs, order.ErrSaleExists) {
		t.Errorf("different sales of one id: got %d created, errors %v, want 1 and 5 × ErrSaleExists", created, errs)
	}
	created, errs = race(func(i int) (sale.Sale, string) {
		sl := saleOf(3, 10, 10, 10)
		sl.ID = sale.ID(30 + i)
		if i%2 == 1 {
			slices.Reverse(sl.Items)
		}
		return sl, `{}`
	})
	if created != 1 || len(errs) != 5 || !all(errs, order.ErrItemExists) {
		t.Errorf("sales with the same items: got %d created, errors %v, want 1 and 5 × ErrItemExists", created, errs)
	}
}

func all(errs []error, target error) bool {
	return !slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, target) })
}

func TestListings(t *testing.T) {
	t.Parallel()
	s := open(t)
	for id := range sale.ID(3) {
		s.create(t, saleOf(id+1, 10, 20))
	}
	if first, err := s.FirstLoad(t.Context(), 2, "op", func(context.Context, sale.Ledger) error { return nil }); err != nil || !first {
		t.Fatalf("first load: got %v, %v, want true", first, err)
	}
	if err := s.Pause(t.Context(), 2, sale.PausedByRebuild, "op"); err != nil {
		t.Fatal(err)
	}
	if err := s.Doubt(t.Context(), 1, 101); err != nil {
		t.Fatal(err)
	}
	if _, err := s.pool.Exec(t.Context(), `UPDATE flash_sale SET archived_at = now() WHERE id = 3`); err != nil {
		t.Fatal(err)
	}

	want := []sale.Listing{{Sale: saleOf(1, 10, 20)}, {Sale: saleOf(2, 10, 20), Standing: sale.Standing{Loaded: true, Paused: true}}}
	if got, err := s.Listings(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("listings: got %+v, %v, want %+v: a doubt pauses no sale, an archived one is left out", got, err, want)
	}
	if got, err := s.Listing(t.Context(), 3); err != nil || !got.Archived {
		t.Errorf("archived sale: got %+v, %v, want it", got, err)
	}
}

// While a slow publisher holds an old catalog, nobody can put a newer one that it
// would overwrite.
func TestPublishCatalog(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.create(t, saleOf(1, 10))
	var put []int // sales in each catalog that was put; the database's lock guards it
	reading, proceed := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		err := s.PublishCatalog(t.Context(), func(_ context.Context, c *sale.Catalog) error {
			close(reading)
			<-proceed
			put = append(put, len(c.Sales))
			return nil
		})
		if err != nil {
			t.Errorf("slow publisher: %v", err)
		}
	})
	<-reading
	s.create(t, saleOf(2, 10))
	group.Go(func() {
		err := s.PublishCatalog(t.Context(), func(_ context.Context, c *sale.Catalog) error {
			put = append(put, len(c.Sales))
			if _, ok := c.ByItem(201); !ok {
				t.Error("item 201: got unknown, want it in the catalog")
			}
			return nil
		})
		if err != nil {
			t.Errorf("second publisher: %v", err)
		}
	})
	for s.count(t, `SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
		WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()`) == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	close(proceed)
	group.Wait()
	if want := []int{1, 2}; !slices.Equal(put, want) {
		t.Errorf("sales in the catalogs put: got %v, want %v", put, want)
	}

	away := errors.New("redis is away")
	err := s.PublishCatalog(t.Context(), func(context.Context, *sale.Catalog) error { return away })
	if !errors.Is(err, away) {
		t.Errorf("failed put: got %v, want %v", err, away)
	}
}
