package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	embedded "github.com/fergusstrange/embedded-postgres"
)

// reapPatience bounds the wait for a leftover server to end.
const reapPatience = 5 * time.Second

// A run is one server's own folder, locked for as long as its child lives. The
// binaries beside it are shared.
//
//	<folder>/postgres-<version>/   the shared part: files/, download/ and scratch
//	                               files until "complete" exists
//	<folder>/run-<random>/         lock, data and scratch files of one run
type run struct {
	folder string
	shared string
	path   string
	lock   *os.File

	server *embedded.EmbeddedPostgres
	url    string
}

func newRun(folder string) (*run, error) {
	// Whoever reaps must not see the new folder before its lock is held.
	unlock, err := lockFile(filepath.Join(folder, "runs.lock"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer unlock.release()
	path, err := os.MkdirTemp(folder, "run-")
	if err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	lock, err := lockFile(filepath.Join(path, "lock"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	// The library and initdb leave scratch files behind.
	if err := os.Setenv("TMPDIR", path); err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	shared := filepath.Join(folder, "postgres-"+string(embedded.V18))
	return &run{folder: folder, shared: shared, path: path, lock: lock.file}, nil
}

func (r *run) data() string      { return filepath.Join(r.path, "data") }
func (r *run) binaries() string  { return filepath.Join(r.shared, "files") }
func (r *run) downloads() string { return filepath.Join(r.shared, "download") }
func (r *run) complete() string  { return filepath.Join(r.shared, "complete") }
func (r *run) remove()           { _ = os.RemoveAll(r.path); _ = r.lock.Close() }

// untouched tells that neither initdb nor the server has been started.
func (r *run) untouched() bool {
	_, err := os.Stat(r.data())
	return err != nil
}

// downloaded tells that the library has unpacked what it starts PostgreSQL with.
func (r *run) downloaded() bool {
	_, err := os.Stat(filepath.Join(r.binaries(), "bin", "pg_ctl"))
	return err == nil
}

// prepareBinaries holds the download lock until the first start has shown that
// the binaries are whole. What a killed first start left is thrown away.
func (r *run) prepareBinaries() (unlock func(), err error) {
	lock, err := lockFile(filepath.Join(r.folder, "download.lock"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(r.complete()); err == nil {
		lock.release()
		return func() {}, nil
	}
	fmt.Fprintf(os.Stderr, "postgresql  downloading once, to %s\n", r.shared)
	if err := os.RemoveAll(r.shared); err != nil {
		lock.release()
		return nil, fmt.Errorf("clean up a broken download: %w", err)
	}
	return lock.release, nil
}

func (r *run) markComplete() error {
	if err := os.WriteFile(r.complete(), nil, 0o600); err != nil {
		return errors.Join(fmt.Errorf("mark download: %w", err), r.server.Stop())
	}
	_ = os.RemoveAll(r.downloads()) // unpacked, so only waste
	return nil
}

type heldLock struct{ file *os.File }

func (l heldLock) release() { _ = l.file.Close() }

func lockFile(path string, how int) (heldLock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // below our own folder
	if err != nil {
		return heldLock{}, fmt.Errorf("lock: %w", err)
	}
	// PostgreSQL does not inherit the lock: Go opens files close-on-exec.
	if err := syscall.Flock(int(f.Fd()), how); err != nil { //nolint:gosec // a file descriptor
		_ = f.Close()
		return heldLock{}, fmt.Errorf("lock %s: %w", path, err)
	}
	return heldLock{f}, nil
}

// reap stops the servers of runs whose child is dead and removes their folders. It
// does its best: what fails now is tried by the next start.
func reap(folder string) {
	all, err := lockFile(filepath.Join(folder, "runs.lock"), syscall.LOCK_EX)
	if err != nil {
		return
	}
	defer all.release()
	leftovers, _ := filepath.Glob(filepath.Join(folder, "run-*"))
	for _, path := range leftovers {
		lock, err := lockFile(filepath.Join(path, "lock"), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			continue // alive
		}
		if kill(filepath.Join(path, "data")) {
			_ = os.RemoveAll(path)
		}
		lock.release()
	}
}

// kill ends the server of a data folder, if there is one, and tells whether none is
// left. A process id may have been given to somebody else since, so the process
// must name the folder on its command line.
func kill(data string) bool {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid")) //nolint:gosec // below our own folder
	if err != nil {
		return true
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 {
		return true
	}
	for deadline := time.Now().Add(reapPatience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if !bytes.Contains(commandLine(pid), []byte(data)) {
			return true
		}
		_ = syscall.Kill(pid, syscall.SIGQUIT) // PostgreSQL's immediate shutdown
	}
	return false
}

func commandLine(pid int) []byte {
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		return line
	}
	line, _ := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output() //nolint:gosec,noctx // a number
	return line
}
