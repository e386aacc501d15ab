// Package neighbour is the shop's normal business on the database server of a flash sale, and how
// it feels while the sale is on.
package neighbour

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// A Business is the shop's: a basket is filled, read and changed, over and over.
type Business struct {
	pool *pgxpool.Pool

	mu    sync.Mutex
	times []time.Duration
	away  int // rounds that the server failed
}

// MoveIn opens the business in a database that has none.
func MoveIn(ctx context.Context, url string) (*Business, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 2
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, `CREATE TABLE basket (id bigserial PRIMARY KEY, product int NOT NULL, amount int NOT NULL)`); err != nil {
		pool.Close()
		return nil, err
	}
	return &Business{pool: pool}, nil
}

// Close ends its connections.
func (n *Business) Close() { n.pool.Close() }

// Watch starts the business; it ends with the context.
func (n *Business) Watch(ctx context.Context) *Business {
	go func() {
		for i := 0; sleep(ctx, 10*time.Millisecond) == nil; i++ {
			began := time.Now()
			err := n.trade(ctx, i)
			n.mu.Lock()
			if err == nil {
				n.times = append(n.times, time.Since(began))
			} else {
				n.away++
			}
			n.mu.Unlock()
		}
	}()
	return n
}

func (n *Business) trade(ctx context.Context, i int) error {
	var id, amount int64
	if err := n.pool.QueryRow(ctx, `INSERT INTO basket (product, amount) VALUES ($1, 1) RETURNING id`, i%100).Scan(&id); err != nil {
		return err
	}
	if err := n.pool.QueryRow(ctx, `SELECT sum(amount) FROM (SELECT amount FROM basket ORDER BY id DESC LIMIT 50) last`).Scan(&amount); err != nil {
		return err
	}
	_, err := n.pool.Exec(ctx, `UPDATE basket SET amount = amount + 1 WHERE id = $1`, id)
	return err
}

// During is the 95th percentile of a round while that time passes.
func (n *Business) During(ctx context.Context, d time.Duration) time.Duration {
	_ = sleep(ctx, d)
	return n.Take().P95
}

// Since is the rounds' 95th percentile since the last look, as a multiple of what it was when all
// was calm, and the longest round, in which a stall shows.
func (n *Business) Since(calm time.Duration) string {
	r := n.Take()
	if r.P95 == 0 || calm == 0 {
		return "-"
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	text := fmt.Sprintf("%.1f × %.1f ms, longest %.0f ms", float64(r.P95)/float64(calm), ms(calm), ms(r.Longest))
	if r.Failed > 0 {
		text += fmt.Sprintf(", %d failed", r.Failed)
	}
	return text
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
