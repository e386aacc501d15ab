package orderwriter_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
)

// TestPoisonAmongGoodOnes alternates good and bad records.
func TestPoisonAmongGoodOnes(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl, other := d.Open(t, 20), d.Open(t, 1)
	encoded := func(change func(*sale.Placed)) []byte {
		p := d.Place(sl, 0, "poison")
		change(&p)
		return orderlog.Encode(p)
	}
	poison := map[string][]byte{
		"the value is empty":                     nil,
		"the value is not a JSON object":         []byte("null"),
		"orderId is missing":                     []byte(`{"v":1,"x":"\u0000"}`),
		"the value is not UTF-8":                 []byte("{\"v\":1,\"userId\":\"\xff\xfe\"}"),
		"no item 1 in sale":                      encoded(func(p *sale.Placed) { p.ItemID = 1 }),
		"no item " + itemText(other) + " in":     encoded(func(p *sale.Placed) { p.ItemID = other.Items[0].ID }),
		"orderId names another sale than saleId": encoded(func(p *sale.Placed) { p.SaleID++ }),
	}
	var records []orderlog.Record
	var good []sale.Placed
	reasons := map[string]string{} // by offset
	for reason, value := range poison {
		bad := d.record(value)
		bad.Headers = []orderlog.Header{{Key: "trace", Value: []byte{0xff, 0x80, 0x00, 'a'}}, {Key: "fs-reason", Value: []byte("old")}}
		reasons[strconv.FormatInt(bad.Offset, 10)] = reason
		p := d.Reserve(t, sl, 0, fmt.Sprintf("u%d", len(good)))
		good = append(good, p)
		records = append(records, bad, d.record(orderlog.Encode(p)))
	}
	d.writes(t, records...)

	for _, p := range good {
		d.WantRow(t, p.OrderID, order.Pending, "")
	}
	if got := d.rows(t); got != len(good) {
		t.Errorf("rows: got %d, want %d", got, len(good))
	}
	letters := d.deadLetters(t)
	if len(letters) != len(poison) {
		t.Fatalf("dead letters: got %d, want %d", len(letters), len(poison))
	}
	for _, l := range letters {
		reason, ok := reasons[l.offset]
		if !ok || !strings.Contains(l.reason, reason) || l.topic != "orders" {
			t.Errorf("letter of offset %s: reason %q, want %q", l.offset, l.reason, reason)
		}
		if l.value != string(poison[reason]) {
			t.Errorf("letter %q: got value %q, want %q", reason, l.value, poison[reason])
		}
		if got := l.headers["trace"]; got != "\xff\x80\x00a" {
			t.Errorf("letter %q: got header %q, want its own bytes", reason, got)
		}
	}
}

// TestPoisonWithAName has bad records whose order can be told: it ends.
func TestPoisonWithAName(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 5)
	spoilt := func(p sale.Placed) []byte {
		return bytes.Replace(orderlog.Encode(p), []byte(`"v":1`), []byte(`"v":2`), 1)
	}
	held, placed, living := d.Reserve(t, sl, 0, "u1"), d.Place(sl, 0, "u2"), d.Reserve(t, sl, 0, "u3")
	d.writes(t, d.records(living)...)
	for range 2 {
		d.writes(t, d.record(spoilt(held)), d.record(spoilt(placed)), d.record(spoilt(living)))
		d.WantRow(t, held.OrderID, order.Rejected, "poison: v is invalid")
		d.WantRow(t, placed.OrderID, order.Rejected, "poison: v is invalid")
		d.WantRow(t, living.OrderID, order.Pending, "")
		d.WantUnits(t, sl, 0, [4]int64{4, 0, 0, 1})
		d.WantSold(t, sl, 0, 1)
	}
	// A good copy of the record comes late.
	d.writes(t, d.records(held)...)
	d.WantRow(t, held.OrderID, order.Rejected, "poison: v is invalid")
	d.WantUnits(t, sl, 0, [4]int64{4, 0, 0, 1})
	if letters := d.deadLetters(t); len(letters) != 6 || letters[0].value != string(spoilt(held)) {
		t.Errorf("dead letters: got %v, want 6 with the original bytes", letters)
	}
	again := d.Reserve(t, sl, 0, "u1")
	d.writes(t, d.records(again)...)
	d.WantRow(t, again.OrderID, order.Pending, "")
}

// TestGoldenEvents reads events as AWS sends them: two partitions, headers of
// signed bytes, a tombstone. Their sale is in no Redis, so the rows decide.
func TestGoldenEvents(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]struct {
		pending, letters int
	}{"msk": {3, 3}, "self-managed": {1, 0}} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			sl := d.Sale(10)
			sl.ID, sl.Items[0].ID = 4294967001, 9_100_000_000_000_000_001
			d.Create(t, sl)
			event, err := os.ReadFile("testdata/" + file + ".json")
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if failed := deliver(t, d.h, event); len(failed) != 0 {
					t.Errorf("failed: got %v, want none", failed)
				}
				if got := d.rows(t); got != want.pending {
					t.Errorf("rows: got %d, want %d", got, want.pending)
				}
				d.WantSold(t, sl, 0, want.pending)
			}
			if letters := d.deadLetters(t); len(letters) != 2*want.letters {
				t.Errorf("dead letters of two deliveries: got %v, want %d", letters, 2*want.letters)
			}
		})
	}
}

func TestOtherEvents(t *testing.T) {
	t.Parallel()
	d := open(t)
	for name, event := range map[string]string{
		"nothing": ``, "empty object": `{}`, "null": `null`, "empty text": `""`, "no records": `{"eventSource":"aws:kafka"}`,
		"SQS":         `{"Records":[{"eventSource":"aws:sqs","body":"{}"}]}`,
		"API Gateway": `{"httpMethod":"POST","path":"/","requestContext":{"requestId":"r"}}`,
		"no offset":   `{"eventSource":"aws:kafka","records":{"t-0":[{"topic":"t","partition":0,"value":""}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if answer, err := d.h.Invoke(t.Context(), []byte(event)); err == nil {
				t.Errorf("answer: got %s, want an error", answer)
			}
		})
	}
	t.Run("empty batch", func(t *testing.T) {
		t.Parallel()
		if failed := deliver(t, d.h, []byte(`{"eventSource":"aws:kafka","records":{}}`)); len(failed) != 0 {
			t.Errorf("failed: got %v, want none", failed)
		}
	})
}

func itemText(sl sale.Sale) string { return strconv.FormatInt(int64(sl.Items[0].ID), 10) }
