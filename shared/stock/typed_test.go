package stock_test

import (
	"strconv"
	"testing"

	"flashsale/shared/stock"
)

// TestTypedOver writes a number that no script leaves beside two holds of five units. Its units are
// other shoppers', so nobody gets one, and nobody hears sold out, until the shard is mended.
func TestTypedOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, key, field, value string
		want                    stock.Outcome
	}{
		{"stock above the quota", "stock", "", "1000", stock.NotLoaded},
		{"stock above the quota by one", "stock", "", "6", stock.NotLoaded},
		{"quota below the stock", "meta", "quota:", "2", stock.NotLoaded},
		{"quota that is no number", "meta", "quota:", "many", stock.NotLoaded},
		{"as it was", "stock", "", "3", stock.Reserved},
		{"a number that could be right", "stock", "", "5", stock.Reserved}, // the next pass counts the holds
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, f *fixture) {
				f.load(t, 5)
				f.reserve(t, f.attempt("u1"), stock.Reserved)
				f.reserve(t, f.attempt("u2"), stock.Reserved)
				field := c.field + strconv.FormatInt(int64(f.item), 10)
				key := map[string]string{"stock": f.KeysOf(f.sh, 0).Stock, "meta": f.KeysOf(f.sh, 0).Meta}[c.key]
				f.rdb.HSet(t.Context(), key, field, c.value)
				f.reserve(t, f.attempt("u3"), c.want)
				f.reserve(t, f.attempt("u1"), stock.Already)
				report, err := f.Check(t.Context(), f.sh, 0)
				if held := report.Items[f.item].Reserved; err != nil || c.want == stock.NotLoaded && held != 2 {
					t.Errorf("holds: got %d, %v, want 2", held, err)
				}
			})
		})
	}
}
