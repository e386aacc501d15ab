package stock_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

func TestHold(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		if h, ok, err := f.Hold(t.Context(), f.sh, "u1"); ok || err != nil {
			t.Errorf("before the load: %+v, %v, %v; want none", h, ok, err)
		}
		f.load(t, 1)
		a := f.attempt("u1")
		r := f.reserve(t, a, stock.Reserved)
		want := stock.Hold{OrderID: a.OrderID, ItemID: f.item, UserID: "u1", ReservedAt: r.ReservedAt, Unconfirmed: true}
		if h, ok, err := f.Hold(t.Context(), f.sh, "u1"); !ok || err != nil || h != want {
			t.Errorf("Hold = %+v, %v, %v; want %+v", h, ok, err, want)
		}
		f.rdb.HSet(t.Context(), f.KeysOf(f.sh, 0).Holds, "u1", "nonsense")
		if h, ok, err := f.Hold(t.Context(), f.sh, "u1"); err == nil {
			t.Errorf("a broken hold reads as %+v, %v; want an error", h, ok)
		}
		if got, err := f.Reserve(t.Context(), f.sh, f.attempt("u1")); err == nil {
			t.Errorf("a broken own hold answers %v, want an error", got)
		}
	})
}

func TestDue(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		if got, err := f.Due(t.Context(), f.sh, 0, 10); err != stock.ErrNotLoaded {
			t.Errorf("before the load: %v, %v; want ErrNotLoaded", got, err)
		}
		f.load(t, 10)
		outbox := f.KeysOf(f.sh, 0).Unconfirmed
		look := func(user string) time.Time {
			return time.UnixMilli(int64(f.rdb.ZScore(t.Context(), outbox, user).Val()))
		}
		due := func(limit int) (users []string) {
			t.Helper()
			holds, err := f.Due(t.Context(), f.sh, 0, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range holds {
				if !h.Unconfirmed {
					t.Errorf("hold %+v is due and not in the outbox", h)
				}
				users = append(users, h.UserID)
			}
			return users
		}
		come := func(user string) {
			f.rdb.ZAdd(t.Context(), outbox, redis.Z{Score: float64(f.clock(t).Add(-time.Second).UnixMilli()), Member: user})
		}

		r := f.reserve(t, f.attempt("fresh"), stock.Reserved)
		if got, want := look("fresh"), r.ReservedAt.Add(stock.FirstLook); !got.Equal(want) {
			t.Errorf("first look at %v, want %v", got, want)
		}
		if got := due(10); len(got) != 0 {
			t.Errorf("due at once: %v, want none", got)
		}

		// How old a hold is decides when it is looked at next.
		for _, c := range []struct{ age, wait time.Duration }{
			{-time.Hour, stock.FirstLook}, // by a clock that went back in a failover
			{0, stock.FirstLook},
			{time.Minute, time.Minute},
			{3 * time.Minute, 3 * time.Minute},
			{time.Hour, stock.LongestWait},
		} {
			user := fmt.Sprint("age ", c.age)
			at := f.clock(t).Add(-c.age)
			if _, err := f.Claim(t.Context(), f.sh, []sale.Placed{placed(f.attempt(user), at)}); err != nil {
				t.Fatal(err)
			}
			come(user)
			before := f.clock(t)
			if got := due(10); len(got) != 1 || got[0] != user {
				t.Errorf("due: %q, want %q", got, user)
			}
			after := f.clock(t)
			slack := after.Sub(at.Add(c.age)) // the hold has aged meanwhile
			if got := look(user); got.Before(before.Add(c.wait)) || got.After(after.Add(c.wait+slack)) {
				t.Errorf("age %v: next look %v after the last, want %v", c.age, got.Sub(before), c.wait)
			}
			if got := due(10); len(got) != 0 {
				t.Errorf("due again at once: %q", got)
			}
		}

		// At most limit, and each at most once.
		come("fresh")
		come("age 1m0s")
		come("age 1h0m0s")
		first, rest := due(2), due(2)
		if len(first) != 2 || len(rest) != 1 {
			t.Errorf("due in steps of two: %q, %q; want 2 and 1", first, rest)
		}

		// What is broken is reported, forgotten or both, and hides nothing else.
		come("age 3m0s")
		come("gone")
		come("broken")
		f.rdb.HSet(t.Context(), f.KeysOf(f.sh, 0).Holds, "broken", "nonsense")
		holds, err := f.Due(t.Context(), f.sh, 0, 10)
		if err == nil || !strings.Contains(err.Error(), "broken") || len(holds) != 1 || holds[0].UserID != "age 3m0s" {
			t.Errorf("with a broken hold: %+v, %v; want the sound one, and an error that names the other", holds, err)
		}
		if err := f.rdb.ZScore(t.Context(), outbox, "gone").Err(); err != redis.Nil {
			t.Errorf("an entry without a hold stays in the outbox: %v", err)
		}
		if r, err := f.Check(t.Context(), f.sh, 0); err != nil || r.Unreadable != 1 || r.Conserved() {
			t.Errorf("Check = %+v, %v; want one hold that cannot be read, not conserved", r, err)
		}
	})
}

