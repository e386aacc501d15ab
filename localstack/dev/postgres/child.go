package postgres

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	embedded "github.com/fergusstrange/embedded-postgres"
)

// downloadLimit bounds the library's download, which knows no deadline of its own.
const downloadLimit = 3 * time.Minute

// startAttempts covers two servers that chose the same free port at once.
const startAttempts = 3

// Child is the child process: it starts PostgreSQL below the folder named by its
// argument, reports its address on standard output, and stops it when standard
// input ends. It returns the exit code.
func Child(arguments []string) int {
	if len(arguments) != 1 {
		return fail(errors.New("the child needs one argument, its folder"))
	}
	folder := arguments[0]
	if err := becomeOrdinary(folder); err != nil {
		return fail(err)
	}
	// The parent's end, by closing the pipe, is the only thing that stops us.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	r, err := newRun(folder)
	if err != nil {
		return fail(err)
	}
	defer r.remove()
	reap(folder)

	parentGone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(parentGone)
	}()
	started := make(chan error, 1)
	go func() { started <- r.start() }()

	select {
	case err = <-started:
	case <-parentGone:
		if r.untouched() { // still downloading: nothing runs yet
			return 0
		}
		err = <-started
	}
	if err != nil {
		return fail(err)
	}
	answer(report{URL: r.url})
	<-parentGone
	if err := r.server.Stop(); err != nil {
		fmt.Fprintf(os.Stderr, "embedded postgresql: stop: %v\n", err)
		return 1
	}
	return 0
}

func fail(err error) int {
	// The library adds PostgreSQL's own log, over many lines.
	answer(report{Error: strings.Join(strings.Fields(err.Error()), " ")})
	return 1
}

func answer(r report) {
	line, _ := json.Marshal(r) // two strings always marshal
	fmt.Println(string(line))
}

// becomeOrdinary makes the folder and, as root, gives it to nobody and becomes
// nobody. The folder lies where everybody may write, so one that somebody else
// made is refused.
func becomeOrdinary(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("folder: %w", err)
	}
	if os.Geteuid() == 0 {
		uid, gid, err := nobody()
		if err != nil {
			return err
		}
		info, err := os.Lstat(folder)
		if err != nil {
			return fmt.Errorf("folder: %w", err)
		}
		// Only a folder of root's own is handed over, never somebody's link.
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid == 0 && info.IsDir() {
			if err := os.Chown(folder, uid, gid); err != nil {
				return fmt.Errorf("folder: %w", err)
			}
		}
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(gid), syscall.Setuid(uid)); err != nil {
			return fmt.Errorf("become nobody: %w", err)
		}
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return fmt.Errorf("folder: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not a folder of user %d alone: remove it", folder, os.Geteuid())
	}
	return nil
}

func nobody() (uid, gid int, err error) {
	u, err := user.Lookup("nobody")
	if err != nil {
		return 0, 0, fmt.Errorf("running as root needs the user nobody: %w", err)
	}
	uid, err = strconv.Atoi(u.Uid)
	if err != nil {
		return 0, 0, fmt.Errorf("user nobody: %w", err)
	}
	gid, err = strconv.Atoi(u.Gid)
	return uid, gid, err
}

// start downloads the binaries if they are not there yet and starts the server.
func (r *run) start() error {
	http.DefaultClient.Timeout = downloadLimit // what the library downloads with
	unlock, err := r.prepareBinaries()
	if err != nil {
		return err
	}
	defer unlock()
	password := rand.Text()
	for attempt := 1; ; attempt++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		server := embedded.NewDatabase(r.config(port, password))
		err = server.Start()
		if err == nil {
			r.server = server
			r.url = fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/flashsale?sslmode=disable", password, port)
			return r.markComplete()
		}
		if !r.downloaded() {
			return fmt.Errorf("PostgreSQL is not in %s and could not be downloaded "+
				"(set DATABASE_URL, or start once with a network): %w", r.shared, err)
		}
		if attempt == startAttempts {
			return err
		}
	}
}

func (r *run) config(port uint32, password string) embedded.Config {
	return embedded.DefaultConfig().
		Port(port).Database("flashsale").Username("postgres").Password(password).
		CachePath(r.downloads()).BinariesPath(r.binaries()).
		RuntimePath(filepath.Join(r.path, "runtime")).DataPath(r.data()).
		Locale("C").Encoding("UTF8").Logger(io.Discard).StartTimeout(time.Minute).
		StartParameters(map[string]string{
			"listen_addresses": "127.0.0.1", "unix_socket_directories": "",
			"max_connections": "100", "shared_buffers": "64MB",
			// The data live as long as this run, so nothing must survive a crash.
			"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
		})
}

func freePort() (uint32, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // local and instant
	if err != nil {
		return 0, fmt.Errorf("free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	return uint32(l.Addr().(*net.TCPAddr).Port), nil //nolint:gosec,forcetypeassert // a TCP port
}
