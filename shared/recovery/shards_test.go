package recovery_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// A market sells and takes back units of a sale by itself.
type market struct {
	*bench
	sl    sale.Sale
	moved atomic.Int64
	held  atomic.Int64 // units that shoppers have: counted after they got one, and before they give it back
}

// trade has one shopper after another press, and some give back: for so many
// rounds, or longer if no units were moved yet.
func (m *market) trade(ctx context.Context, seller, rounds, units int) error {
	sh := stock.Of(&m.sl)
	var mine []sale.Placed
	for i := 0; i < rounds || m.moved.Load() == 0 && i < 100*rounds; i++ {
		p := m.Place(m.sl, 0, fmt.Sprintf("s%d-%d", seller, i))
		got, err := m.Stock.Reserve(ctx, sh, stock.Attempt{OrderID: p.OrderID, UserID: p.UserID, ItemID: p.ItemID})
		if err != nil {
			return err
		}
		if got.Outcome == stock.Reserved {
			if n := m.held.Add(1); n > int64(units) {
				return fmt.Errorf("%d units of %d are held", n, units)
			}
			mine = append(mine, p)
		}
		if len(mine) > 0 && (rand.IntN(3) == 0 || got.Outcome == stock.SoldOut) {
			k := rand.IntN(len(mine))
			m.held.Add(-1)
			back, err := m.Stock.Release(ctx, sh, stock.Settled, []stock.Held{{OrderID: mine[k].OrderID, UserID: mine[k].UserID}})
			if err != nil || back[0] != stock.Released {
				return fmt.Errorf("release: %v, %w", back, err)
			}
			mine = slices.Delete(mine, k, k+1)
		}
	}
	return nil
}

// TestMovesWhileItSells has sellers, two sound movers, movers that die at every
// step, a keeper and an operator who adds units, all at once. The shards never
// have more units than the item, every shard is conserved at every moment, and
// once a pass is through every unit is somewhere.
func TestMovesWhileItSells(t *testing.T) {
	t.Parallel()
	const sellers, rounds, shards, units, more = 8, 60, 4, 40, 10
	b := newBench(t)
	m := &market{bench: b, sl: b.openShards(t, shards, units)}
	sh := stock.Of(&m.sl)
	done := make(chan struct{})
	var trading, keeping sync.WaitGroup
	for seller := range sellers {
		trading.Go(func() {
			if err := m.trade(t.Context(), seller, rounds, units+more); err != nil {
				t.Errorf("seller %d: %v", seller, err)
			}
		})
	}
	until := func(what string, do func() error) {
		keeping.Go(func() {
			for {
				if err := do(); err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for range 2 {
		until("mover", func() error {
			n, err := b.keeper.Move(t.Context(), sh)
			m.moved.Add(int64(n))
			return err
		})
	}
	var dying []*recovery.Keeper
	for _, at := range []clumsy{{"shrink", true}, {"shrink", false}, {"assert", true}, {"assert", false}} {
		dying = append(dying, b.dying(t, at))
	}
	until("dying mover", func() error {
		_, _ = dying[rand.IntN(len(dying))].Move(t.Context(), sh)
		return nil
	})
	until("watch", func() error {
		for shard := range shards {
			report, checkErr := b.Stock.Check(t.Context(), sh, shard)
			if checkErr != nil || !report.Conserved() || report.Items[m.sl.Items[0].ID].Stock < 0 {
				return fmt.Errorf("shard %d: %+v, %w", shard, report, checkErr)
			}
		}
		return nil
	})
	until("keeper", func() error {
		_, err := b.keeper.Reconcile(t.Context(), &m.sl)
		return err
	})
	keeping.Go(func() {
		next := m.sl
		next.Items = slices.Clone(next.Items)
		next.Items[0].Quantity += more
		if _, err := b.keeper.Update(t.Context(), next, fmt.Appendf(nil, `{"id":%d,"more":%d}`, next.ID, more), "test"); err != nil {
			t.Errorf("update: %v", err)
		}
	})
	trading.Wait()
	close(done)
	keeping.Wait()
	m.sl.Items[0].Quantity += more
	if m.moved.Load() == 0 {
		t.Error("no unit was moved: the test shows nothing")
	}
	if _, err := b.keeper.Reconcile(t.Context(), &m.sl); err != nil {
		t.Fatal(err)
	}
	sum := m.held.Load()
	for _, left := range m.settled(t, m.sl, 0) {
		sum += left
	}
	if sum != units+more {
		t.Errorf("held and left: %d units, want %d", sum, units+more)
	}
	if again, err := b.keeper.Reconcile(t.Context(), &m.sl); err != nil || again != (recovery.Reconciled{}) {
		t.Errorf("reconcile again: got %+v, %v, want nothing to do", again, err)
	}
}

// TestRebuildOneOfFour loses one shard: the others stop until it is back, and
// nothing is sold twice.
func TestRebuildOneOfFour(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sl := b.openShards(t, 4, 40)
	placed := b.sell(t, sl, 12)
	before := b.settled(t, sl, 0)
	lost := stock.Of(&sl).Home(placed[0].UserID)
	b.loseShard(t, sl, lost)
	if yes, err := b.keeper.Lost(t.Context(), &sl); err != nil || !yes {
		t.Fatalf("lost: got %v, %v, want true", yes, err)
	}
	if _, err := b.Stock.Left(t.Context(), &sl); err == nil {
		t.Error("units were counted without the lost shard, want an error: nobody knows what it had")
	}
	b.backlog = 1
	if _, err := b.keeper.Rebuild(t.Context(), &sl); err == nil {
		t.Error("rebuilt before the log was drained")
	}
	b.backlog = 0
	for shard := range sl.Shards {
		want := stock.Paused
		if shard == lost {
			want = stock.NotLoaded
		}
		if got := b.Outcome(t, sl, 0, homed(sl, shard, 1)[0]); got != want {
			t.Errorf("draining, shard %d: got %v, want %v", shard, got, want)
		}
	}
	if n := b.move(t, sl); n != 0 {
		t.Errorf("%d units were moved from a shard that is being rebuilt", n)
	}
	mine := 0
	for _, p := range placed {
		if stock.Of(&sl).Home(p.UserID) == lost {
			mine++
		}
	}
	if got, err := b.keeper.Rebuild(t.Context(), &sl); err != nil || got.Adopted != mine {
		t.Fatalf("rebuild: got %+v, %v, want %d adopted", got, err, mine)
	}
	b.wantStock(t, sl, 0, before...)
}
