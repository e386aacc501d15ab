package e2e_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/localstack/openapi"
	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/shoptest"
)

// patience ends a wait for what never comes. Nothing is asserted about time.
const patience = time.Minute

var (
	binary      string               // the development server, built by TestMain
	description *openapi.Description // every answer is held against it
)

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	template, err := os.ReadFile("../../template.yaml")
	if err == nil {
		description, err = openapi.Read(template)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	folder, err := os.MkdirTemp("", "flashsale-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	binary = filepath.Join(folder, "dev")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "flashsale/localstack/dev") //nolint:noctx // bounded by the test
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "e2e: build: %v: %s\n", err, output)
		return 1
	}
	// The tests wait more than they compute, so they need not wait for a core of their own.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	return m.Run()
}

// ours are the variables that choose the servers; a test's own must win over those
// that the environment has.
var ours = []string{
	"REDIS_URL", "KAFKA_BROKERS", "DATABASE_URL", "KAFKA_ORDERS_TOPIC", "KAFKA_DEAD_LETTER_TOPIC", "KAFKA_GROUP",
	"DEV_TICK", "DEV_LOG", "ALLOWED_ORIGINS", "PURCHASE_LIMIT",
}

// backends are the real servers' parts that belong to one test.
type backends struct{ redisURL, databaseURL, orders, letters, group, brokers string }

// openBackends makes them; they are gone when the test ends.
func openBackends(t *testing.T) backends {
	t.Helper()
	return backends{
		redisURL:    servers.RedisDatabase(t),
		brokers:     strings.Join(servers.KafkaBrokers(t), ","),
		databaseURL: servers.Database(t, migrations.Hash(), shoptest.Migrate),
		orders:      servers.Topic(t, "e2e-orders", 3),
		letters:     servers.Topic(t, "e2e-letters", 1),
		group:       fmt.Sprintf("e2e-%d", servers.SaleID()),
	}
}

func (b backends) env() []string {
	return []string{
		"REDIS_URL=" + b.redisURL, "KAFKA_BROKERS=" + b.brokers, "DATABASE_URL=" + b.databaseURL,
		"KAFKA_ORDERS_TOPIC=" + b.orders, "KAFKA_DEAD_LETTER_TOPIC=" + b.letters, "KAFKA_GROUP=" + b.group,
		"DEV_TICK=200ms",
		"PURCHASE_LIMIT=100/1s", // the tests press faster than a page
	}
}

// A shop is a running development server.
type shop struct {
	url     string // without a slash at the end
	http    *http.Client
	process *exec.Cmd
	stderr  string // the file
}

var ready = regexp.MustCompile(`^ready (http://localhost:\d+)/$`)

// open starts a server with that sale on a free port and returns when it is ready.
// It ends with the test, if it has not before.
func open(t *testing.T, env []string, sale saleFile) *shop {
	t.Helper()
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stderr.Close() }()
	s := &shop{
		process: exec.Command(binary, "-port", "0", "-sale", sale.write(t)), //nolint:noctx // stopped by the test
		stderr:  stderr.Name(),
		// A thousand shoppers share the sockets of a few.
		http: &http.Client{Transport: &http.Transport{MaxConnsPerHost: 128, MaxIdleConnsPerHost: 128}, Timeout: patience},
	}
	s.process.Stderr = stderr
	s.process.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(ours, name)
	}), env...)
	output, err := s.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.cleanUp(t) })
	stuck := time.AfterFunc(patience, func() { _ = s.process.Process.Kill() })
	defer stuck.Stop()
	var lines []string
	for scan := bufio.NewScanner(output); scan.Scan(); {
		if found := ready.FindStringSubmatch(scan.Text()); found != nil {
			s.url = found[1]
			return s
		}
		lines = append(lines, scan.Text())
	}
	t.Fatalf("the server is not ready, it said %q", lines)
	return nil
}

// stop ends the server as a supervisor does.
func (s *shop) stop(t *testing.T) {
	t.Helper()
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("SIGTERM: %v", err)
	}
	if err := s.process.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v, want exit code 0", err)
	}
}

// kill ends the server in the middle of whatever it does.
func (s *shop) kill() error { return s.process.Process.Kill() }

// killed waits until the server has died of it.
func (s *shop) killed(t *testing.T) {
	t.Helper()
	var exit *exec.ExitError
	if err := s.process.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the server ended by %v, want a kill", err)
	}
}

func (s *shop) cleanUp(t *testing.T) {
	s.http.CloseIdleConnections()
	if s.process.ProcessState == nil {
		s.stop(t)
	}
	if text, err := os.ReadFile(s.stderr); t.Failed() && err == nil {
		t.Logf("the server's standard error ends with\n%s", text[max(0, len(text)-4000):])
	}
}

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ask(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
	}
}
