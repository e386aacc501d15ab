package order_test

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

func TestMoveQuota(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := saleOf(7, 10, 5)
		sl.Shards = 3
		s.create(t, sl)
		ledger := func(version int64, shards ...map[sale.ItemID]int) {
			t.Helper()
			got, err := s.Ledger(t.Context(), 7)
			if want := (sale.Ledger{Version: version, Shards: shards}); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("ledger: got %+v, %v, want %+v", got, err, want)
			}
		}
		ledger(1, map[sale.ItemID]int{701: 4, 702: 2}, map[sale.ItemID]int{701: 3, 702: 2}, map[sale.ItemID]int{701: 3, 702: 1})
		if moved, err := s.MoveQuota(t.Context(), 7, 701, 0, 2, 3, 1); err != nil || !moved {
			t.Errorf("move: got %v, %v, want true", moved, err)
		}
		moved := []map[sale.ItemID]int{{701: 1, 702: 2}, {701: 3, 702: 2}, {701: 6, 702: 1}}
		ledger(2, moved...)
		for _, read := range []int64{1, 3} {
			if moved, err := s.MoveQuota(t.Context(), 7, 701, 1, 2, 1, read); err != nil || moved {
				t.Errorf("move by version %d: got %v, %v, want false", read, moved, err)
			}
		}
		for name, move := range map[string]func() (bool, error){
			"more than the quota": func() (bool, error) { return s.MoveQuota(t.Context(), 7, 701, 0, 1, 2, 2) },
			"to no shard":         func() (bool, error) { return s.MoveQuota(t.Context(), 7, 701, 1, 3, 1, 2) },
			"of no item":          func() (bool, error) { return s.MoveQuota(t.Context(), 7, 703, 1, 2, 1, 2) },
		} {
			if moved, err := move(); err == nil || moved {
				t.Errorf("%s: got %v, %v, want an error", name, moved, err)
			}
		}
		ledger(2, moved...) // an error leaves the version alone too

		// Of many by one version, one.
		var wins atomic.Int64
		var group sync.WaitGroup
		for range 6 {
			group.Go(func() {
				moved, err := s.MoveQuota(t.Context(), 7, 701, 2, 0, 1, 2)
				if err != nil {
					t.Errorf("at once: %v", err)
				}
				if moved {
					wins.Add(1)
				}
			})
		}
		group.Wait()
		if wins.Load() != 1 {
			t.Errorf("six movers by one version: got %d moves, want 1", wins.Load())
		}
		ledger(3, map[sale.ItemID]int{701: 2, 702: 2}, map[sale.ItemID]int{701: 3, 702: 2}, map[sale.ItemID]int{701: 5, 702: 1})
		if _, err := s.Archive(t.Context(), 7, "op", order.Remains{}); err != nil {
			t.Fatal(err)
		}
		if moved, err := s.MoveQuota(t.Context(), 7, 701, 2, 0, 1, 3); err != nil || moved {
			t.Errorf("archived: got %v, %v, want false", moved, err)
		}
	})
}
