package orderwriter_test

import (
	"testing"

	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
)

// TestReplayAfterArchive reads an archived sale's records once more, as after an offset reset. What
// has its row is no dead letter: ten thousand of them would hide a real one.
func TestReplayAfterArchive(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 5, 5)
	first, second := d.Reserve(t, sl, 0, "u1"), d.Reserve(t, sl, 0, "u2")
	d.writes(t, d.records(first, second)...)
	for _, p := range []sale.Placed{first, second} {
		_, back, err := d.Orders.Cancel(t.Context(), p.OrderID, p.UserID)
		if err == nil {
			err = d.Orders.ReleasesDone(t.Context(), []int64{back[0].ID})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Orders.Close(t.Context(), sl.ID, "test"); err != nil {
		t.Fatal(err)
	}
	if archived, err := d.Orders.Archive(t.Context(), sl.ID, "test", order.Remains{}); !archived || err != nil {
		t.Fatalf("archive: got %t, %v", archived, err)
	}
	foreign, late := first, d.Place(sl, 0, "u3")
	foreign.ItemID = sl.Items[1].ID
	for range 2 {
		d.writes(t, d.records(first, second, foreign, late)...)
	}
	for _, p := range []sale.Placed{first, second} {
		d.WantRow(t, p.OrderID, order.Cancelled, "")
	}
	var got []string
	for _, l := range d.deadLetters(t) {
		got = append(got, l.value)
	}
	want := []string{string(orderlog.Encode(foreign)), string(orderlog.Encode(late))}
	if len(got) != 4 || got[0] != want[0] || got[1] != want[1] || got[2] != want[0] || got[3] != want[1] {
		t.Errorf("dead letters: got %q, want twice %q", got, want)
	}
}
