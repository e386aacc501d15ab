package order_test

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

func TestFirstLoad(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		s.create(t, saleOf(7, 10, 5))
		ctx := t.Context()
		away := errors.New("redis is away")
		first, err := s.FirstLoad(ctx, 7, "op", func(context.Context, sale.Ledger) error { return away })
		if !errors.Is(err, away) || first {
			t.Errorf("failed load: got %v, %v, want %v", first, err, away)
		}
		if l, err := s.Listing(ctx, 7); err != nil || l.Loaded {
			t.Errorf("after a failed load: got %+v, %v, want it not loaded", l, err)
		}

		// The first one stays inside until another waits for it.
		var calls, firsts atomic.Int32
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				first, err := s.FirstLoad(ctx, 7, "op", func(_ context.Context, l sale.Ledger) error {
					calls.Add(1)
					want := sale.Ledger{Version: 1, Shards: []map[sale.ItemID]int{{701: 10, 702: 5}}}
					if !reflect.DeepEqual(l, want) {
						t.Errorf("ledger: got %+v, want %+v", l, want)
					}
					if calls.Load() == 1 {
						s.waiting(t, 1)
					}
					return nil
				})
				if err != nil {
					t.Errorf("first load: %v", err)
				}
				if first {
					firsts.Add(1)
				}
			})
		}
		group.Wait()
		if calls.Load() != 1 || firsts.Load() != 1 {
			t.Errorf("four at once: got %d loads, %d told that they were first, want 1 and 1", calls.Load(), firsts.Load())
		}
		if l, err := s.Listing(ctx, 7); err != nil || !l.Loaded {
			t.Errorf("after the load: got %+v, %v, want it loaded", l, err)
		}
	})
}

func TestHomes(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		two := saleOf(8, 10)
		two.Shards = 2
		s.create(t, saleOf(7, 10, 5))
		s.create(t, two)
		got, err := s.Homes(t.Context(), []sale.ItemID{801, 702, 999, 702})
		want := map[sale.ItemID]order.Home{702: {Sale: 7, Shards: 1}, 801: {Sale: 8, Shards: 2}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("homes: got %v, %v, want %v", got, err, want)
		}
		if got, err := s.Homes(t.Context(), nil); err != nil || len(got) != 0 {
			t.Errorf("none: got %v, %v, want none", got, err)
		}
	})
}
