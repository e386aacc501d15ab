package drill

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// latchedDrills strike when all is sold, the functions refuse without Redis, and losers press on.
// Some orders are cancelled at the same moment, so that there is something to sell.
func latchedDrills() []Drill {
	return []Drill{
		latched("latched-flushall", "FLUSHALL", none, func(ctx context.Context, s *stage) error { return s.rdb.FlushAll(ctx).Err() }),
		latched("latched-deleted", "a shard's keys deleted", none, deletes("meta", "holds", "stock", "unconfirmed", "released", "winners")),
		latched("latched-typed", "HSET stock 1000 typed over", none, func(ctx context.Context, s *stage) error {
			return s.rdb.HSet(ctx, s.key("stock"), int64(s.sale.Items[0].ID), 1000).Err()
		}),
		latched("latched-winners", "the winners' filter deleted, cut short, of a wrong type, nonsense", none, func(ctx context.Context, s *stage) error {
			key := s.key("winners")
			for _, e := range []edit{
				{"DEL", key},
				{"SETRANGE", key, 0, "F"}, // as if somebody had died who filled it
				{"SET", key, "cut short"},
				{"EVAL", "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], 'a', 'b')", 1, key},
				{"SETRANGE", key, 0, strings.Repeat("\x00", 1<<10)},
			} {
				if err := s.rdb.Do(ctx, e...).Err(); err != nil && err != redis.Nil {
					return err
				}
				if err := sleep(ctx, 1500*time.Millisecond); err != nil {
					return err
				}
			}
			return nil
		}),
		latched("latched-failover", "cluster: master killed", forgotten, func(ctx context.Context, s *stage) error { return s.failover(ctx, 0) }).onCluster(),
	}
}

const returned = 20 // units that come back at once

func latched(name, fault string, explains excuse, strike func(context.Context, *stage) error) Drill {
	return Drill{
		Name: name, Fault: fault + "; all is sold, losers press on, and " + fmt.Sprint(returned) + " orders are cancelled", explains: explains, soldOut: true,
		strike: func(ctx context.Context, s *stage) error {
			if err := s.latches(ctx); err != nil {
				return err
			}
			if err := s.cancel(ctx, returned); err != nil {
				return err
			}
			s.struck = time.Now()
			return strike(ctx, s)
		},
		besides: resells,
	}
}

func (d Drill) onCluster() Drill {
	d.cluster = true
	return d
}

// latches waits until nobody is sold anything and everybody is told so.
func (s *stage) latches(ctx context.Context) error {
	refused := 0
	for refused < 5 {
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
		s.sales.note(func(l *ledger) { refused = len(l.refused) })
	}
	return nil
}

// cancel ends n orders as their shoppers do.
func (s *stage) cancel(ctx context.Context, n int) error {
	rows, err := s.rows(ctx)
	if err != nil {
		return err
	}
	tokens := map[string]string{}
	s.sales.note(func(l *ledger) {
		for id, told := range l.accepted {
			if rows[id].Status == "PENDING" && !pays(told.name) && len(tokens) < n {
				tokens[id] = told.token
			}
		}
	})
	for id, token := range tokens {
		if code, body := s.call(ctx, "orderstatus", http.MethodDelete, "/api/flash-sales/orders/"+id, map[string]string{"orderId": id}, token); code != http.StatusOK {
			return fmt.Errorf("cancel: %d %s", code, body)
		}
	}
	return nil
}

// resells cancels orders once more when the fault is long over: fresh shoppers must get the units
// within the latch's time and the budget of a purchase.
func resells(ctx context.Context, s *stage) error {
	s.ask(ctx, returned) // who are refused
	if err := s.cancel(ctx, returned); err != nil {
		return err
	}
	began := time.Now()
	for sold := 0; sold < returned; {
		sold += s.ask(ctx, returned-sold).Codes[http.StatusAccepted]
		if took := time.Since(began); took > latchTime+Budget {
			return fmt.Errorf("%d of %d units that came back were sold %s later", sold, returned, took)
		}
	}
	return nil
}

// latchTime is how long at most units that came back are refused without asking Redis.
const latchTime = 300 * time.Millisecond
