package drill

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"flashsale/localstack/dev/lambda"
)

// childVariable tells a copy of this program that it is a child, and what to run.
const childVariable = "FLASHSALE_DRILL_CHILD"

// IsChild tells whether this process is to call [Child] and nothing else.
func IsChild() bool { return os.Getenv(childVariable) != "" }

// Child runs all functions for a drill until it is killed.
func Child(ctx context.Context) error {
	var s setup
	if err := json.Unmarshal([]byte(os.Getenv(childVariable)), &s); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	all, err := s.open(ctx, log)
	if err != nil {
		return err
	}
	s.Failure.arm(all.Redis)
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // local and instant
	if err != nil {
		return err
	}
	s.work(ctx, all.Functions(), log)
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: lambda.Handler(all.Functions(), log), ReadHeaderTimeout: time.Second}
	return server.Serve(listener)
}

// A child is a process that runs the functions. When it dies the next one starts, as Lambda would.
type child struct {
	setup    setup
	failures []failpoint
	log      *slog.Logger

	mu      sync.Mutex
	command *exec.Cmd
	url     string
	deaths  int
	closed  bool
	ended   chan struct{}
}

// start runs children one after the other, each with the next failpoint, the last ones with none.
func start(ctx context.Context, s setup, failures []failpoint, log *slog.Logger) (*child, error) {
	c := &child{setup: s, failures: failures, log: log, ended: make(chan struct{})}
	if err := c.spawn(); err != nil {
		return nil, err
	}
	go c.keep(ctx)
	return c, nil
}

func (c *child) spawn() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.New("closed")
	}
	s := c.setup
	if len(c.failures) > 0 {
		s.Failure, c.failures = c.failures[0], c.failures[1:]
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(self) //nolint:gosec,noctx // ourselves
	command.Env = append(os.Environ(), childVariable+"="+string(text))
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = command.Process.Kill()
		_ = command.Wait()
		return fmt.Errorf("child: %w", err)
	}
	c.command, c.url = command, "http://"+strings.TrimSpace(line)
	return nil
}

func (c *child) keep(ctx context.Context) {
	defer close(c.ended)
	for {
		_ = c.command.Wait() // only spawn, below, changes it
		c.mu.Lock()
		c.deaths++
		closed := c.closed
		c.mu.Unlock()
		if closed || ctx.Err() != nil {
			return
		}
		if err := c.spawn(); err != nil {
			c.log.ErrorContext(ctx, "child", "error", err)
			return
		}
	}
}

func (c *child) close() {
	c.mu.Lock()
	c.closed = true
	_ = c.command.Process.Kill()
	c.mu.Unlock()
	<-c.ended
}

func (c *child) signal(sig syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.command.Process.Signal(sig)
}

func (c *child) died() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deaths
}

// invoke calls a function in the child. A child that dies meanwhile is an error: nobody knows.
func (c *child) invoke(ctx context.Context, function string, event []byte) ([]byte, error) {
	c.mu.Lock()
	url := c.url
	c.mu.Unlock()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/2015-03-31/functions/"+function+"/invocations", bytes.NewReader(event))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if failure := response.Header.Get("X-Amz-Function-Error"); err == nil && failure != "" {
		err = errors.New(string(text))
	}
	return text, err
}
