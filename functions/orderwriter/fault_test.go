package orderwriter_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"flashsale/functions/orderwriter"
	"flashsale/localstack/servers"
	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// TestServersAway has each server away for one delivery: every record must come
// again, and then is written once.
func TestServersAway(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(t *testing.T, h *orderwriter.Handler){
		"postgres": func(t *testing.T, h *orderwriter.Handler) { h.Orders = order.New(closedPool(t)) },
		"redis":    func(t *testing.T, h *orderwriter.Handler) { h.Stock = closedStock(t) },
		"redis after the write": func(t *testing.T, h *orderwriter.Handler) {
			shelf := shoptest.OpenShelf(t, servers.RedisURL(t))
			shelf.Redis.AddHook(deafToConfirm{})
			h.Stock = shelf.Stock
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			sl := d.Open(t, 5)
			records := d.records(d.Reserve(t, sl, 0, "u1"), d.Reserve(t, sl, 0, "u2"), d.Reserve(t, sl, 0, "u3"))
			records[2].Partition = 1
			event := orderlog.EncodeBatch(records)
			broken := *d.h
			breakIt(t, &broken)
			want := []place{{"orders-0", 1}, {"orders-0", 2}, {"orders-1", 3}}
			if failed := deliver(t, &broken, event); !reflect.DeepEqual(failed, want) {
				t.Errorf("failed: got %v, want %v", failed, want)
			}
			broken.WholeBatch = true
			if answer, err := broken.Invoke(t.Context(), event); err == nil {
				t.Errorf("whole batch: got %s, want an error", answer)
			}
			for range 2 {
				d.writes(t, records...)
				d.WantUnits(t, sl, 0, [4]int64{2, 0, 0, 3})
				d.WantSold(t, sl, 0, 3)
			}
		})
	}
}

// TestKafkaAway has no place for dead letters: poison must come again, and from
// its partition everything behind it.
func TestKafkaAway(t *testing.T) {
	t.Parallel()
	d := open(t)
	sl := d.Open(t, 5)
	before, poison, behind, elsewhere := d.Reserve(t, sl, 0, "u1"), d.record([]byte("bad")), d.Reserve(t, sl, 0, "u2"), d.Reserve(t, sl, 0, "u3")
	records := append([]orderlog.Record{}, place2(before, 0), poison, place2(behind, 2), place2(elsewhere, 7))
	records[3].Partition = 1
	broken := *d.h
	client := shoptest.Kafka(t, servers.KafkaBrokers(t), d.letters)
	client.Close()
	broken.Letters = orderlog.NewDeadLetters(client, d.letters)
	want := []place{{"orders-0", 1}, {"orders-0", 2}}
	if failed := deliver(t, &broken, orderlog.EncodeBatch(records)); !reflect.DeepEqual(failed, want) {
		t.Errorf("failed: got %v, want %v", failed, want)
	}
	d.writes(t, records...)
	d.WantUnits(t, sl, 0, [4]int64{2, 0, 0, 3})
	if letters := d.deadLetters(t); len(letters) != 1 {
		t.Errorf("dead letters: got %v, want one", letters)
	}
}

// TestCrash ends the writer between its steps. The purchase cannot take the hold
// back any more, and the next delivery goes on.
func TestCrash(t *testing.T) {
	t.Parallel()
	d := open(t)
	t.Run("after the claim", func(t *testing.T) {
		t.Parallel()
		sl := d.Open(t, 2)
		p := d.Reserve(t, sl, 0, "u1")
		if got, err := d.Stock.Claim(t.Context(), stock.Of(&sl), []sale.Placed{p}); err != nil || got[0] != stock.Claimed {
			t.Fatalf("claim: got %v, %v", got, err)
		}
		d.release(t, sl, stock.Unclaimed, p, stock.StillClaimed)
		d.writes(t, place2(p, 1))
		d.WantRow(t, p.OrderID, order.Pending, "")
		d.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 1})
	})
	t.Run("after the write", func(t *testing.T) {
		t.Parallel()
		sl := d.Open(t, 2)
		p := d.Reserve(t, sl, 0, "u1")
		d.Write(t, p)
		d.writes(t, place2(p, 1))
		d.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 1})
		d.WantSold(t, sl, 0, 1)
	})
	t.Run("time is over", func(t *testing.T) {
		t.Parallel()
		sl := d.Open(t, 2)
		p := d.Reserve(t, sl, 0, "u1")
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(2*time.Second)) // what is kept back for the answer
		defer cancel()
		text, err := d.h.Invoke(ctx, orderlog.EncodeBatch([]orderlog.Record{place2(p, 1)}))
		const want = `{"batchItemFailures":[{"itemIdentifier":{"partition":"orders-0","offset":1}}]}`
		if err != nil || string(text) != want {
			t.Errorf("answer: got %s, %v, want %s", text, err, want)
		}
		d.WantUnits(t, sl, 0, [4]int64{1, 1, 0, 0})
		d.writes(t, place2(p, 1))
		d.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 1})
	})
}

func closedPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := shoptest.Pool(t, "postgres://127.0.0.1:1/none")
	pool.Close()
	return pool
}

func closedStock(t *testing.T) *stock.Store {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	_ = rdb.Close()
	return stock.New(rdb)
}

// deafToConfirm is a Redis that goes away between claim.lua, which has five
// keys, and confirm.lua, which has three.
type deafToConfirm struct{}

func (deafToConfirm) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (deafToConfirm) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (deafToConfirm) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if args := cmds[0].Args(); cmds[0].Name() != "evalsha" || args[2] != 3 {
			return next(ctx, cmds)
		}
		err := errors.New("redis is away")
		for _, cmd := range cmds {
			cmd.SetErr(err)
		}
		return err
	}
}
