package stock_test

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// crowd lets that many shoppers buy at once and tells who got a unit.
func crowd(t *testing.T, shoppers int, buy func(user string) (bool, error)) (winners, losers []string) {
	t.Helper()
	var wg sync.WaitGroup
	won := make([]bool, shoppers)
	for i := range shoppers {
		wg.Go(func() {
			ok, err := buy("u" + strconv.Itoa(i))
			if err != nil {
				t.Errorf("shopper %d: %v", i, err)
			}
			won[i] = ok
		})
	}
	wg.Wait()
	for i, ok := range won {
		user := "u" + strconv.Itoa(i)
		if ok {
			winners = append(winners, user)
		} else {
			losers = append(losers, user)
		}
	}
	return winners, losers
}

func TestCrowd(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		const shoppers, units = 1000, 100
		f.load(t, units)
		var orders sync.Map
		winners, losers := crowd(t, shoppers, func(user string) (bool, error) {
			a := f.attempt(user)
			answer, err := f.Reserve(t.Context(), f.sh, a)
			switch answer.Outcome {
			case stock.Reserved:
				orders.Store(user, a.OrderID)
				return true, err
			case stock.SoldOut:
				return false, err
			default:
				return false, fmt.Errorf("%v, %w", answer.Outcome, err)
			}
		})
		if len(winners) != units {
			t.Errorf("%d shoppers have a unit, want %d", len(winners), units)
		}
		if got := f.rdb.HGet(t.Context(), f.KeysOf(f.sh, 0).Stock, strconv.FormatInt(int64(f.item), 10)).Val(); got != "0" {
			t.Errorf("stock is %q, want \"0\"", got)
		}
		f.wantItem(t, stock.ItemReport{Quota: units, Reserved: units})
		for _, user := range winners {
			want, _ := orders.Load(user)
			if got := f.reserve(t, f.attempt(user), stock.Already); got.OrderID != want {
				t.Errorf("winner %s asks again and hears of order %v, want %v", user, got.OrderID, want)
			}
		}
		for _, user := range losers {
			f.reserve(t, f.attempt(user), stock.SoldOut)
		}
	})
}

// The control: TestCrowd would notice a decision that is not one atomic step.
// Here all read before anyone decrements, which two commands cannot prevent.
func TestCrowdAgainstReadThenDecrement(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		const shoppers, units = 1000, 100
		f.load(t, units)
		key, field := f.KeysOf(f.sh, 0).Stock, strconv.FormatInt(int64(f.item), 10)
		var read sync.WaitGroup
		read.Add(shoppers)
		winners, _ := crowd(t, shoppers, func(string) (bool, error) {
			left, err := f.rdb.HGet(t.Context(), key, field).Int()
			read.Done()
			read.Wait()
			if err != nil || left <= 0 {
				return false, err
			}
			return true, f.rdb.HIncrBy(t.Context(), key, field, -1).Err()
		})
		if len(winners) <= units {
			t.Errorf("read-then-decrement sold %d of %d: the crowd is too tame to prove anything", len(winners), units)
		}
		t.Logf("read-then-decrement sold %d of %d", len(winners), units)
	})
}

// Over several shards, with more shoppers than units in each, all units go and not one more.
func TestSellOutTenThousand(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{1, 2} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, f *fixture) {
				const callers = 32
				units, shoppers := 10_000, int64(12_000)
				if f.mini != nil { // a slow server; one size smaller proves the same
					units, shoppers = 1_000, 1_200
				}
				f.sh.N = shards
				f.load(t, units/shards)
				var next, reserved atomic.Int64
				var wg sync.WaitGroup
				for range callers {
					wg.Go(func() {
						for i := next.Add(1); i <= shoppers; i = next.Add(1) {
							got, err := f.Reserve(t.Context(), f.sh, f.attempt(fmt.Sprint("u", i)))
							switch {
							case err != nil || got.Outcome != stock.Reserved && got.Outcome != stock.SoldOut:
								t.Errorf("shopper %d: %v, %v", i, got.Outcome, err)
							case got.Outcome == stock.Reserved:
								reserved.Add(1)
							}
						}
					})
				}
				wg.Wait()
				if reserved.Load() != int64(units) {
					t.Errorf("%d units sold, want %d", reserved.Load(), units)
				}
				left, err := f.Left(t.Context(), f.selling(units))
				if err != nil || left[f.item] != 0 {
					t.Errorf("Left = %v, %v; want 0", left[f.item], err)
				}
				for k := range shards {
					share := int64(units / shards)
					want := stock.ItemReport{Quota: share, Reserved: share}
					if got := f.report(t, k).Items[f.item]; got != want {
						t.Errorf("shard %d: %+v, want %+v", k, got, want)
					}
				}
			})
		})
	}
}

// A shopper is one shopper over all items of a sale, and each home is the only shard that knows.
func TestOnePerSale(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.sh.N = 3
		other := f.item + 1
		for k := range f.sh.N {
			f.quota(t, k, 1, map[sale.ItemID]int{f.item: 100, other: 100}, true, stock.QuotaApplied)
			f.steer(t, k, f.settings(1), stock.SteerApplied)
		}
		const tries = 100
		for u := range 10 {
			var reserved atomic.Int64
			crowd(t, tries, func(user string) (bool, error) {
				a := f.attempt(fmt.Sprint("shopper", u))
				if user[len(user)-1]%2 == 0 {
					a.ItemID = other
				}
				answer, err := f.Reserve(t.Context(), f.sh, a)
				if answer.Outcome == stock.Reserved {
					reserved.Add(1)
				}
				return false, err
			})
			if reserved.Load() != 1 {
				t.Errorf("shopper %d holds %d units, want 1", u, reserved.Load())
			}
		}
		var holds int64
		for k := range f.sh.N {
			r := f.report(t, k)
			holds += r.Items[f.item].Holds() + r.Items[other].Holds()
		}
		if holds != 10 {
			t.Errorf("%d holds in all, want 10", holds)
		}
	})
}
