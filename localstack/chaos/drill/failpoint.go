package drill

import (
	"context"
	"os"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/redis/go-redis/v9"

	"flashsale/lua"
)

// A failpoint is where a process kills or stops itself: before or after its nth call of a script. Between
// two scripts lie the publish, the write and the commit, so that each gap can be met exactly.
type failpoint struct {
	Script string // "" is nowhere
	Mode   string // of release.lua or quota.lua; "" is any
	After  bool   // when the answer is there, else before the request goes out
	Stop   bool   // it only stops, until somebody lets it go on
	Nth    int64
}

func (f failpoint) sha() string {
	return redis.NewScript(map[string]string{
		"reserve": lua.Reserve, "claim": lua.Claim, "confirm": lua.Confirm, "release": lua.Release, "quota": lua.Quota,
	}[f.Script]).Hash()
}

// arm watches what the client sends from now on.
func (f failpoint) arm(rdb redis.UniversalClient) {
	if f.Script != "" {
		rdb.AddHook(&trap{failpoint: f, hash: f.sha()})
	}
}

type trap struct {
	failpoint
	hash string
	met  atomic.Int64
}

func (t *trap) hit(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		args := cmd.Args()
		if len(args) < 2 || cmd.Name() != "evalsha" || args[1] != t.hash {
			continue
		}
		if t.Mode != "" && !slices.Contains(args, any(t.Mode)) {
			continue
		}
		if t.met.Add(1) == t.Nth {
			if t.Stop {
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
				continue
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

// DialHook changes nothing.
func (t *trap) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook meets scripts that are called alone.
func (t *trap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !t.After {
			t.hit(cmd)
		}
		err := next(ctx, cmd)
		if t.After {
			t.hit(cmd)
		}
		return err
	}
}

// ProcessPipelineHook meets batches.
func (t *trap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !t.After {
			t.hit(cmds...)
		}
		err := next(ctx, cmds)
		if t.After {
			t.hit(cmds...)
		}
		return err
	}
}
