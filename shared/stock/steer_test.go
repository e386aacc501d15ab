package stock_test

import (
	"strconv"
	"testing"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// TestSteerTellsWhatWasTyped has a hand change each field of the settings once.
func TestSteerTellsWhatWasTyped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(t *testing.T, f *fixture, meta string)
		newer  int64 // above the version that stands
		want   stock.SteerOutcome
	}{
		{"nothing", func(*testing.T, *fixture, string) {}, 0, stock.SteerApplied},
		{"a newer set", func(*testing.T, *fixture, string) {}, 1, stock.SteerApplied},
		{"opensAt", hset("opensAt", "1"), 0, stock.SteerPutRight},
		{"closesAt gone", hdel("closesAt"), 0, stock.SteerPutRight},
		{"paused", hset("paused", "operator"), 0, stock.SteerPutRight},
		{"a doubt", hset("doubt:7", "1"), 0, stock.SteerPutRight},
		{"a doubt gone", func(t *testing.T, f *fixture, meta string) {
			hdel("doubt:"+strconv.FormatInt(int64(f.item), 10))(t, f, meta)
		}, 0, stock.SteerPutRight},
		{"version gone", hdel("settings"), 0, stock.SteerPutRight},
		{"version no number", hset("settings", "many"), 0, stock.SteerPutRight},
		{"version below zero", hset("settings", "-5"), 0, stock.SteerPutRight},
		{"version far away", hset("settings", "999999999"), 0, stock.SteerPutRight},
		{"something else", hset("wants:7", "1"), 0, stock.SteerApplied},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, f *fixture) {
				f.load(t, 5)
				set := f.settings(3)
				set.Doubts = []sale.ItemID{f.item}
				f.steer(t, 0, set, stock.SteerApplied)
				c.change(t, f, f.KeysOf(f.sh, 0).Meta)
				set.Version += c.newer
				f.steer(t, 0, set, c.want)
				f.steer(t, 0, set, stock.SteerApplied)
			})
		})
	}
}

func hset(field, value string) func(*testing.T, *fixture, string) {
	return func(t *testing.T, f *fixture, meta string) {
		t.Helper()
		if err := f.rdb.HSet(t.Context(), meta, field, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func hdel(field string) func(*testing.T, *fixture, string) {
	return func(t *testing.T, f *fixture, meta string) {
		t.Helper()
		if n := f.rdb.HDel(t.Context(), meta, field).Val(); n != 1 {
			t.Fatalf("%s was not there", field)
		}
	}
}
