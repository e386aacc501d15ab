package order_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		sl := s.create(t, saleOf(7, 10))
		p := s.place(sl, 0, "ann")
		if _, _, err := s.Cancel(t.Context(), p.OrderID, "ann"); !errors.Is(err, order.ErrUnknownOrder) {
			t.Errorf("before the row: got %v, want unknown order", err)
		}
		s.write(t, p)
		if _, _, err := s.Cancel(t.Context(), p.OrderID, "bob"); !errors.Is(err, order.ErrUnknownOrder) || s.state(t, p.OrderID) != order.Pending {
			t.Errorf("someone else's: got %v, want unknown order and no change", err)
		}
		first, back, err := s.Cancel(t.Context(), p.OrderID, "ann")
		if err != nil || first.State != order.Cancelled || !first.SettledAt.Equal(start) {
			t.Fatalf("cancel: got %+v, %v, want CANCELLED at %s", first, err, start)
		}
		if len(back) != 1 || back[0].OrderID != p.OrderID || back[0].UserID != "ann" || back[0].SaleID != 7 || back[0].Shards != 1 {
			t.Fatalf("releases: got %+v, want ann's", back)
		}
		again, same, err := s.Cancel(t.Context(), p.OrderID, "ann")
		if err != nil || again != first || len(same) != 1 || same[0] != back[0] {
			t.Errorf("again: got %+v, %+v, %v, want the same", again, same, err)
		}
		if err := s.ReleasesDone(t.Context(), []int64{back[0].ID}); err != nil {
			t.Fatal(err)
		}
		if again, none, err := s.Cancel(t.Context(), p.OrderID, "ann"); err != nil || again != first || len(none) != 0 {
			t.Errorf("after the release: got %+v, %+v, %v, want no release", again, none, err)
		}
		if n := s.count(t, `SELECT sold FROM flash_sale_item`); n != 0 {
			t.Errorf("sold: got %d, want 0", n)
		}
		if got := s.write(t, s.place(sl, 0, "ann"))[0]; got.Result != order.ResultNew {
			t.Errorf("second purchase: got %+v, want new", got)
		}
		if got := s.write(t, p)[0]; got.Result != order.ResultKnown || got.State != order.Cancelled {
			t.Errorf("the record again: got %+v, want known, CANCELLED", got)
		}
		s.consistent(t)
	})
}

func TestNotCancellable(t *testing.T) {
	t.Parallel()
	s := open(t)
	sl := s.create(t, saleOf(7, 10))
	paid, expired, rejected := s.place(sl, 0, "ann"), s.place(sl, 0, "bob"), s.place(sl, 0, "cid")
	s.write(t, paid, expired)
	s.pay(t, payment(paid, nil), order.OutcomePaid)
	s.expire(t, start.Add(time.Hour), 10)
	if err := s.Reject(t.Context(), []sale.Placed{rejected}, "test"); err != nil {
		t.Fatal(err)
	}
	for state, p := range map[order.State]sale.Placed{order.Paid: paid, order.Expired: expired, order.Rejected: rejected} {
		if _, back, err := s.Cancel(t.Context(), p.OrderID, p.UserID); !errors.Is(err, order.ErrNotCancellable) || back != nil {
			t.Errorf("%s: got %v, %v, want not cancellable", state, back, err)
		}
		if got := s.state(t, p.OrderID); got != state {
			t.Errorf("state: got %s, want %s", got, state)
		}
	}
	s.consistent(t)
}

// A payment, a cancel and the expirer meet at one order, many times: one of them
// ends it, and the others hear so.
func TestPayCancelExpireAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	const rounds = 60
	sl := s.create(t, saleOf(7, rounds))
	late := order.New(s.pool)
	late.Now = func() time.Time { return start.Add(time.Hour) }
	for round := range rounds {
		p := s.place(sl, 0, fmt.Sprintf("u%d", round))
		s.write(t, p)
		var outcome order.Outcome
		var cancelErr error
		expired := 0
		var group sync.WaitGroup
		group.Go(func() {
			var err error
			if outcome, err = s.Pay(t.Context(), payment(p, nil)); err != nil {
				t.Errorf("pay: %v", err)
			}
		})
		group.Go(func() { _, _, cancelErr = s.Cancel(t.Context(), p.OrderID, p.UserID) })
		group.Go(func() {
			var err error
			if expired, err = late.Expire(t.Context(), 10); err != nil {
				t.Errorf("expire: %v", err)
			}
		})
		group.Wait()
		wantOutcome, wantCancel, wantExpired := order.OutcomeRefundDue, order.ErrNotCancellable, 0
		state := s.state(t, p.OrderID)
		switch state {
		case order.Paid:
			wantOutcome = order.OutcomePaid
		case order.Cancelled:
			wantCancel = nil
		case order.Expired:
			wantExpired = 1
		default:
			t.Errorf("state: got %s, want a final one", state)
		}
		if outcome != wantOutcome || !errors.Is(cancelErr, wantCancel) || expired != wantExpired {
			t.Errorf("%s: got %s, %v, %d expired, want %s, %v, %d", state, outcome, cancelErr, expired, wantOutcome, wantCancel, wantExpired)
		}
	}
	s.consistent(t)
}
