package drill

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/stock"
)

// A memory is what a Redis knows that takes over from another one, or that was set back.
type memory struct {
	quotas map[int]int     // of the sale's shards that it has
	orders map[string]bool // that have a hold there
	moved  int             // units of those quotas that were other shards' by then
	until  time.Time       // who pressed later was sold to by it alone; zero is when the old one stopped
}

// recalls notes what that Redis knows of some shards. A replica is asked when it hears nothing any more.
func (s *stage) recalls(ctx context.Context, rdb redis.UniversalClient, until time.Time, shards ...int) error {
	m := memory{quotas: map[int]int{}, orders: map[string]bool{}, until: until}
	for _, shard := range shards {
		quota, err := rdb.HGet(ctx, s.tags[shard]+":meta", fmt.Sprint("quota:", s.sale.Items[0].ID)).Int()
		if err != nil {
			return err
		}
		m.quotas[shard] = quota
		holds, err := stock.New(rdb).Holds(ctx, stock.Of(&s.sale), shard)
		if err != nil {
			return err
		}
		for _, h := range holds {
			m.orders[h.OrderID.String()] = true
		}
	}
	s.memories = append(s.memories, m)
	return nil
}

// sellsOn notes the units that had left its shards, as the ledger says, when that Redis began to sell.
func (s *stage) sellsOn(ctx context.Context) error {
	m := &s.memories[len(s.memories)-1]
	for shard, quota := range m.quotas {
		var right int
		if err := s.shop.Pool.QueryRow(ctx, `SELECT quota FROM flash_sale_quota WHERE sale_id = $1 AND shard = $2`, int64(s.sale.ID), shard).Scan(&right); err != nil {
			return err
		}
		m.moved += max(0, quota-right)
	}
	return nil
}

// forgot counts the 202s that a Redis which sold afterwards knew nothing of, and the units that it
// did not know to be another shard's. For each it may have sold one unit, and no more, that was not
// there. Whose order ended by itself needs no hold.
func (s *stage) forgot(accepted map[string]receipt, rows map[string]orderRow) (n int) {
	for _, m := range s.memories {
		n += m.moved
	}
	for id, told := range accepted {
		if status := rows[id].Status; status == "EXPIRED" || status == "CANCELLED" {
			continue
		}
		home := stock.Of(&s.sale).Home(told.name)
		for _, m := range s.memories {
			until := m.until
			if until.IsZero() {
				until = s.stopped
			}
			if _, ours := m.quotas[home]; ours && !m.orders[id] && told.pressed.Before(until) {
				n++
				break
			}
		}
	}
	return n
}

// loses does what deletes a shard's holds, and notes how many of them no row is known for: until
// their records are read nobody can tell that their units are sold.
func (s *stage) loses(ctx context.Context, command ...any) error {
	var outbox *redis.IntCmd
	_, err := s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		outbox = p.ZCard(ctx, s.key("unconfirmed"))
		p.Do(ctx, command...)
		return nil
	})
	s.unwritten += int(outbox.Val())
	return err
}

// secondOrders counts the 202s of shoppers who had heard one before.
func secondOrders(accepted map[string]receipt) int {
	shoppers := map[string]bool{}
	for _, told := range accepted {
		shoppers[told.name] = true
	}
	return len(accepted) - len(shoppers)
}

// allShards lists them.
func (s *stage) allShards() (all []int) {
	for shard := range s.sale.Shards {
		all = append(all, shard)
	}
	return all
}
