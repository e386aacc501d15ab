package recovery_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"flashsale/shared/giveback"
	"flashsale/shared/order"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

func TestArchive(t *testing.T) {
	t.Parallel()
	closed := func(t *testing.T, b *bench, sl sale.Sale) {
		t.Helper()
		if err := b.Orders.Close(t.Context(), sl.ID, "op"); err != nil {
			t.Fatal(err)
		}
	}
	keys := func(t *testing.T, b *bench, sl sale.Sale) (n int64) {
		t.Helper()
		for _, part := range []string{"meta", "holds", "stock", "unconfirmed", "released"} {
			n += b.Redis.Exists(t.Context(), shoptest.Key(sl, part)).Val()
		}
		return n
	}
	t.Run("keys go, and nothing brings them back", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 3)
		placed := b.sell(t, sl, 1)[0]
		if _, err := b.Orders.Pay(t.Context(), order.Payment{
			WebhookID: "w", PaymentID: "p", OrderID: placed.OrderID, Type: order.PaymentSucceeded, AmountMinor: 1999, Currency: "EUR", At: time.Now(),
		}); err != nil {
			t.Fatal(err)
		}
		l, err := b.Orders.Listing(t.Context(), sl.ID) // as a pass read it before
		if err != nil {
			t.Fatal(err)
		}
		closed(t, b, sl)
		for _, want := range []bool{true, false} {
			if first, err := b.keeper.Archive(t.Context(), sl.ID, "anna"); first != want || err != nil {
				t.Fatalf("archive: got %v, %v, want %v", first, err, want)
			}
		}
		if n := keys(t, b, sl); n != 0 {
			t.Errorf("keys: got %d, want none", n)
		}
		if _, err := b.keeper.Rebuild(t.Context(), &l.Sale); !errors.Is(err, order.ErrArchived) {
			t.Errorf("rebuild: got %v, want ErrArchived", err)
		}
		if _, err := b.keeper.Load(t.Context(), sl.ID); !errors.Is(err, order.ErrArchived) {
			t.Errorf("load: got %v, want ErrArchived", err)
		}
		if _, err := b.keeper.Reconcile(t.Context(), &l.Sale); !errors.Is(err, recovery.ErrLost) {
			t.Errorf("reconcile by a pass that is late: got %v, want ErrLost", err)
		}
		if err := b.keeper.Govern(t.Context(), sl.ID); err != nil {
			t.Errorf("govern: %v", err)
		}
		if n := keys(t, b, sl); n != 0 {
			t.Errorf("keys after all that: got %d, want none", n)
		}
	})
	t.Run("one that died after its commit is finished by the next", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 3)
		closed(t, b, sl)
		if first, err := b.Orders.Archive(t.Context(), sl.ID, "anna", order.Remains{}); !first || err != nil {
			t.Fatalf("archive: got %v, %v", first, err)
		}
		if n := keys(t, b, sl); n == 0 {
			t.Fatal("keys: got none, want those of the sale")
		}
		if first, err := b.keeper.Archive(t.Context(), sl.ID, "anna"); first || err != nil {
			t.Errorf("again: got %v, %v, want false", first, err)
		}
		if n := keys(t, b, sl); n != 0 {
			t.Errorf("keys: got %d, want none", n)
		}
	})
	t.Run("what is under way is in the way", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 5)
		busy := func(whys ...string) {
			t.Helper()
			_, err := b.keeper.Archive(t.Context(), sl.ID, "anna")
			busy, ok := errors.AsType[order.BusyError](err)
			for _, why := range whys {
				ok = ok && strings.Contains(busy.Error(), why)
			}
			if !ok {
				t.Errorf("archive: got %v, want busy: %q", err, whys)
			}
		}
		busy("not over")
		held := b.Reserve(t, sl, 0, "on the way")
		b.sell(t, sl, 1)
		closed(t, b, sl)
		b.backlog = 7
		busy("PENDING orders: 1", "holds without a PAID order: 2", "no writer has confirmed: 1", "unread records: 7")
		b.backlog = 0
		if _, err := b.Stock.Release(t.Context(), stock.Of(&sl), stock.Unclaimed, []stock.Held{{OrderID: held.OrderID, UserID: held.UserID}}); err != nil {
			t.Fatal(err)
		}
		b.Passes(sl.PaymentWindow + sl.Grace)
		if n, err := b.Orders.Expire(t.Context(), 10); n != 1 || err != nil {
			t.Fatalf("expire: got %d, %v", n, err)
		}
		busy("units on their way back: 1", "holds without a PAID order: 1")
		if n := keys(t, b, sl); n == 0 {
			t.Error("keys: got none, want all of them still")
		}
		if _, err := giveback.Drain(t.Context(), b.Orders, b.Stock); err != nil {
			t.Fatal(err)
		}
		if first, err := b.keeper.Archive(t.Context(), sl.ID, "anna"); !first || err != nil {
			t.Errorf("archive: got %v, %v", first, err)
		}
	})
	t.Run("over by the database's clock, not by Redis'", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 5)
		b.Passes(2 * time.Hour)
		_, err := b.keeper.Archive(t.Context(), sl.ID, "anna")
		if busy, ok := errors.AsType[order.BusyError](err); !ok || busy != "the sale is not over" {
			t.Errorf("archive: got %v, want that the sale is not over", err)
		}
		b.Reserve(t, sl, 0, "in time")
	})
	t.Run("purchases under way, whose holds are lost", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 5)
		closed(t, b, sl)
		b.keeper.UnderWay = time.Hour
		_, err := b.keeper.Archive(t.Context(), sl.ID, "anna")
		if busy, ok := errors.AsType[order.BusyError](err); !ok || !strings.Contains(string(busy), "purchases may be under way") {
			t.Errorf("archive: got %v, want that purchases may be under way", err)
		}
		b.keeper.UnderWay = time.Nanosecond
		if first, err := b.keeper.Archive(t.Context(), sl.ID, "anna"); !first || err != nil {
			t.Errorf("archive: got %v, %v", first, err)
		}
	})
	t.Run("a lost sale is rebuilt first", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Open(t, 5)
		closed(t, b, sl)
		b.Redis.Del(t.Context(), shoptest.Key(sl, "meta"))
		if _, err := b.keeper.Archive(t.Context(), sl.ID, "anna"); !errors.Is(err, recovery.ErrLost) {
			t.Errorf("archive: got %v, want ErrLost", err)
		}
	})
	t.Run("one that was never loaded", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.Sale(5)
		b.Create(t, sl)
		if first, err := b.keeper.Archive(t.Context(), sl.ID, "anna"); !first || err != nil {
			t.Errorf("archive: got %v, %v", first, err)
		}
	})
}
