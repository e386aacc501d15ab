package stock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

func TestClaimOutcomes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		a := f.attempt("u1")
		f.claim(t, a, stock.Unguarded)
		if got := f.dump(t); strings.Contains(got, "u1") {
			t.Errorf("an unguarded claim wrote: %s", got)
		}
		f.load(t, 2)
		f.reserve(t, a, stock.Reserved)
		f.claim(t, a, stock.Claimed)
		f.claim(t, a, stock.Claimed)
		f.wantItem(t, stock.ItemReport{Quota: 2, Stock: 1, Claimed: 1})
		f.claim(t, f.attempt("u1"), stock.Superseded)

		given := f.attempt("u2")
		f.reserve(t, given, stock.Reserved)
		f.release(t, stock.Unclaimed, given, stock.Released)
		f.claim(t, given, stock.Dropped)
		// Dropped also when the shopper has bought anew meanwhile.
		f.reserve(t, f.attempt("u2"), stock.Reserved)
		f.claim(t, given, stock.Dropped)
		f.wantItem(t, stock.ItemReport{Quota: 2, Reserved: 1, Claimed: 1})
	})
}

// A record that comes twice finds its row written. A key that looks like the end of such a hold makes none.
func TestClaimOfAWrittenOrder(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 2)
		a := f.attempt("u1")
		a.IdempotencyKey = "x C 1 2 y"
		f.reserve(t, a, stock.Reserved)
		f.claim(t, a, stock.Claimed)
		f.wantItem(t, stock.ItemReport{Quota: 2, Stock: 1, Claimed: 1})
		f.confirm(t, a, time.Now())
		f.claim(t, a, stock.Confirmed)
		f.wantItem(t, stock.ItemReport{Quota: 2, Stock: 1, Confirmed: 1})
	})
}

// A failover to a replica that lags takes holds and their decrements; the record brings them back.
func TestClaimPutsBackALostHold(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"open", "paused", "closed"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, f *fixture) {
				f.load(t, 5)
				set := f.settings(2)
				switch state {
				case "paused":
					set.Paused = []sale.PauseReason{sale.PausedByRebuild}
				case "closed":
					set.ClosesAt = set.OpensAt
				}
				f.steer(t, 0, set, stock.SteerApplied)
				a := f.attempt("u1")
				at := time.UnixMilli(1_700_000_000_001).UTC()
				got, err := f.Claim(t.Context(), f.sh, []sale.Placed{placed(a, at)})
				if err != nil || got[0] != stock.Claimed {
					t.Fatalf("Claim = %v, %v; want claimed", got, err)
				}
				r := f.wantItem(t, stock.ItemReport{Quota: 5, Stock: 4, Claimed: 1})
				if r.Outbox != 1 {
					t.Errorf("outbox has %d, want 1", r.Outbox)
				}
				want := stock.Hold{OrderID: a.OrderID, ItemID: f.item, UserID: "u1", Claimed: true, ReservedAt: at, Unconfirmed: true}
				if h, _, err := f.Hold(t.Context(), f.sh, "u1"); err != nil || h != want {
					t.Errorf("Hold = %+v, %v; want %+v", h, err, want)
				}
			})
		})
	}
}

// An acknowledged order of an item that the shard has no quota of is put back, and that is conserved.
func TestClaimOfAnItemWithoutQuota(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 1)
		a := f.attempt("u1")
		a.ItemID++
		f.claim(t, a, stock.Claimed)
		if got, want := f.report(t, 0).Items[a.ItemID], (stock.ItemReport{Stock: -1, Claimed: 1}); got != want {
			t.Errorf("item is %+v, want %+v", got, want)
		}
		f.quota(t, 0, 2, map[sale.ItemID]int{f.item: 1, a.ItemID: 3}, false, stock.QuotaApplied)
		if got, want := f.report(t, 0).Items[a.ItemID], (stock.ItemReport{Quota: 3, Stock: 2, Claimed: 1}); got != want {
			t.Errorf("with its quota the item is %+v, want %+v", got, want)
		}
	})
}

// Outcomes come in the order of the batch, whatever the shards and the size.
func TestLargeBatches(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		const orders = 1800
		f.sh.N = 3
		f.load(t, orders)
		var batch []sale.Placed
		var want []stock.ClaimOutcome
		var given []stock.Held
		for i := range orders {
			a := f.attempt(fmt.Sprint("u", i))
			outcome := stock.Claimed
			switch i % 7 {
			case 0:
				given = append(given, stock.Held{OrderID: a.OrderID, UserID: a.UserID})
				outcome = stock.Dropped
			case 1:
				// The same order twice in one batch.
				batch, want = append(batch, placed(a, time.Now())), append(want, outcome)
			}
			batch, want = append(batch, placed(a, time.Now())), append(want, outcome)
		}
		if _, err := f.Release(t.Context(), f.sh, stock.Unclaimed, given); err != nil {
			t.Fatal(err)
		}
		got, err := f.Claim(t.Context(), f.sh, batch)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("claims do not come in the batch's order")
		}
		var confirmations []stock.Confirmation
		for _, p := range batch {
			confirmations = append(confirmations, stock.Confirmation{OrderID: p.OrderID, UserID: p.UserID, PayBy: time.Now()})
		}
		if err := f.Confirm(t.Context(), f.sh, confirmations); err != nil {
			t.Fatal(err)
		}
		var confirmed, outbox int64
		for k := range f.sh.N {
			r := f.report(t, k)
			confirmed, outbox = confirmed+r.Items[f.item].Confirmed, outbox+r.Outbox
		}
		if want := int64(orders - len(given)); confirmed != want || outbox != 0 {
			t.Errorf("%d confirmed, %d in the outbox; want %d, 0", confirmed, outbox, want)
		}
		none, err := f.Claim(t.Context(), f.sh, nil)
		if err != nil || len(none) != 0 {
			t.Errorf("Claim of nothing = %v, %v", none, err)
		}
	})
}

