package orderwriter_test

import (
	"bytes"
	"crypto/rand"
	"testing"

	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// TestForeignOrderID has records with the id of an order that is not theirs:
// each becomes a dead letter, and no unit and no hold is other than before.
func TestForeignOrderID(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, d *desk, sl sale.Sale, p *sale.Placed){
		"another shopper": func(_ *testing.T, _ *desk, _ sale.Sale, p *sale.Placed) { p.UserID = "u2" },
		"another item":    func(_ *testing.T, _ *desk, sl sale.Sale, p *sale.Placed) { p.ItemID = sl.Items[1].ID },
		"a shopper with an order": func(t *testing.T, d *desk, sl sale.Sale, p *sale.Placed) {
			other := d.Reserve(t, sl, 1, "u2")
			d.writes(t, d.records(other)...)
			p.UserID = "u2"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			sl := d.Open(t, 3, 3)
			p := d.Reserve(t, sl, 0, "u1")
			foreign := p
			change(t, d, sl, &foreign)
			second := d.Check(t, sl).Items[sl.Items[1].ID]
			d.writes(t, d.records(p)...)
			for _, records := range [][]orderlog.Record{d.records(foreign), d.records(foreign), d.records(p, foreign)} {
				d.writes(t, records...)
				d.WantUnits(t, sl, 0, [4]int64{2, 0, 0, 1})
				d.WantUnits(t, sl, 1, [4]int64{second.Stock, second.Reserved, second.Claimed, second.Confirmed})
				d.WantRow(t, p.OrderID, order.Pending, "")
				d.WantSold(t, sl, 0, 1)
				hold, held, err := d.Stock.Hold(t.Context(), stock.Of(&sl), "u1")
				if err != nil || !held || hold.OrderID != p.OrderID || hold.ItemID != p.ItemID {
					t.Errorf("owner's hold: got %+v, %t, %v, want it as it was", hold, held, err)
				}
			}
			letters := d.deadLetters(t)
			if len(letters) != 3 {
				t.Fatalf("dead letters: got %v, want 3", letters)
			}
			for _, l := range letters {
				if l.value != string(orderlog.Encode(foreign)) || l.reason != "the order id is another order's" {
					t.Errorf("letter: got %+v, want the foreign record", l)
				}
			}
			// The owner's hold is lost: its record still brings it back.
			if _, err := d.Stock.Release(t.Context(), stock.Of(&sl), stock.Settled, []stock.Held{{OrderID: p.OrderID, UserID: "u1"}}); err != nil {
				t.Fatal(err)
			}
			d.writes(t, d.records(p)...)
			d.WantUnits(t, sl, 0, [4]int64{2, 0, 0, 1})
		})
	}
}

// TestForeignToEnded has an ended order's shopper and id on another item.
func TestForeignToEnded(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 3, 3)
	p := d.Reserve(t, sl, 0, "u1")
	d.writes(t, d.records(p)...)
	d.Passes(sl.PaymentWindow + sl.Grace)
	if n, err := d.Orders.Expire(t.Context(), 10); n != 1 || err != nil {
		t.Fatalf("expire: got %d, %v, want 1", n, err)
	}
	p.ItemID = sl.Items[1].ID
	for range 2 { // before its release and after it
		d.writes(t, d.records(p)...)
		d.WantUnits(t, sl, 0, [4]int64{3, 0, 0, 0})
		d.WantUnits(t, sl, 1, [4]int64{3, 0, 0, 0})
	}
	if letters := d.deadLetters(t); len(letters) != 2 {
		t.Errorf("dead letters: got %v, want 2", letters)
	}
}

// TestTooLargePoison has a poison record as large as Kafka takes: with the
// headers of a dead letter it is too large, and it must not stop its partition.
func TestTooLargePoison(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 3)
	garbage := make([]byte, 1_048_000)
	_, _ = rand.Read(garbage)
	long := bytes.Repeat([]byte("k"), 450_000)
	twice := bytes.Join([][]byte{[]byte(`{"`), long, []byte(`":1,"`), long, []byte(`":2}`)}, nil)
	p := d.Reserve(t, sl, 0, "u1")
	d.writes(t, d.record(garbage), d.record(twice), d.record(orderlog.Encode(p)))
	d.WantRow(t, p.OrderID, order.Pending, "")
	letters := d.deadLetters(t)
	if len(letters) != 2 {
		t.Fatalf("dead letters: got %d, want 2", len(letters))
	}
	if got := letters[0]; got.headers["fs-truncated"] != "1048000" || !bytes.HasPrefix(garbage, []byte(got.value)) || got.value == "" {
		t.Errorf("garbage: got %d bytes, headers %v, want its beginning", len(got.value), got.headers)
	}
	if got := letters[1]; got.value != string(twice) || len(got.reason) > 500 {
		t.Errorf("endless key: got %d bytes, a reason of %d, want all and at most 500", len(got.value), len(got.reason))
	}
}
