package orderstatus_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/shared/apigw"
	"flashsale/shared/giveback"
	"flashsale/shared/order"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

func (d *desk) cancel(t *testing.T, id sale.OrderID, user string) answer {
	t.Helper()
	return ask(t, d.h, "DELETE", "orderId", id.String(), provider.Token(user))
}

// buy takes an order all the way to its confirmed row.
func (d *desk) buy(t *testing.T, sl sale.Sale, user string) sale.Placed {
	t.Helper()
	p := d.Reserve(t, sl, 0, user)
	written := d.Write(t, p)
	if err := d.Stock.Confirm(t.Context(), stock.Of(&sl), []stock.Confirmation{{OrderID: p.OrderID, UserID: user, PayBy: written[0].PayBy}}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (d *desk) paid(t *testing.T, p sale.Placed, want order.Outcome) {
	t.Helper()
	got, err := d.Orders.Pay(t.Context(), order.Payment{
		WebhookID: p.OrderID.String(), PaymentID: p.OrderID.String(), OrderID: p.OrderID,
		Type: order.PaymentSucceeded, AmountMinor: 1999, Currency: "EUR", At: d.Now(),
	})
	if got != want || err != nil {
		t.Errorf("pay: got %q, %v, want %q", got, err, want)
	}
}

// When the answer arrives the unit is in stock, and its shopper may buy again.
func TestCancel(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 1)
	p := d.buy(t, sl, "u1")
	d.WantUnits(t, sl, 0, [4]int64{0, 0, 0, 1})
	for range 2 {
		d.cancel(t, p.OrderID, "u1").want(t, 200, view(p.OrderID, "CANCELLED",
			fmt.Sprintf(`"itemId":%d`, p.ItemID), fmt.Sprintf(`"saleId":%d`, sl.ID), `"payable":false`))
		d.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 0})
		d.WantSold(t, sl, 0, 0)
	}
	if waiting, err := d.Orders.Releases(t.Context(), 0, 10); err != nil || len(waiting) != 0 {
		t.Errorf("releases: got %v, %v, want none", waiting, err)
	}
	second := d.buy(t, sl, "u1")
	d.cancel(t, p.OrderID, "u1").want(t, 200, view(p.OrderID, "CANCELLED",
		fmt.Sprintf(`"itemId":%d`, p.ItemID), fmt.Sprintf(`"saleId":%d`, sl.ID), `"payable":false`))
	d.WantUnits(t, sl, 0, [4]int64{0, 0, 0, 1}) // the second order keeps its unit
	d.WantRow(t, second.OrderID, order.Pending, "")
}

func TestCancelRefused(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 5)

	t.Run("paid", func(t *testing.T) {
		p := d.buy(t, sl, "payer")
		d.paid(t, p, order.OutcomePaid)
		d.cancel(t, p.OrderID, "payer").want(t, 409, "ORDER_NOT_CANCELLABLE")
		d.WantRow(t, p.OrderID, order.Paid, "")
	})
	t.Run("someone else's", func(t *testing.T) {
		p := d.buy(t, sl, "owner")
		d.cancel(t, p.OrderID, "thief").want(t, 404, "UNKNOWN_ORDER")
		d.WantRow(t, p.OrderID, order.Pending, "")
	})
	t.Run("not written yet", func(t *testing.T) {
		held := d.Reserve(t, sl, 0, "quick")
		d.cancel(t, held.OrderID, "quick").want(t, 503, "TRY_AGAIN")
		lost := d.Place(sl, 0, "young") // its record may be in Kafka
		d.cancel(t, lost.OrderID, "young").want(t, 503, "TRY_AGAIN")
		d.cancel(t, lost.OrderID, "other").want(t, 404, "UNKNOWN_ORDER")
		d.Write(t, held)
		d.cancel(t, held.OrderID, "quick").want(t, 200, view(held.OrderID, "CANCELLED",
			fmt.Sprintf(`"itemId":%d`, held.ItemID), fmt.Sprintf(`"saleId":%d`, sl.ID), `"payable":false`))
	})
	t.Run("expired", func(t *testing.T) {
		p := d.buy(t, sl, "late")
		d.Passes(11 * time.Minute)
		if _, err := d.Orders.Expire(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		d.cancel(t, p.OrderID, "late").want(t, 409, "ORDER_NOT_CANCELLABLE")
	})
	t.Run("no order", func(t *testing.T) {
		for _, id := range []string{"x", "", strings.ToUpper(d.Place(sl, 0, "u").OrderID.String())} {
			ask(t, d.h, "DELETE", "orderId", id, provider.Token("u")).want(t, 404, "UNKNOWN_ORDER")
		}
		ask(t, d.h, "DELETE", "orderId", d.Place(sl, 0, "u").OrderID.String(), "").want(t, 401, "UNAUTHENTICATED")
		ask(t, d.h, "DELETE", "saleId", fmt.Sprint(sl.ID), provider.Token("u")).want(t, 405, "METHOD_NOT_ALLOWED")
	})
}

