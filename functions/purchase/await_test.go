package purchase_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A hold stops the reading of holds, by which a look fills its filter.
type hold struct {
	first           *sync.Once
	reached, opened chan struct{}
}

func (hold) DialHook(next redis.DialHook) redis.DialHook { return next }

func (hold) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h hold) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "hscan" {
			h.first.Do(func() {
				close(h.reached)
				<-h.opened
			})
		}
		return next(ctx, cmd)
	}
}

// TestCrowdBetweenSoldOutAndTheLatch comes when Redis has said that nothing is left
// and the latch is not closed yet. Nobody's signature is checked any more: a forged
// token hears what everybody hears. The winner still hears of the own order.
func TestCrowdBetweenSoldOutAndTheLatch(t *testing.T) {
	t.Parallel()
	s := openStill(t, open(t, fault(nothingWrong)))
	sl := s.sells(t, 1)
	own := s.buy(t, sl, 0, "winner", "")
	own.want(t, 202, "")
	h := hold{new(sync.Once), make(chan struct{}), make(chan struct{})}
	s.Redis.AddHook(h)
	var asking sync.WaitGroup
	began := time.Now()
	asking.Go(func() { s.buy(t, sl, 0, "loser", "").want(t, 410, "SOLD_OUT") })
	<-h.reached
	answers := make(chan string, 20)
	event := call{item: itemText(sl, 0), bearer: forged("stranger")}.event()
	var came sync.WaitGroup
	came.Add(cap(answers))
	for range cap(answers) {
		asking.Go(func() {
			came.Done()
			text, err := s.h.Invoke(context.Background(), event)
			if err != nil {
				t.Error(err)
			}
			answers <- string(text)
		})
	}
	asking.Go(func() { // waits too, and then Redis is asked
		if again := s.buy(t, sl, 0, "winner", ""); again.Status != 409 || again.Body.OrderID != own.Body.OrderID {
			t.Errorf("the winner hears %d %s, want 409 and the own order", again.Status, again.Text)
		}
	})
	came.Wait()
	time.Sleep(20 * time.Millisecond) // a check of a signature takes less
	if n := len(answers); n > 0 {
		t.Errorf("%d did not wait", n)
	}
	close(h.opened)
	asking.Wait()
	inTime := time.Since(began) < 300*time.Millisecond // else the look was given up, and all took the full way
	for range cap(answers) {
		if got := <-answers; inTime && !strings.Contains(got, "SOLD_OUT") {
			t.Errorf("a forged token hears %s, want what everybody hears", got)
		}
	}
}
