package stock_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// A model is what a shard should be: the scripts' contract in Go.
type model struct {
	quota, stock map[sale.ItemID]int
	holds        map[string]*modelHold
	tombs        map[sale.OrderID]bool
	outbox       map[string]bool
	version      int64
}

type modelHold struct {
	stock.Attempt
	claimed   bool
	confirmed bool
}

func (m *model) reserve(a stock.Attempt) stock.Outcome {
	switch own := m.holds[a.UserID]; {
	case own != nil && own.OrderID == a.OrderID:
		return stock.Reserved
	case own != nil:
		return stock.Already
	case a.Barred:
		return stock.Barred
	case m.stock[a.ItemID] <= 0:
		return stock.SoldOut
	case m.tombs[a.OrderID]:
		return stock.Tombstoned
	}
	m.hold(a, false)
	return stock.Reserved
}

func (m *model) hold(a stock.Attempt, claimed bool) {
	m.stock[a.ItemID]--
	m.holds[a.UserID] = &modelHold{Attempt: a, claimed: claimed}
	m.outbox[a.UserID] = true
}

func (m *model) claim(a stock.Attempt) stock.ClaimOutcome {
	switch own := m.holds[a.UserID]; {
	case own != nil && own.OrderID == a.OrderID && own.confirmed:
		return stock.Confirmed
	case own != nil && own.OrderID == a.OrderID:
		own.claimed = true
		return stock.Claimed
	case m.tombs[a.OrderID]:
		return stock.Dropped
	case own != nil:
		return stock.Superseded
	}
	m.hold(a, true)
	return stock.Claimed
}

func (m *model) confirm(a stock.Attempt) {
	if own := m.holds[a.UserID]; own != nil && own.OrderID == a.OrderID {
		own.claimed, own.confirmed = true, true
		delete(m.outbox, a.UserID)
	}
}

func (m *model) release(mode stock.ReleaseMode, a stock.Attempt) stock.ReleaseOutcome {
	own := m.holds[a.UserID]
	switch {
	case own == nil || own.OrderID != a.OrderID:
		if mode == stock.Unclaimed {
			m.tombs[a.OrderID] = true
		}
		return stock.NotHeld
	case mode == stock.Unclaimed && own.claimed:
		return stock.StillClaimed
	}
	m.lose(a.UserID)
	if mode != stock.Settled {
		m.tombs[a.OrderID] = true
	}
	return stock.Released
}

// lose forgets a hold and its decrement, as a failover to a lagging replica does.
func (m *model) lose(user string) {
	m.stock[m.holds[user].ItemID]++
	delete(m.holds, user)
	delete(m.outbox, user)
}

func (m *model) setQuota(version int64, quota map[sale.ItemID]int) stock.QuotaOutcome {
	if version <= m.version {
		return stock.QuotaStale
	}
	m.version = version
	for id, units := range quota {
		m.stock[id] += units - m.quota[id]
		m.quota[id] = units
	}
	return stock.QuotaApplied
}

func (m *model) items() map[sale.ItemID]stock.ItemReport {
	items := make(map[sale.ItemID]stock.ItemReport)
	for id := range m.quota {
		items[id] = stock.ItemReport{Quota: int64(m.quota[id]), Stock: int64(m.stock[id])}
	}
	for user, h := range m.holds {
		item := items[h.ItemID]
		switch {
		case !h.claimed:
			item.Reserved++
		case m.outbox[user]:
			item.Claimed++
		default:
			item.Confirmed++
		}
		items[h.ItemID] = item
	}
	return items
}

// Whatever sequence of calls: each answers as the model does, and the shard is the model's.
func TestRandomSequences(t *testing.T) {
	t.Parallel()
	for run := range 4 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, f *fixture) {
				t.Logf("seed %d", seed)
				walk(t, f, rand.New(rand.NewPCG(seed, 0)), 600)
			})
		})
	}
}

