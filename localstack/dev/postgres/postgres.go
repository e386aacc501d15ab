// Package postgres runs an embedded PostgreSQL that needs nothing but Go.
//
// It promises that the server never outlives its user for long. PostgreSQL runs
// under a child process, this same binary started again, which stops it as soon as
// the pipe to its parent closes, however the parent died. Where the child was
// killed too, the next start stops the server and removes its folder. As root the
// child becomes the user nobody, because PostgreSQL refuses to run as root.
package postgres

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// ChildArgument is the first argument of a process that must call [Child].
const ChildArgument = "embedded-postgres"

// stopPatience bounds how long a stop waits for the child. PostgreSQL itself takes
// well under a second; a download in progress is given up at once.
const stopPatience = 20 * time.Second

// report is the one line that the child writes to its output.
type report struct {
	URL   string `json:"url,omitempty"`
	Error string `json:"error,omitempty"`
}

// A Server is a running PostgreSQL with an empty database.
type Server struct {
	url   string
	child *exec.Cmd
	pipe  io.Closer // closing it tells the child to stop
	done  chan struct{}
	err   error // why the child ended; set before done is closed
}

// Folder is where everything of this user's embedded servers lies: binaries, shared
// by all, and a folder per run. It is no home folder, because nobody cannot read
// root's.
func Folder() string {
	return filepath.Join("/var/tmp", fmt.Sprintf("flashsale-dev-%d", os.Getuid()))
}

// Start starts a server below folder and returns when it accepts connections. The
// first start downloads the binaries (15 MB); notices go to log, one line each.
func Start(ctx context.Context, folder string, log io.Writer) (*Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("postgres: own binary: %w", err)
	}
	// Not CommandContext: an interrupt must let the child stop its server.
	child := exec.Command(self, ChildArgument, folder) //nolint:gosec,noctx // our own binary
	child.Dir = "/"                                    // nobody may not even enter the current folder
	child.Stderr = log
	// A group of its own, so that Ctrl-C in a terminal reaches only the parent.
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := child.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("postgres: pipe: %w", err)
	}
	output, err := child.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("postgres: pipe: %w", err)
	}
	if err := child.Start(); err != nil {
		return nil, fmt.Errorf("postgres: start child: %w", err)
	}
	s := &Server{child: child, pipe: pipe, done: make(chan struct{})}

	first := make(chan report, 1)
	go func() {
		line, _ := bufio.NewReader(output).ReadBytes('\n')
		r := report{Error: "the child process ended before the server was up"}
		_ = json.Unmarshal(line, &r)
		if r.URL != "" {
			r.Error = ""
		}
		first <- r
		s.err = child.Wait()
		close(s.done)
	}()
	select {
	case r := <-first:
		if r.Error != "" {
			_ = s.Stop()
			return nil, errors.New("postgres: " + r.Error)
		}
		s.url = r.URL
		return s, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), s.Stop())
	}
}

// URL is the database's address, password included.
func (s *Server) URL() string { return s.url }

// Done is closed when the server is gone, asked for or not.
func (s *Server) Done() <-chan struct{} { return s.done }

// Stop stops the server, removes its files and returns when both is done.
func (s *Server) Stop() error {
	_ = s.pipe.Close()
	select {
	case <-s.done:
		if s.err != nil {
			return fmt.Errorf("postgres: child: %w", s.err)
		}
		return nil
	case <-time.After(stopPatience):
		_ = s.child.Process.Kill()
		<-s.done
		return fmt.Errorf("postgres: not stopped within %s; the next start cleans up", stopPatience)
	}
}
