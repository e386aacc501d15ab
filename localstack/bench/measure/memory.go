package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"flashsale/localstack/bench/table"
)

// concurrency is how many invocations a purchase environment has at a time, as Lambda
// Managed Instances allow it.
const concurrency = 64

// looks at the memory while the load lasts.
const looks = 60

// memory runs the deployed program of purchase under a whole sale: ten thousand win,
// all others are refused, each by a token of their own.
func (b *bench) memory(ctx context.Context) (_ []table.Row, err error) {
	s, err := b.openShop(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	l, err := sell(ctx, s, b.Units, time.Now().Add(-time.Hour))
	if err != nil {
		return nil, err
	}
	events, err := b.events(l, 4*b.Units) // more shoppers than the limiter has slots
	if err != nil {
		return nil, err
	}
	api, err := serveEvents(events)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, api.server.Close()) }()
	command := exec.Command(b.Programs + "/purchase/bootstrap") //nolint:gosec,noctx // our own program, ended below
	command.Env = append(b.environment(), "AWS_LAMBDA_RUNTIME_API="+api.address, "AWS_LAMBDA_MAX_CONCURRENCY="+fmt.Sprint(concurrency), "LOG_LEVEL=ERROR")
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("purchase: %w (make build makes it)", err)
	}
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}()
	var sizes []float64
	for range looks {
		time.Sleep(b.Load / looks)
		size, err := resident(command.Process.Pid)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, size)
	}
	api.stopped.Store(true)
	time.Sleep(100 * time.Millisecond)
	if got := api.accepted.Load(); got != int64(b.Units) || api.refused.Load() == 0 || api.other.Load() > api.refused.Load()/100 {
		return nil, fmt.Errorf("%d accepted, %d refused, %d others; want %d accepted, and refusals", got, api.refused.Load(), api.other.Load(), b.Units)
	}
	third := len(sizes) / 3
	middle, last := sizes[third:2*third], sizes[2*third:]
	return []table.Row{
		table.Alone("memory", slices.Max(sizes), fmt.Sprintf("MB resident at most, over %d invocations", api.refused.Load()+api.accepted.Load()), table.Goal{AtMost: 64}),
		table.Beside("memory", table.Median(last...), "MB resident in the last third of the time", "in the middle third", table.Median(middle...), table.Goal{AtMost: 1.1}),
	}, nil
}

// environment is what a deployed function is told.
func (b *bench) environment() []string {
	return b.parts.Environment(own, b.provider.Issuer(), audience, b.jwks)
}
