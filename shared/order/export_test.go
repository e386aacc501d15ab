package order_test

import (
	"fmt"
	"slices"
	"testing"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

func TestExport(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl, other := s.create(t, saleOf(7, 10)), s.create(t, saleOf(8, 10))
		placed := s.many(sl, 0, 0, 5)
		s.write(t, placed...)
		s.write(t, s.many(other, 0, 0, 5)...)
		pay := func(event string, id sale.OrderID) {
			t.Helper()
			_, err := s.Pay(t.Context(), order.Payment{
				WebhookID: event, PaymentID: "pay-" + event, OrderID: id, Type: order.PaymentSucceeded, AmountMinor: 1999, Currency: "EUR", At: start,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		pay("w1", placed[3].OrderID)
		pay("w2", placed[3].OrderID) // money that nobody asked for
		pay("w3", s.mint.New(7, "nobody"))
		pay("w4", s.mint.New(8, "nobody"))

		var got []order.Export
		var after sale.OrderID
		for {
			page, err := s.Export(t.Context(), 7, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page...)
			if len(page) < 2 {
				break
			}
			after = page[1].ID
		}
		want := slices.Clone(placed)
		slices.SortFunc(want, func(a, b sale.Placed) int { return slices.Compare(a.OrderID[:], b.OrderID[:]) })
		if len(got) != len(want) {
			t.Fatalf("orders: got %d, want %d", len(got), len(want))
		}
		for i, e := range got {
			state, payment := order.Pending, ""
			if e.ID == placed[3].OrderID {
				state, payment = order.Paid, "pay-w1"
			}
			row, err := s.Order(t.Context(), want[i].OrderID, want[i].UserID)
			if err != nil || e.Order != row || e.State != state || e.PaymentID != payment || e.ProductID != 55 {
				t.Errorf("order %d: got %+v, want %+v, %s, payment %q, product 55", i, e, row, state, payment)
			}
		}

		due, err := s.Refunds(t.Context(), 7, "", 10)
		if err != nil || len(due) != 2 {
			t.Fatalf("refunds: got %+v, %v, want 2", due, err)
		}
		known := order.Refund{
			WebhookID: "w2", PaymentID: "pay-w2", OrderID: placed[3].OrderID, ItemID: 701, UserID: "u3", State: order.Paid,
			AmountMinor: 1999, Currency: "EUR", ReceivedAt: start,
		}
		if due[0] != known || due[1].WebhookID != "w3" || due[1].State != "" || due[1].UserID != "" {
			t.Errorf("refunds: got %+v, want %+v and w3 of an unknown order", due, known)
		}
		for after, want := range map[string]int{"w2": 1, "w3": 0} {
			if due, err := s.Refunds(t.Context(), 7, after, 1); err != nil || len(due) != want {
				t.Errorf("refunds after %s: got %+v, %v, want %d", after, due, err, want)
			}
		}
		if due, err := s.Refunds(t.Context(), 7, "", 1); err != nil || fmt.Sprint(due[0].WebhookID) != "w2" || len(due) != 1 {
			t.Errorf("a page of one: got %+v, %v", due, err)
		}
	})
}