// TestDueTooFarAway has looks that lie further away than any script puts them: the clock of the new
// master is behind the old one's, or somebody's hand was there. They are due, not lost until then.
func TestDueTooFarAway(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 10)
		for _, user := range []string{"u1", "u2", "u3"} {
			f.reserve(t, f.attempt(user), stock.Reserved)
		}
		outbox := f.KeysOf(f.sh, 0).Unconfirmed
		for user, away := range map[string]time.Duration{"u1": stock.FirstLook + time.Minute, "u2": 24 * time.Hour} {
			f.rdb.ZAdd(t.Context(), outbox, redis.Z{Score: float64(f.clock(t).Add(away).UnixMilli()), Member: user})
		}
		for _, want := range []string{"u2", "u1", ""} {
			holds, err := f.Due(t.Context(), f.sh, 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			if want == "" && len(holds) != 0 || want != "" && (len(holds) != 1 || holds[0].UserID != want) {
				t.Errorf("due: got %+v, want %q", holds, want)
			}
		}
	})
}

func TestUnconfirm(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f *fixture) {
		f.load(t, 10)
		read := map[string]stock.Hold{}
		for _, user := range []string{"reserved", "confirmed", "waiting", "confirmed since", "released since"} {
			a := f.attempt(user)
			f.reserve(t, a, stock.Reserved)
			if user == "confirmed" {
				f.confirm(t, a, time.Now())
			}
			h, _, err := f.Hold(t.Context(), f.sh, user)
			if err != nil {
				t.Fatal(err)
			}
			read[user] = h
			switch user {
			case "reserved":
				f.rdb.ZRem(t.Context(), f.KeysOf(f.sh, 0).Unconfirmed, user)
			case "confirmed since":
				f.confirm(t, a, time.Now())
			case "released since":
				f.release(t, stock.Settled, a, stock.Released)
			}
		}
		for _, want := range []int{2, 0} {
			back, err := f.Unconfirm(t.Context(), f.sh, slices.Collect(maps.Values(read)))
			if err != nil || back != want {
				t.Errorf("put back: got %d, %v, want %d", back, err, want)
			}
		}
		outbox, err := f.rdb.ZRange(t.Context(), f.KeysOf(f.sh, 0).Unconfirmed, 0, -1).Result()
		slices.Sort(outbox)
		if want := []string{"confirmed", "reserved", "waiting"}; err != nil || !slices.Equal(outbox, want) {
			t.Errorf("outbox: got %q, %v, want %q", outbox, err, want)
		}
	})
}

func FuzzParseHold(f *testing.F) {
	const id = "019add00-0000-8abc-8000-0001c0000000"
	for _, seed := range []string{
		id + " 1001 R 1800000000000 - -",
		id + " 1001 C 1800000000000 1800000600000 0123456789abcdef0123456789abcdef",
		id + " 01001 R 1800000000000 - -",
		id + " 1001 X 1800000000000 - -",
		id + " 1001 R +1 - -",
		id + " 1001 R 1 -  -",
		"", " ", "- - - - - -",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		h, idem, err := stock.ParseHold("u1", value)
		if err != nil {
			return
		}
		state, payBy := "R", "-"
		if h.Claimed {
			state = "C"
		}
		if !h.PayBy.IsZero() {
			payBy = fmt.Sprint(h.PayBy.UnixMilli())
		}
		// One hold has one spelling.
		again := fmt.Sprintf("%v %d %s %d %s %s", h.OrderID, h.ItemID, state, h.ReservedAt.UnixMilli(), payBy, idem)
		if again != value {
			t.Errorf("%q reads as %q", value, again)
		}
	})
}

func TestParseHoldSeeds(t *testing.T) {
	t.Parallel()
	const id = "019add00-0000-8abc-8000-0001c0000000"
	h, idem, err := stock.ParseHold("u1", id+" 1001 C 1800000000000 1800000600000 0123456789abcdef0123456789abcdef")
	if err != nil || h.OrderID.String() != id || h.ItemID != 1001 || !h.Claimed || len(idem) != 32 ||
		h.PayBy.Sub(h.ReservedAt) != 10*time.Minute {
		t.Errorf("ParseHold = %+v, %q, %v", h, idem, err)
	}
	for _, bad := range []string{
		"", id, "x 1001 R 1 - -", id + " 0 R 1 - -", id + " 1 R 1 - - -", id + " 1 r 1 - -", id + " 1 R - - -",
		id + " 1 R 1 x -", id + " 1 R 1 - 0123", id + " 1 R 1 - 0123456789ABCDEF0123456789ABCDEF", id + " 1  R 1 - -",
	} {
		if h, _, err := stock.ParseHold("u1", bad); err == nil {
			t.Errorf("ParseHold(%q) = %+v, want an error", bad, h)
		}
	}
}
