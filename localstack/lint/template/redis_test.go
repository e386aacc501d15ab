package template_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/orderlog"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// restricted is Redis for a user that has the template's rights. refused are the server's words
// about what was refused to that user.
func restricted(t *testing.T) (address string, refused func() []string) {
	t.Helper()
	u, err := url.Parse(servers.RedisURL(t))
	if err != nil {
		t.Fatal(err)
	}
	options, err := redis.ParseURL(u.String())
	if err != nil {
		t.Fatal(err)
	}
	admin := redis.NewClient(options)
	user := fmt.Sprintf("template-%d", rand.Uint64())
	command := []any{"ACL", "SETUSER", user, ">pass", "~catalog:test:*"} // a test's own catalog
	for right := range strings.FieldsSeq(redisRights(t)) {
		command = append(command, right)
	}
	if err := admin.Do(t.Context(), command...).Err(); err != nil {
		t.Fatalf("ACL SETUSER: %v", err)
	}
	t.Cleanup(func() {
		if err := admin.Do(context.WithoutCancel(t.Context()), "ACL", "DELUSER", user).Err(); err != nil {
			t.Errorf("ACL DELUSER: %v", err)
		}
		_ = admin.Close()
	})
	u.User = url.UserPassword(user, "pass")
	return u.String(), func() (lines []string) {
		entries, err := admin.Do(t.Context(), "ACL", "LOG", 128).Slice()
		if err != nil {
			t.Fatalf("ACL LOG: %v", err)
		}
		for _, entry := range entries {
			if line := fmt.Sprint(entry); strings.Contains(line, user) {
				lines = append(lines, line)
			}
		}
		return lines
	}
}

func client(t *testing.T, address string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// A sale's whole life, with the functions' rights in Redis.
func TestRedisRightsAreEnough(t *testing.T) {
	t.Parallel()
	address, refused := restricted(t)
	shop := shoptest.OpenShop(t, address, servers.Database(t, migrations.Hash(), shoptest.Migrate))
	topic := servers.Topic(t, "orders", 1)
	kafka := shoptest.Kafka(t, servers.KafkaBrokers(t), topic)
	keeper := &recovery.Keeper{
		Orders: shop.Orders, Stock: shop.Stock, Log: orderlog.NewProducer(kafka, topic),
		Backlog: orderlog.Backlog(kafka, "group-of-"+topic, topic),
	}
	sl := shop.Open(t, 3) // created and loaded
	sold := shop.Reserve(t, sl, 0, "ann")
	written := shop.Write(t, sold)
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	must("confirm", shop.Stock.Confirm(t.Context(), stock.Of(&sl), []stock.Confirmation{{OrderID: sold.OrderID, UserID: "ann", PayBy: written[0].PayBy}}))
	shop.Reserve(t, sl, 0, "bob") // a hold that no writer sees
	shop.Reserve(t, sl, 0, "cid")
	latch := stock.NewLatch(shop.Stock, stock.NewCatalog(shop.Stock, shop.Now), shop.Now)
	_, err := latch.SoldOut(t.Context(), &sl, sl.Items[0].ID)
	must("sold out", err)
	_, err = keeper.Reconcile(t.Context(), &sl)
	must("reconcile", err)
	must("pause", shop.Orders.Pause(t.Context(), sl.ID, sale.PausedByOperator, "test"))
	must("govern", keeper.Govern(t.Context(), sl.ID))
	must("catalog", shop.Orders.PublishCatalog(t.Context(), shop.Stock.PutCatalog))
	must("drop", shop.Stock.Drop(t.Context(), stock.Of(&sl)))
	// The client of a cluster says these by itself. This server is alone, but looks at rights first.
	rdb := client(t, address)
	for _, command := range [][]any{{"ASKING"}, {"READONLY"}, {"COMMAND"}, {"CLUSTER", "SLOTS"}, {"CLUSTER", "SHARDS"}} {
		_ = rdb.Do(t.Context(), command...).Err()
	}
	if got := refused(); len(got) > 0 { // a look at the filter that fails is no error, only slow
		t.Errorf("refused: %q", got)
	}

	// What the functions have no business with is refused.
	address, refused = restricted(t)
	rdb = client(t, address)
	for _, command := range [][]any{
		{"FLUSHALL"}, {"CONFIG", "GET", "*"}, {"KEYS", "*"}, {"GET", "other"}, {"ACL", "LIST"}, {"SCRIPT", "FLUSH"},
	} {
		if err := rdb.Do(t.Context(), command...).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("%v: got %v, want NOPERM", command, err)
		}
	}
	if len(refused()) == 0 {
		t.Error("the server keeps no list of what it refuses, so nothing is shown above")
	}
}
