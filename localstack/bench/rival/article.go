package rival

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The article's scripts, in spirit: a string and a set.
var (
	reserve = redis.NewScript(`
		if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then return -2 end
		local left = tonumber(redis.call('GET', KEYS[1]) or '0')
		if left <= 0 then return -1 end
		redis.call('DECR', KEYS[1])
		redis.call('SADD', KEYS[2], ARGV[1])
		return left - 1`)
	release = redis.NewScript(`
		if redis.call('SREM', KEYS[2], ARGV[1]) == 1 then return redis.call('INCR', KEYS[1]) end
		return -1`)
)

var keys = []string{"{item:1001}:stock", "{item:1001}:buyers"}

// article is the article's service and its consumer: Redis decides by one script call
// for each purchase, Kafka takes the order without being waited for, and a consumer
// writes one order per transaction.
type article struct {
	rdb     *redis.Client
	kafka   *kgo.Client
	topic   string
	pool    *pgxpool.Pool
	stop    context.CancelFunc
	drop    func()
	working sync.WaitGroup
}

type placed struct {
	OrderID string `json:"orderId"`
	ItemID  int64  `json:"itemId"`
	UserID  string `json:"userId"`
}

func openArticle(ctx context.Context, cfg Config, pool *pgxpool.Pool) (*article, error) {
	options, err := redis.ParseURL(cfg.Redis)
	if err != nil {
		return nil, err
	}
	a := &article{rdb: redis.NewClient(options), pool: pool}
	if a.topic, a.drop, err = openTopic(ctx, cfg.Brokers); err != nil {
		return nil, err
	}
	if err := a.rdb.Del(ctx, keys...).Err(); err != nil {
		return nil, err
	}
	if err := a.rdb.Set(ctx, keys[0], cfg.Units, 0).Err(); err != nil {
		return nil, err
	}
	// acks=all and idempotence are franz-go's defaults.
	if a.kafka, err = kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...), kgo.ConsumeTopics(a.topic),
		kgo.ConsumerGroup("order-writer-"+a.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())); err != nil {
		return nil, err
	}
	ctx, a.stop = context.WithCancel(ctx)
	a.working.Go(func() { a.consume(ctx) })
	return a, nil
}

func (a *article) close() {
	a.stop()
	a.working.Wait()
	a.kafka.Close()
	a.drop()
	_ = a.rdb.Close()
}

func (a *article) buy(ctx context.Context, shopper string) (int, error) {
	left, err := reserve.Run(ctx, a.rdb, keys, shopper).Int()
	switch {
	case err != nil:
		return 0, err
	case left == -2:
		return http.StatusConflict, nil
	case left == -1:
		return http.StatusGone, nil
	}
	value, err := json.Marshal(placed{newID(), Item, shopper})
	if err != nil {
		return 0, err
	}
	record := &kgo.Record{Topic: a.topic, Key: []byte(strconv.Itoa(Item)), Value: value}
	a.kafka.Produce(context.WithoutCancel(ctx), record, func(_ *kgo.Record, err error) {
		if err != nil {
			release.Run(context.WithoutCancel(ctx), a.rdb, keys, shopper)
		}
	})
	return http.StatusAccepted, nil
}

// consume writes each record in its partition's order. Who bought one item is in one
// partition.
func (a *article) consume(ctx context.Context) {
	for {
		fetches := a.kafka.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if err := a.write(ctx, r.Value); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "rival: consumer:", err)
			}
		})
	}
}

func (a *article) write(ctx context.Context, value []byte) error {
	var p placed
	if err := json.Unmarshal(value, &p); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, a.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, insertOrder+` ON CONFLICT DO NOTHING`, p.OrderID, p.ItemID, p.UserID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		tag, err = tx.Exec(ctx, `UPDATE flash_sale_item SET sold = sold + 1 WHERE id = $1 AND sold < quantity`, p.ItemID)
		if err == nil && tag.RowsAffected() == 0 {
			return fmt.Errorf("no stock left of item %d", p.ItemID)
		}
		return err
	})
}
