package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"flashsale/localstack/servers"
)

// binary builds the development server once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "flashsale-dev-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "dev")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, ".") //nolint:noctx // bounded by the test
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// command runs the server with the environment of this process, but for what names
// servers, and with the given variables.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	c := exec.Command(path, args...) //nolint:gosec,noctx // our own binary, stopped by the test
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		switch name {
		case "REDIS_URL", "KAFKA_BROKERS", "DATABASE_URL", "DEV_TICK", "DEV_LOG":
		default:
			c.Env = append(c.Env, variable)
		}
	}
	c.Env = append(c.Env, env...)
	return c
}

// A dev is a running development server.
type dev struct {
	command *exec.Cmd
	url     string   // without a slash at the end
	lines   []string // before "ready"
	stderr  *bytes.Buffer
}

var ready = regexp.MustCompile(`^ready (http://localhost:\d+)/$`)

// start returns when the server is ready.
func start(t *testing.T, env []string, args ...string) *dev {
	t.Helper()
	d := &dev{command: command(t, env, append([]string{"-port", "0"}, args...)...), stderr: new(bytes.Buffer)}
	d.command.Stderr = d.stderr
	output, err := d.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // a failed test must not leave it running
		_ = d.command.Process.Signal(syscall.SIGTERM)
		_ = d.command.Wait()
	})
	for scan := bufio.NewScanner(output); scan.Scan(); {
		if m := ready.FindStringSubmatch(scan.Text()); m != nil {
			d.url = m[1]
			return d
		}
		if !strings.Contains(scan.Text(), "downloading once") { // on a fresh machine
			d.lines = append(d.lines, scan.Text())
		}
	}
	t.Fatalf("not ready: %q, stderr: %s", d.lines, d.stderr)
	return nil
}

// stop ends the server as Ctrl-C or a supervisor does and checks that nothing is left.
func (d *dev) stop(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := d.command.Process.Signal(signal); err != nil {
		t.Fatalf("signal: %v", err)
	}
	if err := d.command.Wait(); err != nil {
		t.Errorf("after %s: %v, stderr: %s", signal, err, d.stderr)
	}
	for _, line := range append(d.lines, "server   embedded "+strings.TrimPrefix(d.url, "http://")) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[1] != "embedded" {
			continue
		}
		address, _, _ := strings.Cut(fields[2], "/")
		if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			_ = conn.Close()
			t.Errorf("%s still answers at %s", fields[0], address)
		}
	}
}

// call makes a JSON request and returns the status and the answer.
func (d *dev) call(t *testing.T, method, path, token string, body string) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%s %s: %d %s: %v", method, path, response.StatusCode, text, err)
	}
	return response.StatusCode, answer
}

func (d *dev) login(t *testing.T, user string) string {
	t.Helper()
	status, answer := d.call(t, http.MethodPost, "/dev/login", "", `{"user":"`+user+`"}`)
	token, ok := answer["token"].(string)
	if status != http.StatusOK || !ok {
		t.Fatalf("login: %d %v", status, answer)
	}
	return token
}

// saleFile writes a sale that is open already.
func saleFile(t *testing.T) (path string, saleID uint32, itemID int64) {
	t.Helper()
	saleID, itemID = servers.SaleID(), servers.ItemID()
	text := fmt.Sprintf(`{"id":%d,"name":"Test","opensAt":"-1s","closesAt":"+1h","items":[
		{"id":%d,"productId":1,"name":"Thing","quantity":1,"price":"19.99","currency":"EUR"}]}`, saleID, itemID)
	return writeFile(t, text), saleID, itemID
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sale.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // the test's own
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
