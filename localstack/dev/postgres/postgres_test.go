package postgres_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"flashsale/localstack/dev/postgres"
)

// parentArgument makes the test binary a parent that can be killed: it starts a
// server, prints its address and waits.
const parentArgument = "test-parent"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == postgres.ChildArgument {
		os.Exit(postgres.Child(os.Args[2:]))
	}
	if len(os.Args) == 3 && os.Args[1] == parentArgument {
		os.Exit(parent(os.Args[2]))
	}
	os.Exit(m.Run())
}

func parent(folder string) int {
	s, err := postgres.Start(context.Background(), folder, os.Stderr)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println(s.URL())
	<-s.Done()
	return 0
}

func TestServer(t *testing.T) {
	t.Parallel()
	folder := postgres.Folder()
	first, second := start(t, folder), start(t, folder)
	if first.URL() == second.URL() {
		t.Fatalf("two servers share the address %s", first.URL())
	}
	for _, s := range []*postgres.Server{first, second} {
		conn, err := pgx.Connect(t.Context(), s.URL())
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		var encoding string
		if err := conn.QueryRow(t.Context(), "SHOW server_encoding").Scan(&encoding); err != nil || encoding != "UTF8" {
			t.Errorf("encoding = %q, %v; want UTF8", encoding, err)
		}
		if _, err := conn.Exec(t.Context(), "CREATE TABLE own (id int)"); err != nil {
			t.Errorf("the databases are not separate: %v", err)
		}
		_ = conn.Close(t.Context())
	}
	if err := first.Stop(); err != nil {
		t.Fatalf("stop: %v", err)
	}
	if answers(first.URL()) {
		t.Error("a stopped server still has its port")
	}
	if !answers(second.URL()) {
		t.Error("stopping one server stopped the other")
	}
}

func TestParentKilled(t *testing.T) {
	t.Parallel()
	command, address := startParent(t, postgres.Folder())
	_ = command.Process.Kill()
	_ = command.Wait()
	eventually(t, "the server ends after its parent", func() bool { return !answers(address) })
}

// Not parallel: any other start would reap the orphan before it is looked at.
func TestChildKilledToo(t *testing.T) {
	folder := postgres.Folder()
	command, address := startParent(t, folder)
	child := childOf(t, command.Process.Pid)
	// The child first: nobody is left who could stop the server.
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		t.Fatalf("kill child: %v", err)
	}
	_ = command.Process.Kill()
	_ = command.Wait()
	if !answers(address) {
		t.Fatal("the server is gone already, so this test shows nothing")
	}
	s := start(t, folder)
	if answers(address) {
		t.Error("the next start left the orphan running")
	}
	if !answers(s.URL()) {
		t.Error("the next start reaped itself")
	}
}

// Not parallel: the environment changes.
func TestOffline(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	folder := freshFolder(t)
	_, err := postgres.Start(t.Context(), folder, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "could not be downloaded (set DATABASE_URL") {
		t.Errorf("err = %v, want advice", err)
	}
	if err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "run-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestForeignFolder(t *testing.T) {
	t.Parallel()
	folder := freshFolder(t)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o777); err != nil { //nolint:gosec // that is the point
		t.Fatal(err)
	}
	if _, err := postgres.Start(t.Context(), folder, io.Discard); err == nil {
		t.Error("a folder that everybody may write was used")
	}
}

// freshFolder is not t.TempDir: nobody may not enter that one.
func freshFolder(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp("/var/tmp", "flashsale-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	if err := os.Chmod(parent, 0o755); err != nil { //nolint:gosec // for nobody
		t.Fatal(err)
	}
	return filepath.Join(parent, "folder")
}

func start(t *testing.T, folder string) *postgres.Server {
	t.Helper()
	s, err := postgres.Start(t.Context(), folder, os.Stderr)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

func startParent(t *testing.T, folder string) (*exec.Cmd, string) {
	t.Helper()
	command := exec.Command(os.Args[0], parentArgument, folder) //nolint:gosec,noctx // ourselves
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	var address string
	if _, err := fmt.Fscanln(output, &address); err != nil || !strings.HasPrefix(address, "postgres://") {
		t.Fatalf("the parent said %q, %v", address, err)
	}
	return command, address
}

func childOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err == nil && strings.TrimSpace(string(text)) == "" {
		// The thread that forked need not be the first one.
		var all []string
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, task := range tasks {
			one, _ := os.ReadFile(task) //nolint:gosec // /proc
			all = append(all, strings.Fields(string(one))...)
		}
		text = []byte(strings.Join(all, " "))
	}
	var child int
	if _, err := fmt.Sscan(string(text), &child); err != nil {
		t.Skipf("LEFT OUT: this system does not list a process' children: %v", err)
	}
	return child
}

func answers(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	conn, err := net.DialTimeout("tcp", u.Host, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}
