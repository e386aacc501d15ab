package orderwriter_test

import (
	"context"
	"fmt"
	"testing"

	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// TestMovesUnits has a shard that is sold out and wishes: the next batch of the
// sale moves units to it, and a batch is not failed if that cannot be done.
func TestMovesUnits(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Sale(8)
	sl.Shards = 2
	t.Cleanup(func() { _ = d.Stock.Drop(context.WithoutCancel(t.Context()), stock.Of(&sl)) })
	d.Create(t, sl)
	d.Load(t, sl)
	var placed []sale.Placed
	users := homed(sl, 0, 6)
	for _, user := range users[:4] {
		placed = append(placed, d.Reserve(t, sl, 0, user))
	}
	want := func(first, second int64) {
		t.Helper()
		levels, err := d.Stock.Levels(t.Context(), stock.Of(&sl))
		id := sl.Items[0].ID
		if err != nil || levels[0].Items[id].Stock != first || levels[1].Items[id].Stock != second {
			t.Errorf("stock by shard: got %+v, %v, want %d and %d", levels, err, first, second)
		}
	}
	d.writes(t, d.records(placed[:2]...)...)
	want(0, 4) // nobody has asked
	if got := d.Outcome(t, sl, 0, users[4]); got != stock.SoldOut {
		t.Fatalf("a fifth in the shard: got %v, want sold out", got)
	}

	// A move that fails does not fail the records.
	for _, statement := range []string{
		`ALTER TABLE flash_sale_quota ADD CONSTRAINT chk_test CHECK (quota = 4)`,
		`ALTER TABLE flash_sale_quota DROP CONSTRAINT chk_test`,
	} {
		if _, err := d.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		d.writes(t, d.records(placed[2])...)
	}
	// The first one took two units and could not commit: the shard is too new for a second move.
	want(0, 2)
	keeper := &recovery.Keeper{Orders: d.Orders, Stock: d.Stock}
	if got, err := keeper.Reconcile(t.Context(), &sl); err != nil || got.TransfersFinished != 1 {
		t.Fatalf("reconcile: got %+v, %v, want one transfer finished", got, err)
	}
	want(0, 4)
	d.writes(t, d.records(placed[2:]...)...)
	want(2, 2)
	placed = append(placed, d.Reserve(t, sl, 0, users[4]))
	d.writes(t, d.records(placed[4])...)
	d.WantSold(t, sl, 0, 5)
}

func homed(sl sale.Sale, shard, n int) (users []string) {
	for i := 0; len(users) < n; i++ {
		if user := fmt.Sprint("u", i); stock.Of(&sl).Home(user) == shard {
			users = append(users, user)
		}
	}
	return users
}
