package recovery_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// A tape is an order log of one partition.
type tape struct{ end, written atomic.Int64 }

func (l *tape) mark(context.Context, []sale.ItemID) (func(context.Context) (bool, error), error) {
	until := l.end.Load()
	return func(context.Context) (bool, error) { return l.written.Load() >= until, nil }, nil
}

// wiped is a sale that Redis has lost.
func wiped(t *testing.T) (*bench, sale.Sale) {
	t.Helper()
	b := newBench(t)
	sl := b.Open(t, 10)
	b.wipe(t, sl)
	return b, sl
}

// TestDrain has others write into the log all the time, and the writer behind them.
func TestDrain(t *testing.T) {
	t.Parallel()
	draining := func(t *testing.T, k *recovery.Keeper, sl sale.Sale) {
		t.Helper()
		if _, err := k.Rebuild(t.Context(), &sl); !errors.Is(err, recovery.ErrDraining) {
			t.Fatalf("rebuild: got %v, want ErrDraining", err)
		}
	}
	through := func(t *testing.T, k *recovery.Keeper, sl sale.Sale) {
		t.Helper()
		if _, err := k.Rebuild(t.Context(), &sl); err != nil {
			t.Fatalf("rebuild: %v", err)
		}
	}
	t.Run("the mark of the first pass is kept", func(t *testing.T) {
		t.Parallel()
		b, sl := wiped(t)
		var log tape
		b.keeper.Mark = log.mark
		for written := range int64(3) {
			log.end.Store(3 + 1000*written) // the first pass sees 3
			log.written.Store(written)
			draining(t, b.keeper, sl)
		}
		log.written.Store(3)
		through(t, b.keeper, sl)
		b.WantUnits(t, sl, 0, [4]int64{10, 0, 0, 0})
	})
	t.Run("a pass waits for as long as a purchase may take", func(t *testing.T) {
		t.Parallel()
		b, sl := wiped(t)
		var log tape
		log.end.Store(1)
		b.keeper.Mark, b.keeper.UnderWay = log.mark, 2*time.Second
		time.AfterFunc(2500*time.Millisecond, func() { log.written.Store(1) })
		through(t, b.keeper, sl)
	})
	t.Run("a second loss after another keeper's rebuild has a mark of its own", func(t *testing.T) {
		t.Parallel()
		b, sl := wiped(t)
		var log tape
		log.end.Store(1)
		slow := &recovery.Keeper{Orders: b.Orders, Stock: b.Stock, Mark: log.mark}
		draining(t, slow, sl)
		through(t, b.keeper, sl)
		late := b.Reserve(t, sl, 0, "late") // its record is in the log, its row not yet there
		b.wipe(t, sl)
		log.end.Store(2)
		log.written.Store(1)
		draining(t, slow, sl)
		b.Write(t, late)
		log.written.Store(2)
		through(t, slow, sl)
		b.WantUnits(t, sl, 0, [4]int64{9, 0, 0, 1})
	})
	t.Run("another shard that is lost meanwhile has a mark of its own", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		sl := b.openShards(t, 2, 10)
		b.Reserve(t, sl, 0, homed(sl, 0, 1)[0])
		b.Reserve(t, sl, 0, homed(sl, 1, 1)[0])
		b.loseShard(t, sl, 0)
		var log tape
		log.end.Store(1)
		b.keeper.Mark = log.mark
		draining(t, b.keeper, sl)
		b.loseShard(t, sl, 1)
		log.end.Store(2)
		log.written.Store(1)
		draining(t, b.keeper, sl)
		log.written.Store(2)
		through(t, b.keeper, sl)
	})
	t.Run("a keeper that begins anew marks anew", func(t *testing.T) {
		t.Parallel()
		b, sl := wiped(t)
		var log tape
		log.end.Store(1)
		b.keeper.Mark = log.mark
		draining(t, b.keeper, sl)
		log.end.Store(2)
		log.written.Store(1)
		draining(t, &recovery.Keeper{Orders: b.Orders, Stock: b.Stock, Mark: log.mark}, sl)
		if got := b.Outcome(t, sl, 0, "u"); got != stock.NotLoaded {
			t.Errorf("draining: got %s, want not loaded", got)
		}
	})
}
