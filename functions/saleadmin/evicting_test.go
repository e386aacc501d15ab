package saleadmin_test

import (
	"testing"

	"flashsale/localstack/servers"
	"flashsale/shared/shoptest"
)

// TestLoadIntoARedisThatEvicts has a Redis of its own, which throws keys away when memory runs short.
func TestLoadIntoARedisThatEvicts(t *testing.T) {
	t.Parallel()
	o := open(t)
	const set = "evicting"
	t.Cleanup(func() {
		if _, err := servers.Run(set, "down"); err != nil {
			t.Error(err)
		}
	})
	if _, err := servers.Run(set, "up", "redis"); err != nil {
		t.Fatal(err)
	}
	url, err := servers.Run(set, "address", "redis")
	if err != nil {
		t.Fatal(err)
	}
	shelf := shoptest.OpenShelf(t, url)
	o.h.Stock, o.h.Keeper.Stock = shelf.Stock, shelf.Stock
	sl := o.create(t, 3, false)
	load := func(policy string) string {
		if err := shelf.Redis.ConfigSet(t.Context(), "maxmemory-policy", policy).Err(); err != nil {
			t.Fatal(err)
		}
		return o.says(t, `{"action":"load","saleId":%d}`, sl.ID)
	}
	for _, policy := range []string{"allkeys-lru", "volatile-ttl"} {
		answer := load(policy)
		wantRefusal(t, answer, "SALE_BUSY")
		wantMessage(t, answer, "SALE_BUSY", policy, "noeviction")
		if n := shelf.Redis.Exists(t.Context(), shoptest.Key(sl, "meta")).Val(); n != 0 {
			t.Errorf("%s: the sale was loaded", policy)
		}
	}
	want(t, load("noeviction"), `{"saleId":%d,"state":"OPEN","loaded":true}`, sl.ID)
}
