package stock_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// TestLostAnswer goes through the moments of a look at which a shopper can win in
// another environment, its answer being lost: the one that looks must not refuse
// them for longer than the latch time. The look is held up at each of its commands,
// and the shopper wins meanwhile.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"time", "levels", "getrange", "evalsha", "hscan", "fill", "get"} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, answered %v", at, after), func(t *testing.T) {
				t.Parallel()
				lostAnswer(t, at, after)
			})
		}
	}
}

func lostAnswer(t *testing.T, at string, after bool) {
	f := newMini(t)
	soldOut := f.scarce(t, 1)
	var wins atomic.Pointer[func()]
	stop := &stopAt{at: at, after: after, deaf: make(chan struct{}, 1), over: make(chan struct{}), do: func() {
		if do := wins.Swap(nil); do != nil {
			(*do)()
		}
	}}
	rdb := redis.NewClient(f.rdb.Options())
	t.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(stop)
	e := f.environment(stock.New(rdb), 1)
	e.sl.Items = append(e.sl.Items, sale.Item{ID: soldOut})

	const delay = 200 * time.Millisecond // of the command that is held up
	won := func() {
		e.passes(delay / 2)
		f.reserve(t, f.attempt("winner"), stock.Reserved)
		e.passes(delay / 2)
	}
	wins.Store(&won)
	e.meets(t, soldOut)
	if wins.Load() != nil {
		t.Fatalf("the look had no %s", at)
	}
	// The shopper won 100 ms before now. Count for how long refusals go on while the
	// caller who looks again gets no answer.
	asks := func() bool {
		answer := make(chan bool, 1)
		go func() { answer <- e.refusesDeaf(t, soldOut, "winner") }()
		select {
		case refuses := <-answer:
			return refuses
		case <-stop.deaf:
			return e.refusesDeaf(t, soldOut, "winner") // the next one, who does not look
		}
	}
	refused := delay / 2
	for ; asks() && refused <= time.Second; refused += time.Millisecond {
		e.passes(time.Millisecond)
	}
	if refused > stock.LatchTime {
		t.Errorf("the winner was refused for %s, want at most %s", refused, stock.LatchTime)
	}
	// Whatever the look saw, the next one knows.
	close(stop.over)
	f.eventually(t, "the look without answer ends", func() bool { return !e.Looking(f.sh.Sale) })
	e.passes(stock.LatchTime)
	e.meets(t, soldOut)
	if e.refuses(t, soldOut, "winner") || !e.refuses(t, soldOut, "stranger") {
		t.Error("after one latch time: want the winner in the filter, and strangers refused")
	}
}

// refusesDeaf asks like refuses, but a look gets no answer from Redis.
func (e *environment) refusesDeaf(t *testing.T, item sale.ItemID, user string) bool {
	t.Helper()
	ctx := context.WithValue(t.Context(), deaf{}, true)
	r := e.Refusal(ctx, e.now(), &sale.Listing{Sale: e.sl, Standing: sale.Standing{Loaded: true}}, item)
	return r.Outcome == stock.SoldOut && !r.MayName([]byte(user))
}

// deaf marks a context whose commands do not reach Redis.
type deaf struct{}

// A stopAt does something before or after one of a look's commands.
type stopAt struct {
	at    string
	after bool
	do    func()

	deaf, over chan struct{} // a command got no answer; it need not wait any more
}

func (*stopAt) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *stopAt) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		name := cmd.Name()
		if args := cmd.Args(); name == "evalsha" && args[1] == stock.FillHash {
			name = "fill"
		}
		return s.around(ctx, name, func() error { return next(ctx, cmd) })
	}
}

func (s *stopAt) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return s.around(ctx, "levels", func() error { return next(ctx, cmds) })
	}
}

func (s *stopAt) around(ctx context.Context, name string, send func() error) error {
	if ctx.Value(deaf{}) != nil {
		s.deaf <- struct{}{}
		<-s.over
		return context.DeadlineExceeded
	}
	if name == s.at && !s.after {
		s.do()
	}
	err := send()
	if name == s.at && s.after {
		s.do()
	}
	return err
}

// An environment knows its own winners at once, also while it looks.
func TestOwnWinner(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"time", "getrange", "get"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			f := newMini(t)
			soldOut := f.scarce(t, 2)
			var e *environment
			wins := func(user string) {
				f.reserve(t, f.attempt(user), stock.Reserved)
				e.Won(f.sh, user)
			}
			during := func() { wins("during") }
			rdb := redis.NewClient(f.rdb.Options())
			t.Cleanup(func() { _ = rdb.Close() })
			once := new(atomic.Bool)
			rdb.AddHook(&stopAt{at: at, after: true, do: func() {
				if !once.Swap(true) {
					during()
				}
			}})
			e = f.environment(stock.New(rdb), 2)
			e.sl.Items = append(e.sl.Items, sale.Item{ID: soldOut})
			e.Won(f.sh, "before anything is known")
			e.meets(t, soldOut)
			wins("after")
			for _, user := range []string{"during", "after"} {
				if e.refuses(t, soldOut, user) {
					t.Errorf("the winner %s is refused", user)
				}
			}
			if !e.refuses(t, soldOut, "stranger") {
				t.Error("a stranger is not refused")
			}
		})
	}
}
