package stock_test

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

func TestReleaseOutcomes(t *testing.T) {
	t.Parallel()
	type step struct {
		state string // of the hold: none, other, reserved, claimed, confirmed
		want  stock.ReleaseOutcome
		tomb  bool
	}
	cases := map[stock.ReleaseMode][]step{
		stock.Settled: {
			{"none", stock.NotHeld, false},
			{"other", stock.NotHeld, false},
			{"reserved", stock.Released, false},
			{"claimed", stock.Released, false},
			{"confirmed", stock.Released, false},
		},
		stock.Rejected: {
			{"none", stock.NotHeld, false},
			{"other", stock.NotHeld, false},
			{"reserved", stock.Released, true},
			{"claimed", stock.Released, true},
			{"confirmed", stock.Released, true},
		},
		stock.Unclaimed: {
			{"none", stock.NotHeld, true},
			{"other", stock.NotHeld, true},
			{"reserved", stock.Released, true},
			{"claimed", stock.StillClaimed, false},
			{"confirmed", stock.StillClaimed, false},
		},
	}
	for mode, steps := range cases {
		for _, s := range steps {
			t.Run(string(mode)+" "+s.state, func(t *testing.T) {
				t.Parallel()
				onEach(t, func(t *testing.T, f *fixture) {
					a := f.attempt("u1")
					f.release(t, mode, a, stock.ReleaseNotLoaded)
					if got := f.dump(t); strings.Contains(got, "u1") || strings.Contains(got, a.OrderID.String()) {
						t.Fatalf("without the marker something was written: %s", got)
					}
					f.load(t, 1)
					switch s.state {
					case "none":
					case "other":
						f.reserve(t, f.attempt("u1"), stock.Reserved)
					default:
						f.reserve(t, a, stock.Reserved)
					}
					if s.state == "claimed" || s.state == "confirmed" {
						f.claim(t, a, stock.Claimed)
					}
					if s.state == "confirmed" {
						f.confirm(t, a, time.Now())
					}
					before := f.report(t, 0)
					f.release(t, mode, a, s.want)
					after := f.report(t, 0)
					want := before.Items[f.item]
					if s.want == stock.Released {
						want = stock.ItemReport{Quota: 1, Stock: 1}
						if after.Outbox != 0 {
							t.Errorf("outbox has %d, want 0", after.Outbox)
						}
					}
					if got := after.Items[f.item]; got != want {
						t.Errorf("item is %+v, want %+v", got, want)
					}
					if got := after.Tombstones == 1; got != s.tomb {
						t.Errorf("tombstone: %v, want %v", got, s.tomb)
					}
					// Again: what is released is not held, a claimed one is still refused.
					again := s.want
					if again == stock.Released {
						again = stock.NotHeld
					}
					f.release(t, mode, a, again)
					if got := f.report(t, 0).Items[f.item]; got != want {
						t.Errorf("again: item is %+v, want %+v", got, want)
					}
				})
			})
		}
	}
}

func TestReleaseUnknownMode(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 1)
		a := f.attempt("u1")
		f.reserve(t, a, stock.Reserved)
		if got, err := f.Release(t.Context(), f.sh, "burned", []stock.Held{{OrderID: a.OrderID, UserID: "u1"}}); err == nil {
			t.Errorf("an unknown mode gives %v, want an error", got)
		}
		f.wantItem(t, stock.ItemReport{Quota: 1, Reserved: 1})
	})
}

func TestReleaseManyTimesGivesBackOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		const units = 7
		f.load(t, units)
		a := f.attempt("u1")
		f.reserve(t, a, stock.Reserved)
		var released atomic.Int64
		crowd(t, 50, func(string) (bool, error) {
			got, err := f.Release(t.Context(), f.sh, stock.Settled, []stock.Held{{OrderID: a.OrderID, UserID: "u1"}})
			if err == nil && got[0] == stock.Released {
				released.Add(1)
			}
			return false, err
		})
		if released.Load() != 1 {
			t.Errorf("released %d times, want 1", released.Load())
		}
		f.wantItem(t, stock.ItemReport{Quota: units, Stock: units})
	})
}

// A purchase gives up while a writer claims: exactly one of them has the order.
func TestUnclaimedAgainstClaim(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		const orders = 200
		f.load(t, orders)
		for i := range orders {
			a := f.attempt("u" + strconv.Itoa(i))
			f.reserve(t, a, stock.Reserved)
			gaveUp := make(chan stock.ReleaseOutcome, 1)
			go func() {
				got, err := f.Release(t.Context(), f.sh, stock.Unclaimed, []stock.Held{{OrderID: a.OrderID, UserID: a.UserID}})
				if err != nil {
					t.Error(err)
					got = []stock.ReleaseOutcome{0}
				}
				gaveUp <- got[0]
			}()
			claimed, err := f.Claim(t.Context(), f.sh, []sale.Placed{placed(a, time.Now())})
			if err != nil {
				t.Fatal(err)
			}
			if got := <-gaveUp; (got == stock.Released) == (claimed[0] == stock.Claimed) {
				t.Errorf("order %d: the purchase hears %v, the writer %v", i, got, claimed[0])
			}
		}
		f.report(t, 0)
	})
}
