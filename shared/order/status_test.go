package order_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		ctx := t.Context()
		sl := s.create(t, saleOf(7, 10, 10))
		first := s.place(sl, 0, "ann")
		s.write(t, first, s.place(sl, 0, "bob"))

		t.Run("only its shopper's", func(t *testing.T) {
			if got, err := s.Order(ctx, first.OrderID, "ann"); err != nil || got.ID != first.OrderID {
				t.Errorf("own: got %+v, %v, want the order", got, err)
			}
			if _, err := s.Order(ctx, first.OrderID, "bob"); !errors.Is(err, order.ErrUnknownOrder) {
				t.Errorf("someone else's: got %v, want ErrUnknownOrder", err)
			}
			if _, err := s.Order(ctx, s.mint.New(7, "ann"), "ann"); !errors.Is(err, order.ErrUnknownOrder) {
				t.Errorf("unknown: got %v, want ErrUnknownOrder", err)
			}
		})

		s.Now = func() time.Time { return start.Add(time.Second) }
		second := s.place(sl, 1, "ann")
		s.write(t, second)
		t.Run("my order is the active one, not the newest", func(t *testing.T) {
			if got, err := s.MyOrder(ctx, 7, "ann"); err != nil || got.ID != first.OrderID {
				t.Errorf("got %+v, %v, want %v", got, err, first.OrderID)
			}
		})
		s.expire(t, start.Add(time.Hour), 10)
		t.Run("without an active one it is the newest", func(t *testing.T) {
			if got, err := s.MyOrder(ctx, 7, "ann"); err != nil || got.ID != second.OrderID || got.State != order.Rejected {
				t.Errorf("got %+v, %v, want the REJECTED %v", got, err, second.OrderID)
			}
			if _, err := s.MyOrder(ctx, 7, "cid"); !errors.Is(err, order.ErrUnknownOrder) {
				t.Errorf("no order: got %v, want ErrUnknownOrder", err)
			}
			if _, err := s.MyOrder(ctx, 8, "ann"); !errors.Is(err, order.ErrUnknownOrder) {
				t.Errorf("other sale: got %v, want ErrUnknownOrder", err)
			}
		})
		t.Run("orders by id", func(t *testing.T) {
			got, err := s.Orders(ctx, []sale.OrderID{second.OrderID, s.mint.New(7, "x"), first.OrderID})
			if err != nil || len(got) != 2 || got[first.OrderID].State != order.Expired || got[second.OrderID].State != order.Rejected {
				t.Errorf("got %+v, %v, want the first EXPIRED, the second REJECTED", got, err)
			}
			if got, err := s.Orders(ctx, nil); err != nil || len(got) != 0 {
				t.Errorf("none: got %+v, %v, want none", got, err)
			}
		})
		t.Run("history", func(t *testing.T) {
			orders, events, err := s.History(ctx, 7, "ann")
			if err != nil || len(orders) != 2 || orders[0].ID != first.OrderID || orders[1].ID != second.OrderID {
				t.Fatalf("orders: got %+v, %v, want the first and the second", orders, err)
			}
			var kinds []string
			for _, e := range events {
				kinds = append(kinds, e.Kind)
			}
			if want := []string{"placed", "rejected", "expired"}; !slices.Equal(kinds, want) {
				t.Fatalf("events: got %v, want %v", kinds, want)
			}
			if e := events[2]; e.OrderID != first.OrderID || !e.At.Equal(start.Add(time.Hour)) {
				t.Errorf("expired: got %+v, want the first order, at the time of expiry", e)
			}
			var payload any
			if err := json.Unmarshal(events[1].Payload, &payload); err != nil {
				t.Fatalf("payload: %v", err)
			}
			want := map[string]any{"itemId": 702.0, "userId": "ann", "priceMinor": 1999.0, "currency": "EUR", "reason": order.ReasonSecondOrder}
			if !reflect.DeepEqual(payload, want) {
				t.Errorf("payload: got %v, want %v", payload, want)
			}
			if orders, events, err := s.History(ctx, 7, "cid"); err != nil || len(orders)+len(events) != 0 {
				t.Errorf("stranger: got %v, %v, %v, want nothing", orders, events, err)
			}
		})
	})
}

func TestReport(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := s.create(t, saleOf(7, 3, 10))
		other := s.create(t, saleOf(8, 10))
		s.write(t, s.many(other, 0, 500, 4)...)
		s.write(t, s.many(sl, 0, 0, 5)...) // two are one too many
		if n := s.expire(t, start.Add(time.Hour), 100); n != 3+4 {
			t.Fatalf("expired: got %d, want 7", n)
		}
		paid := s.place(sl, 1, "ann")
		s.write(t, paid, s.place(sl, 1, "bob"))
		exec := func(query string, args ...any) {
			t.Helper()
			if _, err := s.pool.Exec(t.Context(), query, args...); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		exec(`UPDATE flash_sale_order SET status = 'PAID', settled_at = now() WHERE user_id = 'ann'`)
		refund := `INSERT INTO payment (webhook_id, payment_id, order_id, sale_id, type, amount_minor, currency, received_at, outcome, refund_due)
			VALUES (gen_random_uuid()::text, gen_random_uuid()::text, $1::uuid, $2::bigint, 'payment.succeeded', 1, 'EUR', now(), 'refund_due', $3::boolean)`
		exec(refund, paid.OrderID.String(), 7, true)
		exec(refund, paid.OrderID.String(), 7, false) // made already
		exec(refund, s.mint.New(7, "x").String(), 7, true)
		exec(refund, s.mint.New(8, "x").String(), 8, true)

		got, err := s.Report(t.Context(), 7)
		if err != nil {
			t.Fatalf("report: %v", err)
		}
		want := order.Report{
			Items: []order.ItemReport{
				{ItemID: 701, Quantity: 3, Sold: 0, Orders: map[order.State]int{
					order.Pending: 0, order.Paid: 0, order.Expired: 3, order.Cancelled: 0, order.Rejected: 2,
				}},
				{ItemID: 702, Quantity: 10, Sold: 2, RefundsDue: 1, Orders: map[order.State]int{
					order.Pending: 1, order.Paid: 1, order.Expired: 0, order.Cancelled: 0, order.Rejected: 0,
				}},
			},
			RefundsDueUnknown: 1, ReleasesWaiting: 3, Ledger: 1,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("report: got %+v, want %+v", got, want)
		}
	})
}
