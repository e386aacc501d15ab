package recovery_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
)

// A workshop is a bench whose log the test looks into.
type workshop struct {
	*bench
	log *log
}

func open(t *testing.T) *workshop {
	t.Helper()
	w := &workshop{newBench(t), &log{}}
	w.keeper.Log = w.log
	return w
}

// log remembers what is published, and refuses what it is told to.
type log struct {
	mu        sync.Mutex
	refuse    map[string]bool // shoppers
	published []sale.Placed
}

var errNoLeader = errors.New("no leader")

func (l *log) Publish(_ context.Context, p sale.Placed) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse[p.UserID] {
		return errNoLeader
	}
	l.published = append(l.published, p)
	return nil
}

// due lets the looks of these shoppers' holds come now.
func (w *workshop) due(t *testing.T, sl sale.Sale, users ...string) {
	t.Helper()
	for _, user := range users {
		if err := w.Redis.ZAdd(t.Context(), shoptest.Key(sl, "unconfirmed"), redis.Z{Score: 1, Member: user}).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *workshop) sweep(t *testing.T, sl sale.Sale, want recovery.Swept) {
	t.Helper()
	if got, err := w.keeper.Sweep(t.Context(), &sl); got != want || err != nil {
		t.Errorf("sweep: got %+v, %v, want %+v", got, err, want)
	}
}
