package saleadmin_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"flashsale/shared/sale"
)

// A pageOf is an answer to export.
type pageOf struct {
	SaleID  sale.ID
	Orders  []map[string]any
	Refunds []map[string]any
	Next    *string
}

func (o *office) export(t *testing.T, sl sale.Sale, more string) (p pageOf) {
	t.Helper()
	text := o.says(t, `{"action":"export","saleId":%d%s}`, sl.ID, more)
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	if len(text) > 6<<20 {
		t.Errorf("page: got %d bytes, Lambda answers 6 MB at the most", len(text))
	}
	return p
}

func TestExport(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 10, false)
	want(t, o.says(t, `{"action":"export","saleId":%d}`, sl.ID), `{"saleId":%d,"orders":[],"next":null}`, sl.ID)
	want(t, o.says(t, `{"action":"export","saleId":%d,"what":"refunds"}`, sl.ID), `{"saleId":%d,"refunds":[],"next":null}`, sl.ID)
	placed := make([]sale.Placed, 5)
	for i := range placed {
		placed[i] = o.Place(sl, 0, fmt.Sprintf("u%d", i))
	}
	slices.SortFunc(placed, func(a, b sale.Placed) int { return slices.Compare(a.OrderID[:], b.OrderID[:]) })
	o.Write(t, placed...)
	o.pays(t, "w1", placed[0].OrderID)
	o.pays(t, "w2", placed[0].OrderID)
	row := o.Row(t, placed[0].OrderID)

	t.Run("one order", func(t *testing.T) {
		want(t, o.says(t, `{"action":"export","saleId":%d,"limit":1}`, sl.ID), `{"saleId":%d,"orders":[{"orderId":"%s","itemId":%d,"productId":55,`+
			`"userId":"%s","status":"PAID","price":"19.99","currency":"EUR","reservedAt":"%s","createdAt":"%s","payBy":"%s","settledAt":"%s",`+
			`"paymentId":"pay-w1"}],"next":"%[2]s"}`, sl.ID, row.ID, row.ItemID, row.UserID,
			moment(row.ReservedAt), moment(row.CreatedAt), moment(row.PayBy), moment(row.SettledAt))
	})
	t.Run("one refund", func(t *testing.T) {
		p := o.export(t, sl, `,"what":"refunds"`)
		if len(p.Refunds) != 1 || p.Refunds[0]["webhookId"] != "w2" || p.Refunds[0]["paymentId"] != "pay-w2" || p.Refunds[0]["amount"] != "19.99" ||
			p.Refunds[0]["status"] != "PAID" || p.Next != nil || p.Orders != nil {
			t.Errorf("refunds: got %+v, want the second payment", p)
		}
	})
	t.Run("pages", func(t *testing.T) {
		var got []string
		after := ""
		for pages := 1; ; pages++ {
			p := o.export(t, sl, after+`,"limit":2`)
			for _, e := range p.Orders {
				got = append(got, e["orderId"].(string))
			}
			if p.Next == nil {
				if pages != 3 {
					t.Errorf("pages: got %d, want 3", pages)
				}
				break
			}
			after = `,"after":"` + *p.Next + `"`
		}
		for i, p := range placed {
			if got[i] != p.OrderID.String() {
				t.Errorf("order %d: got %s, want %s", i, got[i], p.OrderID)
			}
		}
	})
	t.Run("refusals", func(t *testing.T) {
		for _, more := range []string{`,"limit":0`, `,"limit":10001`, `,"limit":-1`, `,"what":"money"`, `,"after":"x"`} {
			wantRefusal(t, o.says(t, `{"action":"export","saleId":%d%s}`, sl.ID, more), "BAD_REQUEST")
		}
		wantRefusal(t, o.says(t, `{"action":"export","saleId":%d}`, o.Sale(1).ID), "UNKNOWN_SALE")
	})
}

// TestExportOfLongEntries has orders whose reasons are as long as records may be.
func TestExportOfLongEntries(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 10, false)
	for i, reason := range []string{strings.Repeat("x", 5<<20), strings.Repeat("y", 3<<20), strings.Repeat("z", 1<<20), "short"} {
		if err := o.Orders.Reject(t.Context(), []sale.Placed{o.Place(sl, 0, fmt.Sprint(i))}, reason); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[any]bool{}
	after := ""
	for {
		p := o.export(t, sl, after)
		for _, e := range p.Orders {
			seen[e["userId"]] = true
		}
		if p.Next == nil {
			break
		}
		after = `,"after":"` + *p.Next + `"`
	}
	if len(seen) != 4 {
		t.Errorf("orders: got %v, want all 4", seen)
	}
}
