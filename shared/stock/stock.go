// Package stock decides in Redis who gets a unit.
//
// It promises that no more units are held than a shard's quota allows: at any
// moment, for each shard and item, stock + holds = quota. Every change is one
// script of package lua, atomic in one shard, and safe to repeat. A refusal is
// an [Outcome]; an error means that the outcome is unknown, never a refusal.
//
// Deadlines are the caller's: every method ends with its context.
package stock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/lua"
	"flashsale/shared/sale"
)

// A new hold is looked at after firstLook if no writer has confirmed it by then.
// Later looks are as far apart as the hold is old, up to longestWait.
const (
	firstLook   = 15 * time.Second
	longestWait = 10 * time.Minute
)

// maxBatch bounds the orders in one script call: Redis serves nobody else meanwhile.
const maxBatch = 500

// ErrNotLoaded says that a shard has no load marker: nothing can be told about its stock.
var ErrNotLoaded = errors.New("stock: not loaded")

// A Store is the stock of all sales in one Redis. It is safe for concurrent use.
type Store struct {
	rdb      redis.UniversalClient
	embedded bool
	piped    bool
	keyring  keyring
}

// An Option changes what [New] makes.
type Option func(*Store)

// Embedded says that the server is the development server's own: it states no
// eviction policy and is accepted all the same.
func Embedded() Option { return func(s *Store) { s.embedded = true } }

// Pipelined says whether concurrent calls of [Store.Reserve] share round trips.
func Pipelined(yes bool) Option { return func(s *Store) { s.piped = yes } }

// New makes a Store over a single server or a cluster.
func New(rdb redis.UniversalClient, options ...Option) *Store {
	s := &Store{rdb: rdb}
	for _, option := range options {
		option(s)
	}
	return s
}

// Warm loads the scripts of a purchase, so that the first shoppers do not wait
// for their texts to be sent. After an error the Store works all the same.
func (s *Store) Warm(ctx context.Context) error {
	for _, script := range []*redis.Script{reserveScript, releaseScript, claimScript, winnersScript, fillScript} {
		if err := script.Load(ctx, s.rdb).Err(); err != nil {
			return fmt.Errorf("stock: warm: %w", err)
		}
	}
	return nil
}

// Shards names a sale's shards. The Store needs no more of a sale.
type Shards struct {
	Sale sale.ID
	N    int // 1 or more
}

// Of returns the shards of a sale.
func Of(s *sale.Sale) Shards { return Shards{Sale: s.ID, N: s.Shards} }

// Home is the shard that decides for a shopper, 0 to N-1.
func (sh Shards) Home(userID string) int { return sale.HomeShard(userID, sh.N) }

var (
	reserveScript = redis.NewScript(lua.Reserve)
	claimScript   = redis.NewScript(lua.Claim)
	confirmScript = redis.NewScript(lua.Confirm)
	releaseScript = redis.NewScript(lua.Release)
	dueScript     = redis.NewScript(lua.Due)
	quotaScript   = redis.NewScript(lua.Quota)
	steerScript   = redis.NewScript(lua.Steer)
	checkScript   = redis.NewScript(lua.Check)
	repairScript  = redis.NewScript(lua.Repair)
	winnersScript = redis.NewScript(lua.Winners)
	fillScript    = redis.NewScript(lua.Fill)

	unconfirmScript = redis.NewScript(lua.Unconfirm)
)

// A reply is what a script answered. Its readers fail on anything unexpected,
// so a script and its Go side cannot drift apart unnoticed.
type reply []any

func run(ctx context.Context, rdb redis.Scripter, script *redis.Script, keys []string, args ...any) (reply, error) {
	values, err := script.Run(ctx, rdb, keys, args...).Slice()
	if err != nil {
		return nil, err
	}
	return values, nil
}

// flag is how scripts are told yes or no.
func flag(yes bool) string {
	if yes {
		return "1"
	}
	return "0"
}

func (r reply) number(i int) (int64, error) {
	if i < len(r) {
		if n, ok := r[i].(int64); ok {
			return n, nil
		}
	}
	return 0, fmt.Errorf("unexpected answer %v: no number at %d", []any(r), i)
}

func (r reply) text(i int) (string, error) {
	if i < len(r) {
		if s, ok := r[i].(string); ok {
			return s, nil
		}
	}
	return "", fmt.Errorf("unexpected answer %v: no text at %d", []any(r), i)
}

func (r reply) time(i int) (time.Time, error) {
	text, err := r.text(i)
	if err != nil {
		return time.Time{}, err
	}
	return parseMillis(text)
}

func (r reply) list(i int) (reply, error) {
	if i < len(r) {
		if l, ok := r[i].([]any); ok {
			return l, nil
		}
	}
	return nil, fmt.Errorf("unexpected answer %v: no list at %d", []any(r), i)
}
