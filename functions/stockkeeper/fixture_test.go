package stockkeeper_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/functions/stockkeeper"
	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// A desk is the keeper under test with what stands behind it.
type desk struct {
	*shoptest.Shop
	h *stockkeeper.Handler
}

func open(t *testing.T, log recovery.Log) *desk {
	t.Helper()
	shop := shoptest.OpenShop(t, servers.RedisURL(t), servers.Database(t, migrations.Hash(), shoptest.Migrate))
	return &desk{shop, &stockkeeper.Handler{
		Orders: shop.Orders, Stock: shop.Stock, Log: slog.New(slog.DiscardHandler),
		Keeper: &recovery.Keeper{
			Orders: shop.Orders, Stock: shop.Stock, Log: log,
			Backlog: func(context.Context) (int64, error) { return 0, nil },
			Mark: func(context.Context, []sale.ItemID) (func(context.Context) (bool, error), error) {
				return func(context.Context) (bool, error) { return true, nil }, nil
			},
		},
	}}
}

// unused is the log of tests in which nothing is stuck.
type unused struct{ t *testing.T }

func (u unused) Publish(_ context.Context, p sale.Placed) error {
	u.t.Errorf("published %s, want nothing", p.OrderID)
	return nil
}

const once = `{"passes":1}`

func (d *desk) invoke(t *testing.T, event string) stockkeeper.Result {
	t.Helper()
	text, err := d.h.Invoke(t.Context(), []byte(event))
	if err != nil {
		t.Fatalf("invoke: %v", err)
	}
	var got stockkeeper.Result
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("answer %s: %v", text, err)
	}
	return got
}

func (d *desk) passes(t *testing.T, want stockkeeper.Result) {
	t.Helper()
	if got := d.invoke(t, once); got != want {
		t.Errorf("pass: got %+v, want %+v", got, want)
	}
}

// due lets the look of a shopper's hold come now.
func (d *desk) due(t *testing.T, sl sale.Sale, user string) {
	t.Helper()
	key := shoptest.Key(sl, "unconfirmed")
	if n, err := d.Redis.ZAddXX(t.Context(), key, redis.Z{Score: 1, Member: user}).Result(); err != nil || n != 0 {
		t.Fatalf("due: got %d, %v", n, err)
	}
	if score, err := d.Redis.ZScore(t.Context(), key, user).Result(); err != nil || score != 1 {
		t.Fatalf("due: %s is not in the outbox: %v, %v", user, score, err)
	}
}

// later makes a sale that opens in d.
func (d *desk) later(t *testing.T, in time.Duration) sale.Sale {
	t.Helper()
	sl := d.Sale(10)
	sl.OpensAt = time.Now().Add(in).UTC().Truncate(time.Millisecond)
	sl.ClosesAt = sl.OpensAt.Add(time.Hour)
	d.Create(t, sl)
	return sl
}

func (d *desk) listing(t *testing.T, id sale.ID) *sale.Listing {
	t.Helper()
	l, ok, err := stock.NewCatalog(d.Stock, time.Now).Sale(t.Context(), id)
	if err != nil || !ok {
		t.Fatalf("catalog: got %v, %v, want sale %d", ok, err, id)
	}
	return l
}