// Within one call, too, a shopper's first order keeps the second from being claimed.
func TestClaimTwoOrdersAtOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 5)
		lost, later := f.attempt("u1"), f.attempt("u1") // neither has a hold
		held, other := f.attempt("u2"), f.attempt("u2")
		f.reserve(t, held, stock.Reserved)
		now := time.Now()
		batch := []sale.Placed{placed(other, now), placed(lost, now), placed(later, now), placed(held, now), placed(lost, now)}
		got, err := f.Claim(t.Context(), f.sh, batch)
		want := []stock.ClaimOutcome{stock.Superseded, stock.Claimed, stock.Superseded, stock.Claimed, stock.Claimed}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Claim = %v, %v; want %v", got, err, want)
		}
		var orders []stock.Confirmation
		for _, p := range batch {
			orders = append(orders, stock.Confirmation{OrderID: p.OrderID, UserID: p.UserID, PayBy: now})
		}
		if err := f.Confirm(t.Context(), f.sh, orders); err != nil {
			t.Fatal(err)
		}
		f.wantItem(t, stock.ItemReport{Quota: 5, Stock: 3, Confirmed: 2})
		for _, a := range []stock.Attempt{lost, held} {
			if h, _, err := f.Hold(t.Context(), f.sh, a.UserID); err != nil || h.OrderID != a.OrderID || h.Unconfirmed {
				t.Errorf("%s: got %+v, %v, want %s confirmed", a.UserID, h, err, a.OrderID)
			}
		}
	})
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		payBy := time.UnixMilli(1_800_000_000_123).UTC()
		a := f.attempt("u1")
		f.confirm(t, a, payBy)
		if got := f.dump(t); strings.Contains(got, "u1") {
			t.Errorf("confirm without the marker wrote: %s", got)
		}
		f.load(t, 2)
		f.confirm(t, a, payBy)
		f.wantItem(t, stock.ItemReport{Quota: 2, Stock: 2})

		// Straight from reserved: a writer that found the row already there has not claimed.
		a.IdempotencyKey = "key"
		reserved := f.reserve(t, a, stock.Reserved)
		for range 2 {
			f.confirm(t, a, payBy)
			r := f.wantItem(t, stock.ItemReport{Quota: 2, Stock: 1, Confirmed: 1})
			if r.Outbox != 0 {
				t.Errorf("outbox has %d, want 0", r.Outbox)
			}
		}
		want := stock.Hold{
			OrderID: a.OrderID, ItemID: f.item, UserID: "u1", Claimed: true,
			ReservedAt: reserved.ReservedAt, PayBy: payBy,
		}
		if h, _, err := f.Hold(t.Context(), f.sh, "u1"); err != nil || h != want {
			t.Errorf("Hold = %+v, %v; want %+v", h, err, want)
		}
		again := f.attempt("u1")
		again.IdempotencyKey = "key"
		if got := f.reserve(t, again, stock.Already); !got.SameKey {
			t.Errorf("confirming forgot the idempotency key")
		}

		// A stale confirm of an earlier order leaves the later one in the outbox.
		first, second := f.attempt("u2"), f.attempt("u2")
		f.reserve(t, first, stock.Reserved)
		f.release(t, stock.Settled, first, stock.Released)
		f.reserve(t, second, stock.Reserved)
		f.confirm(t, first, payBy)
		if h, _, _ := f.Hold(t.Context(), f.sh, "u2"); h.OrderID != second.OrderID || h.Claimed || !h.Unconfirmed {
			t.Errorf("a stale confirm touched the later hold: %+v", h)
		}
	})
}

// An item may have any id. In the text of a hold a digit must not be taken for its state.
func TestConfirmOfAnItemWithOneDigit(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.item = 7
		f.load(t, 2)
		payBy := time.UnixMilli(1_800_000_000_123).UTC()
		for _, user := range []string{"u1", "u2"} {
			a := f.attempt(user)
			reserved := f.reserve(t, a, stock.Reserved)
			if user == "u2" {
				f.claim(t, a, stock.Claimed)
			}
			for range 2 {
				f.confirm(t, a, payBy)
			}
			f.claim(t, a, stock.Confirmed)
			want := stock.Hold{OrderID: a.OrderID, ItemID: 7, UserID: user, Claimed: true, ReservedAt: reserved.ReservedAt, PayBy: payBy}
			if h, _, err := f.Hold(t.Context(), f.sh, user); err != nil || h != want {
				t.Errorf("hold: got %+v, %v, want %+v", h, err, want)
			}
		}
		f.wantItem(t, stock.ItemReport{Quota: 2, Confirmed: 2})
	})
}

// A hold that is put back and its unit go together, also if the call fails at a later order.
func TestClaimThatFailsHalfway(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 2)
		lost, broken := f.attempt("u1"), f.attempt("u2")
		broken.ItemID++
		if err := f.rdb.HSet(t.Context(), f.KeysOf(f.sh, 0).Stock, fmt.Sprint(broken.ItemID), "x").Err(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err := f.Claim(t.Context(), f.sh, []sale.Placed{placed(lost, time.Now()), placed(broken, time.Now())})
			if err == nil {
				t.Fatalf("claim: got %v, want an error", got)
			}
		}
		left := f.rdb.HGet(t.Context(), f.KeysOf(f.sh, 0).Stock, fmt.Sprint(f.item)).Val()
		if h, held, err := f.Hold(t.Context(), f.sh, "u1"); err != nil || !held || left != "1" {
			t.Errorf("the lost hold: got %+v, %t, %v and %s units left, want it and 1", h, held, err, left)
		}
	})
}
