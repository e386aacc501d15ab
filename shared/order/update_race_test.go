package order_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

// TestUpdateShards: units that were moved stay moved.
func TestUpdateShards(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := saleOf(7, 10)
	sl.Shards = 3 // 4 3 3
	s.describe(t, sl, words("o", "c"))
	s.load(t, 7)
	if _, err := s.pool.Exec(t.Context(), `UPDATE flash_sale_quota SET quota = CASE shard WHEN 0 THEN 0 WHEN 1 THEN 7 ELSE 3 END`); err != nil {
		t.Fatal(err)
	}
	sl.Items[0].Quantity = 15 // 5 5 5
	if _, err := s.UpdateSale(t.Context(), sl, words("o", "c2"), "op", time.Time{}); err != nil {
		t.Fatal(err)
	}
	ledger, err := s.Ledger(t.Context(), 7)
	if want := []map[sale.ItemID]int{{701: 1}, {701: 9}, {701: 5}}; err != nil || !reflect.DeepEqual(ledger.Shards, want) {
		t.Errorf("ledger: got %v, %v, want %v", ledger.Shards, err, want)
	}
	sl.Shards = 1
	if _, err := s.UpdateSale(t.Context(), sl, words("o", "c3"), "op", time.Time{}); err == nil || !strings.Contains(err.Error(), "shards may not change") {
		t.Errorf("fewer shards: got %v, want a refusal", err)
	}
}

// TestUpdatesAtOnce has updates, writers and an expirer all at work.
func TestUpdatesAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := saleOf(7, 20, 20)
	s.describe(t, sl, words("o", "c"))
	s.load(t, 7)
	var clock sync.Mutex
	now := start
	s.Now = func() time.Time { clock.Lock(); defer clock.Unlock(); return now }
	var group sync.WaitGroup
	for worker := range 2 {
		group.Go(func() {
			for i := range 10 {
				next := sl
				next.Items = slices.Clone(sl.Items)
				for j := range next.Items {
					next.Items[j].Quantity = 20 + 2*i + worker
				}
				_, err := s.UpdateSale(t.Context(), next, words("o", fmt.Sprintf("c%d-%d", worker, i)), "op", time.Time{})
				if _, refused := errors.AsType[order.RefusedError](err); err != nil && !refused {
					t.Errorf("update: %v", err)
				}
			}
		})
	}
	for worker := range 2 {
		group.Go(func() {
			for i := range 12 {
				batch := append(s.many(sl, 0, 1000*worker+10*i, 5), s.many(sl, 1, 1000*worker+10*i+5, 5)...)
				if _, err := s.WriteBatch(t.Context(), batch); err != nil {
					t.Errorf("write: %v", err)
				}
			}
		})
	}
	group.Go(func() {
		for range 6 {
			clock.Lock()
			now = now.Add(4 * time.Minute)
			clock.Unlock()
			if _, err := s.Expire(t.Context(), 7); err != nil {
				t.Errorf("expire: %v", err)
			}
		}
	})
	group.Wait()
	s.consistent(t)
	l, err := s.Listing(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := s.Ledger(t.Context(), 7)
	if err != nil || l.Items[0].Quantity != 39 || ledger.Shards[0][701] != 39 || ledger.Shards[0][702] != l.Items[1].Quantity {
		t.Errorf("after the race: got quantities %d, %d, ledger %+v, %v, want 39 units in all of them",
			l.Items[0].Quantity, l.Items[1].Quantity, ledger, err)
	}
}
