package stock_test

import (
	"fmt"
	"strings"
	"testing"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

func TestTagsAreSpread(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 64; n++ {
		for _, id := range []sale.ID{1, 7, 4242, 1<<32 - 1} {
			seen := make(map[string]bool)
			for k := range n {
				tag := stock.Tag(id, k, n)
				plain := fmt.Sprintf("sale:%d:%d", id, k)
				inner := strings.Trim(tag, "{}")
				if tag != "{"+inner+"}" || inner != plain && !strings.HasPrefix(inner, plain+":") {
					t.Errorf("shard %d of %d: tag %s, want {%s} or with a suffix", k, n, tag, plain)
				}
				if got := stock.Slot(inner) * n / 16384; got != k {
					t.Errorf("shard %d of %d: slot %d lies in part %d", k, n, stock.Slot(inner), got)
				}
				// The shortest that fits: one of two spellings would be two shards.
				if fits := stock.Slot(plain)*n/16384 == k; fits != (inner == plain) {
					t.Errorf("shard %d of %d: tag %s, though the plain one fits: %v", k, n, tag, fits)
				}
				if seen[tag] {
					t.Errorf("tag %s twice", tag)
				}
				seen[tag] = true
			}
		}
	}
}

// The slots are what CLUSTER KEYSLOT of Redis 7.0 says; the first is the specification's own example.
func TestSlot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"123456789":          12739,
		"sale:7:0":           1288,
		"sale:7:1":           5417,
		"sale:7:1:1":         5045,
		"sale:4294967295:63": 6224,
		"sale:7:0:12":        9855,
		"catalog":            9113,
	} {
		if got := stock.Slot(text); got != want {
			t.Errorf("Slot(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestKeysShareTheirTag(t *testing.T) {
	t.Parallel()
	f := newMini(t)
	for _, n := range []int{1, 5, 64} {
		sh := stock.Shards{Sale: f.sh.Sale, N: n}
		for k := range n {
			for _, key := range f.KeysOf(sh, k).All() {
				if !strings.HasPrefix(key, stock.Tag(sh.Sale, k, n)+":") {
					t.Errorf("shard %d of %d: key %s has not its tag", k, n, key)
				}
			}
		}
	}
	for id := range sale.ID(2000) {
		f.KeysOf(stock.Shards{Sale: id + 1, N: 1}, 0)
	}
	if got := f.CachedSales(); got > 256 {
		t.Errorf("%d sales' keys are remembered, want few", got)
	}
}

func TestHome(t *testing.T) {
	t.Parallel()
	sh := stock.Of(&sale.Sale{ID: 7, Shards: 4})
	if sh != (stock.Shards{Sale: 7, N: 4}) {
		t.Errorf("Of = %+v", sh)
	}
	count := make([]int, sh.N)
	for i := range 4000 {
		user := fmt.Sprint("u", i)
		home := sh.Home(user)
		if again := sh.Home(user); again != home {
			t.Fatalf("%s lives in %d and in %d", user, home, again)
		}
		count[home]++
	}
	for k, n := range count {
		if n < 800 || n > 1200 {
			t.Errorf("shard %d is home of %d of 4000, want about 1000", k, n)
		}
	}
}
