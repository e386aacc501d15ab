// Package emulator runs one function's program in the Lambda runtime interface emulator, the one
// that the SAM command line puts into its containers, but without a container.
//
// It promises the deployed program behind Lambda's own runtime API: what is wrong with the way a
// program starts, answers, freezes or dies shows here. It does not limit memory or CPU.
package emulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	// ErrBusy says that as many invocations as Concurrency allows are under way.
	ErrBusy = errors.New("emulator: it is busy")

	// ErrNotRoot is about a Concurrency over 1: in that mode the emulator calls setgroups, which no
	// other user may, not even as root of a user namespace.
	ErrNotRoot = errors.New("emulator: many invocations at once need root")
)

// A Function is a program and what Lambda would know of it.
type Function struct {
	Emulator    string        // path of aws-lambda-rie
	Program     string        // path of bootstrap
	Env         []string      // NAME=value; nothing else of ours reaches the program
	Timeout     time.Duration // of one invocation; 0 is 60 s
	Concurrency int           // over 1: as Lambda Managed Instances, many invocations at once
}

// managed puts the program where the emulator looks for it in that mode, and nowhere else: in a
// mount namespace of its own.
const managed = `mount -t tmpfs none /var && mkdir /var/task && mount --bind "$1" /var/task && shift && exec "$@"`

// An Environment is a running emulator. The program starts with it if Concurrency is over 1, else
// with the first invocation.
type Environment struct {
	address string
	process *exec.Cmd
	output  *output
	exited  chan struct{}
}

// Start starts the emulator. Stop must be called.
func Start(ctx context.Context, f Function) (*Environment, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	if f.Timeout == 0 {
		f.Timeout = time.Minute
	}
	e := &Environment{address: ports[0], output: new(output), exited: make(chan struct{})}
	args := []string{f.Emulator, "--runtime-interface-emulator-address", ports[0], "--runtime-api-address", ports[1], f.Program}
	if f.Concurrency > 1 {
		args[len(args)-1] = "/var/task/bootstrap"
		if os.Geteuid() != 0 {
			return nil, ErrNotRoot
		}
		args = slices.Concat([]string{"unshare", "--mount", "sh", "-c", managed, "sh", filepath.Dir(f.Program)}, args)
	}
	e.process = exec.Command(args[0], args[1:]...) //nolint:gosec,noctx // our own programs, stopped by Stop
	e.process.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "AWS_LAMBDA_FUNCTION_NAME=function",
		"AWS_LAMBDA_FUNCTION_TIMEOUT=" + strconv.Itoa(int(f.Timeout.Seconds())),
	}, f.Env...)
	if f.Concurrency > 1 {
		e.process.Env = append(e.process.Env, "AWS_LAMBDA_MAX_CONCURRENCY="+strconv.Itoa(f.Concurrency))
	}
	e.process.Stdout, e.process.Stderr = e.output, e.output
	e.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := e.process.Start(); err != nil {
		return nil, fmt.Errorf("emulator: %w", err)
	}
	go func() {
		defer close(e.exited)
		_ = e.process.Wait() // its output says more
	}()
	if err := e.awaitPort(ctx); err != nil {
		e.Stop()
		return nil, err
	}
	return e, nil
}

func (e *Environment) awaitPort(ctx context.Context) error {
	dialer := net.Dialer{Timeout: time.Second}
	for {
		conn, err := dialer.DialContext(ctx, "tcp", e.address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("emulator: %w", ctx.Err())
		case <-e.exited:
			return fmt.Errorf("emulator: ended at once: %s", e.Output())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Stop ends the emulator and the program.
func (e *Environment) Stop() {
	// The emulator does not take the program with it when it is killed.
	for _, pid := range e.programs() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = e.process.Process.Kill()
	<-e.exited
}

// Invoke sends an event. A function's own error is an error, as is an emulator that is gone.
func (e *Environment) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+e.address+"/2015-03-31/functions/function/invocations", bytes.NewReader(event))
	if err != nil {
		return nil, fmt.Errorf("emulator: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("emulator: invoke: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("emulator: invoke: %w", err)
	case response.StatusCode == http.StatusBadRequest && bytes.Contains(answer, []byte("Runtime.Unavailable")):
		return nil, ErrBusy
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("emulator: status %d: %s", response.StatusCode, answer)
	case bytes.Contains(answer, []byte(`"errorMessage"`)) && bytes.Contains(answer, []byte(`"errorType"`)):
		return nil, fmt.Errorf("function: %s", answer) // the emulator has no header for it
	case len(answer) == 0:
		return nil, errors.New("function: it ended without an answer")
	case strings.Contains(string(answer), "Task timed out after"):
		return nil, fmt.Errorf("function: %s", answer)
	}
	return answer, nil
}

// Output is what emulator and program have said so far.
func (e *Environment) Output() string { return e.output.String() }

// Program is the process of the function's program; false if there is none now.
func (e *Environment) Program() (*os.Process, bool) {
	pids := e.programs()
	if len(pids) == 0 {
		return nil, false
	}
	p, err := os.FindProcess(pids[0])
	return p, err == nil
}

// Memory is the most memory that the program has had, in bytes.
func (e *Environment) Memory() (int64, error) {
	pids := e.programs()
	if len(pids) == 0 {
		return 0, errors.New("emulator: no program runs")
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pids[0]))
	if err != nil {
		return 0, fmt.Errorf("emulator: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10, err
		}
	}
	return 0, errors.New("emulator: no VmHWM")
}

// programs are the emulator's living children.
func (e *Environment) programs() (pids []int) {
	pid := e.process.Process.Pid
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, child := range strings.Fields(string(text)) {
			if id, err := strconv.Atoi(child); err == nil && !ended(id) {
				pids = append(pids, id)
			}
		}
	}
	return pids
}

// ended is true for a zombie, which nobody has waited for yet.
func ended(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || bytes.Contains(text, []byte(") Z "))
}

func freePorts(n int) (addresses []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // local and instant
		if err != nil {
			return nil, fmt.Errorf("emulator: %w", err)
		}
		defer func() { _ = l.Close() }() // all of them at the end, so that they differ
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

// output keeps what two processes write.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
