package stage_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"flashsale/localstack/servers"
	"flashsale/localstack/stampede/crowd"
	"flashsale/localstack/stampede/report"
	"flashsale/localstack/stampede/stage"
	"flashsale/shared/shoptest"
)

// TestStampede is a small one against the real functions on real servers.
func TestStampede(t *testing.T) {
	t.Parallel()
	const shoppers, units, lottery = 2000, 100, 2 * time.Second
	own, err := stage.Open(t.Context(), stage.Servers{
		Redis: servers.RedisURL(t), Brokers: servers.KafkaBrokers(t), Database: servers.DatabaseURL(t),
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	if err := own.MoveIn(t.Context()); err != nil {
		t.Fatal(err)
	}
	shoptest.OwnCatalog(t, own.Shop.Redis)
	tokens, err := own.Login(t.Context(), shoppers, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	opens := time.Now().Add(5 * time.Second).Truncate(time.Millisecond) // all fetch their passes before
	if err := own.Start(t.Context(), units, opens, lottery); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { forget(own) })
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
	if r.Orders.Ends["PAID"] == 0 || r.Orders.Ends["CANCELLED"] == 0 || r.Answers["POST 403 SALE_NOT_OPEN"] == 0 || r.Answers["POST 410 SOLD_OUT"] == 0 ||
		r.Answers["POST 403 ADMISSION_REQUIRED"] == 0 || r.Answers["PASS 200"] < shoppers {
		t.Errorf("ends %v, answers %v; want some paid, cancelled, too early, before their turn, sold out, and a pass for each", r.Orders.Ends, r.Answers)
	}
	if n := r.Neighbour; n == nil || n.Quiet.Done == 0 || n.Rush.Done == 0 || n.Rush.P95 == 0 || n.Rush.Longest < n.Rush.P95 || n.Rush.Failed > 0 {
		t.Errorf("the shop's other work: %+v, want rounds before the rush and in it", n)
	}
	if got, want := len(r.Orders.WrittenMs), r.System.Total()-r.System.Rows["REJECTED"]; got != want {
		t.Errorf("rows: seen %d, the system has %d", got, want)
	}
}

// forget removes the sale's keys. It runs before the stage is closed.
func forget(own *stage.Stage) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var keys []string
	tag := fmt.Sprintf("{sale:%d:0", own.SaleID())
	for each := own.Shop.Redis.Scan(ctx, 0, tag+"*", 1000).Iterator(); each.Next(ctx); {
		if strings.HasPrefix(each.Val(), tag) {
			keys = append(keys, each.Val())
		}
	}
	own.Shop.Redis.Del(ctx, keys...)
}