// With Redis away the order is cancelled all the same, and the expirer's drain
// gives the unit back.
func TestCancelWithoutRedis(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 1)
	p := d.buy(t, sl, "u1")
	away := shoptest.OpenShelf(t, "redis://127.0.0.1:1/0")
	broken := *d.h
	broken.Stock = away.Stock
	ask(t, &broken, "DELETE", "orderId", p.OrderID.String(), provider.Token("u1")).want(t, 200, view(p.OrderID, "CANCELLED",
		fmt.Sprintf(`"itemId":%d`, p.ItemID), fmt.Sprintf(`"saleId":%d`, sl.ID), `"payable":false`))
	d.WantRow(t, p.OrderID, order.Cancelled, "")
	d.WantUnits(t, sl, 0, [4]int64{0, 0, 0, 1})
	if n, err := giveback.Drain(t.Context(), d.Orders, d.Stock); n != 1 || err != nil {
		t.Errorf("drain: got %d, %v, want 1", n, err)
	}
	d.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 0})
	ask(t, &broken, "DELETE", "orderId", d.Place(sl, 0, "u2").OrderID.String(), provider.Token("u2")).want(t, 503, "TRY_AGAIN")
}

// Fifty cancels, drains, payments and deliveries of one order at once give its
// unit back once, or keep it once.
func TestFiftyAtOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.h.Edge = apigw.Edge{Log: slog.New(slog.DiscardHandler)}
	sl := d.Open(t, 3)
	for name, withPayment := range map[string]bool{"cancels alone": false, "with a payment": true} {
		t.Run(name, func(t *testing.T) {
			p := d.buy(t, sl, name)
			before := d.Check(t, sl).Items[p.ItemID].Stock
			late := order.New(d.Pool)
			late.Now = func() time.Time { return d.Now().Add(time.Hour) }
			var group sync.WaitGroup
			for i := range 50 {
				group.Go(func() {
					switch {
					case i%3 == 0:
						if _, err := giveback.Drain(t.Context(), d.Orders, d.Stock); err != nil {
							t.Errorf("drain: %v", err)
						}
					case i%3 == 1 && !withPayment:
						if _, err := late.Expire(t.Context(), 10); err != nil {
							t.Errorf("expire: %v", err)
						}
					case withPayment && i == 25:
						_, err := d.Orders.Pay(t.Context(), order.Payment{
							WebhookID: "m", PaymentID: "p", OrderID: p.OrderID, Type: order.PaymentSucceeded, AmountMinor: 1999, Currency: "EUR", At: d.Now(),
						})
						if err != nil {
							t.Errorf("pay: %v", err)
						}
					default:
						if got := d.cancel(t, p.OrderID, name).Status; got != 200 && got != 409 {
							t.Errorf("cancel: got %d, want 200 or 409", got)
						}
					}
				})
			}
			group.Wait()
			if _, err := giveback.Drain(t.Context(), d.Orders, d.Stock); err != nil {
				t.Fatal(err)
			}
			want := before + 1
			switch d.Row(t, p.OrderID).State {
			case order.Paid:
				want = before
			case order.Cancelled, order.Expired:
			default:
				t.Errorf("row: got %s, want a final state", d.Row(t, p.OrderID).State)
			}
			got := d.Check(t, sl)
			if it := got.Items[p.ItemID]; it.Stock != want || !got.Conserved() {
				t.Errorf("stock: got %+v, want %d left", it, want)
			}
			_, back, err := d.Orders.Cancel(t.Context(), p.OrderID, name)
			if len(back) != 0 || err != nil && !errors.Is(err, order.ErrNotCancellable) {
				t.Errorf("afterwards: got %v, %v, want no release left", back, err)
			}
		})
	}
}
