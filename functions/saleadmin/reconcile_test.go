package saleadmin_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// TestReconcile counts in its answer all that it has put right.
func TestReconcile(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.Sale(8)
	sl.Shards = 2
	t.Cleanup(func() { _ = o.Stock.Drop(context.WithoutCancel(t.Context()), stock.Of(&sl)) })
	o.says(t, `{"action":"create","sale":%s}`, strings.Replace(file(sl, "-1m", "+1h", 8), `"name"`, `"shards":2,"name"`, 1))
	o.says(t, `{"action":"load","saleId":%d}`, sl.ID)
	for _, c := range []struct {
		name   string
		damage func() error
		want   string
	}{
		{"nothing", func() error { return nil }, `"adopted":0,"released":0,"repaired":0,"transfersFinished":0`},
		{"a move that stopped half-way", func() error {
			_, err := o.Stock.Shrink(t.Context(), stock.Of(&sl), 1, 2, map[sale.ItemID]int{sl.Items[0].ID: 3})
			return err
		}, `"adopted":0,"released":0,"repaired":0,"transfersFinished":1`},
		{"a pause that somebody typed", func() error {
			metas, err := o.Redis.Keys(t.Context(), fmt.Sprintf("{sale:%d:1*}:meta", sl.ID)).Result()
			if err != nil || len(metas) != 1 {
				return fmt.Errorf("got %v, %w, want one shard", metas, err)
			}
			return o.Redis.HSet(t.Context(), metas[0], "paused", "lunch").Err()
		}, `"adopted":0,"released":0,"repaired":1,"transfersFinished":0`},
	} {
		if err := c.damage(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := o.says(t, `{"action":"reconcile","saleId":%d}`, sl.ID); got != fmt.Sprintf(`{"saleId":%d,"state":"OPEN",%s}`, sl.ID, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