func walk(t *testing.T, f *fixture, dice *rand.Rand, steps int) {
	items := []sale.ItemID{f.item, f.item + 1}
	m := &model{
		quota: make(map[sale.ItemID]int), stock: make(map[sale.ItemID]int), holds: make(map[string]*modelHold),
		tombs: make(map[sale.OrderID]bool), outbox: make(map[string]bool),
	}
	anyQuota := func() map[sale.ItemID]int { return map[sale.ItemID]int{items[0]: dice.IntN(5), items[1]: dice.IntN(3)} }
	quota := anyQuota()
	f.quota(t, 0, 1, quota, true, m.setQuota(1, quota))
	f.steer(t, 0, f.settings(1), stock.SteerApplied)

	var made []stock.Attempt
	old := func() stock.Attempt {
		a := made[dice.IntN(len(made))]
		a.Barred = false
		return a
	}
	for step := range steps {
		if len(made) == 0 || dice.IntN(4) == 0 {
			a := f.attempt("u" + strconv.Itoa(dice.IntN(8)))
			a.ItemID, a.Barred = items[dice.IntN(2)], dice.IntN(10) == 0
			made = append(made, a)
			f.reserve(t, a, m.reserve(a))
		}
		switch a := old(); dice.IntN(8) {
		case 0:
			f.reserve(t, a, m.reserve(a))
		case 1, 2:
			f.claim(t, a, m.claim(a))
		case 3:
			m.confirm(a)
			f.confirm(t, a, time.Now())
		case 4:
			mode := []stock.ReleaseMode{stock.Settled, stock.Rejected, stock.Unclaimed}[dice.IntN(3)]
			f.release(t, mode, a, m.release(mode, a))
		case 5:
			version, quota := m.version-1+dice.Int64N(4), anyQuota()
			f.quota(t, 0, version, quota, dice.IntN(2) == 0, m.setQuota(version, quota))
		case 6:
			if m.holds[a.UserID] == nil {
				break
			}
			keys := f.KeysOf(f.sh, 0)
			f.rdb.HIncrBy(t.Context(), keys.Stock, fmt.Sprint(m.holds[a.UserID].ItemID), 1)
			f.rdb.HDel(t.Context(), keys.Holds, a.UserID)
			f.rdb.ZRem(t.Context(), keys.Unconfirmed, a.UserID)
			m.lose(a.UserID)
		case 7:
			if got, err := f.Due(t.Context(), f.sh, 0, 100); err != nil || len(got) != 0 {
				t.Fatalf("Due = %+v, %v; want none within seconds", got, err)
			}
		}
		r := f.report(t, 0)
		if got, want := fmt.Sprint(r.Items), fmt.Sprint(m.items()); got != want {
			t.Fatalf("step %d: items %s, want %s", step, got, want)
		}
		if int(r.Outbox) != len(m.outbox) || int(r.Tombstones) != len(m.tombs) {
			t.Fatalf("step %d: %d in the outbox, %d tombstones; want %d, %d",
				step, r.Outbox, r.Tombstones, len(m.outbox), len(m.tombs))
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// All scripts at once, from many callers: conserved at every moment.
func TestConservedAtEveryMoment(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		const callers, steps = 16, 60
		f.load(t, 5)
		done := make(chan struct{})
		go func() {
			defer close(done)
			crowd(t, callers, func(caller string) (bool, error) {
				for i := range steps {
					a := f.attempt("u" + strconv.Itoa(rand.IntN(10)))
					held := []stock.Held{{OrderID: a.OrderID, UserID: a.UserID}}
					if _, err := f.Reserve(t.Context(), f.sh, a); err != nil {
						return false, err
					}
					if _, err := f.Claim(t.Context(), f.sh, []sale.Placed{placed(a, time.Now())}); err != nil {
						return false, err
					}
					mode := []stock.ReleaseMode{stock.Settled, stock.Rejected, stock.Unclaimed}[i%3]
					if _, err := f.Release(t.Context(), f.sh, mode, held); err != nil {
						return false, err
					}
					if caller == "u0" {
						if _, err := f.SetQuota(t.Context(), f.sh, 0, int64(2+i), map[sale.ItemID]int{f.item: i % 9}, false); err != nil {
							return false, err
						}
					}
				}
				return false, nil
			})
		}()
		for {
			f.report(t, 0)
			select {
			case <-done:
				f.report(t, 0)
				return
			default:
			}
		}
	})
}
