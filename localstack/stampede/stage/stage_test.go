package stage_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/localstack/servers"
	"flashsale/localstack/stampede/crowd"
	"flashsale/localstack/stampede/report"
	"flashsale/localstack/stampede/stage"
)

// TestStampede is a small one against the real functions on real servers.
func TestStampede(t *testing.T) {
	t.Parallel()
	const shoppers, units = 2000, 100
	own, err := stage.Open(t.Context(), stage.Servers{
		Redis: servers.RedisURL(t), Brokers: servers.KafkaBrokers(t), Database: servers.DatabaseURL(t),
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	catalog := ownCatalog("catalog:stampede:" + rand.Text())
	own.Shop.Redis.AddHook(catalog)
	tokens, err := own.Login(t.Context(), shoppers, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	opens := time.Now().Add(2 * time.Second).Truncate(time.Millisecond)
	if err := own.Start(t.Context(), units, opens); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { forget(own, string(catalog)) })
	cfg, to := own.Attract(crowd.Config{
		Shoppers: shoppers, Part: 1, Parts: 1, Seed: 3, Units: units, Opens: opens, InFlight: 64, Limit: time.Minute,
		Token: func(i int) string { return tokens[i] },
		Habits: report.Habits{
			EarlyShare: 0.1, Early: report.Duration(time.Second), Spread: report.Duration(time.Second),
			Double: 0.1, DropOut: 0.05, Pay: 0.5, Cancel: 0.2,
		},
	})
	r, err := crowd.Run(t.Context(), cfg, to)
	if err != nil {
		t.Fatal(err)
	}
	if r.Broken {
		t.Errorf("a promise broke: %+v, for example %v", r.Promises, r.Examples)
	}
	if r.System == nil || r.System.Rows["PENDING"]+r.System.Rows["PAID"] != units || r.System.Stock != 0 {
		t.Errorf("the system's own account: %+v, want %d orders that hold a unit", r.System, units)
	}
	// The run must have had in it what it is about.
	if r.Orders.Ends["PAID"] == 0 || r.Orders.Ends["CANCELLED"] == 0 || r.Answers["POST 403 SALE_NOT_OPEN"] == 0 || r.Answers["POST 410 SOLD_OUT"] == 0 {
		t.Errorf("ends %v, answers %v; want some paid, cancelled, too early, sold out", r.Orders.Ends, r.Answers)
	}
	if got, want := len(r.Orders.WrittenMs), r.System.Total()-r.System.Rows["REJECTED"]; got != want {
		t.Errorf("rows: seen %d, the system has %d", got, want)
	}
}

// ownCatalog is a stage's name of the key "catalog", which is one for all of a Redis:
// the tests' is shared.
type ownCatalog string

// DialHook changes nothing.
func (ownCatalog) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook changes nothing: the catalog is read and written alone.
func (ownCatalog) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook renames the key.
func (o ownCatalog) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) > 1 && args[1] == "catalog" {
			args[1] = string(o)
		}
		return next(ctx, cmd)
	}
}

// forget removes the sale's keys. It runs before the stage is closed.
func forget(own *stage.Stage, catalog string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	keys := []string{catalog}
	tag := fmt.Sprintf("{sale:%d:0", own.SaleID())
	for each := own.Shop.Redis.Scan(ctx, 0, tag+"*", 1000).Iterator(); each.Next(ctx); {
		if strings.HasPrefix(each.Val(), tag) {
			keys = append(keys, each.Val())
		}
	}
	own.Shop.Redis.Del(ctx, keys...)
}
