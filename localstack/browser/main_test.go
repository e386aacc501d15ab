package browser_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// patience ends a wait for what never comes. Nothing is asserted about time.
const patience = 45 * time.Second

// What all tests share: the development server's program, one server with embedded Redis,
// Kafka and PostgreSQL, and one browser. Each shopper has a profile of its own in it.
var (
	binary  string
	folder  string
	market  *shop
	browser context.Context
)

func TestMain(m *testing.M) { os.Exit(prepareAndRun(m)) }

func prepareAndRun(m *testing.M) int {
	flag.Parse()
	if _, err := exec.LookPath("chromium"); err != nil {
		if os.Getenv("REQUIRE_SERVERS") == "1" {
			fmt.Fprintln(os.Stderr, "browser: there is no chromium; localstack/browser/install.sh brings it")
			return 1
		}
		return m.Run() // newShopper says what is left out
	}
	var err error
	if folder, err = os.MkdirTemp("", "flashsale-browser-"); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		return 1
	}
	var starting sync.WaitGroup
	var failed error
	starting.Go(func() { market, failed = openShop([]string{"DEV_TICK=200ms"}, newSale(time.Hour, 1)) })
	closeBrowser, err := openBrowser()
	starting.Wait()
	if err := errors.Join(err, failed); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		return 1
	}
	defer market.stop()
	defer closeBrowser()
	// The tests wait more than they compute, so they need not wait for a core of their own.
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		return 1
	}
	return m.Run()
}

func build() error {
	binary = filepath.Join(folder, "dev")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "flashsale/localstack/dev") //nolint:noctx // bounded by the test
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, output)
	}
	return nil
}

func openBrowser() (func(), error) {
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.Flag("lang", "en-GB"))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		return nil, fmt.Errorf("chromium: %w", err)
	}
	browser = ctx
	return func() { closeTab(); cancel() }, nil
}

// A shop is a running development server.
type shop struct {
	url     string // without a slash at the end
	process *exec.Cmd
}

var ready = regexp.MustCompile(`^ready (http://localhost:\d+)/$`)

// openShop starts a server with that sale and returns when it is ready.
func openShop(env []string, sale saleFile, args ...string) (*shop, error) {
	file, err := sale.write()
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		args = []string{"-port", "0"}
	}
	s := &shop{process: exec.Command(binary, append(args, "-sale", file)...)} //nolint:gosec,noctx // ours, stopped by the test
	s.process.Stderr = os.Stderr
	for _, variable := range os.Environ() {
		switch name, _, _ := strings.Cut(variable, "="); name {
		case "REDIS_URL", "KAFKA_BROKERS", "DATABASE_URL", "DEV_TICK", "DEV_LOG":
		default:
			s.process.Env = append(s.process.Env, variable)
		}
	}
	s.process.Env = append(s.process.Env, env...)
	output, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	stuck := time.AfterFunc(2*time.Minute, func() { _ = s.process.Process.Kill() })
	defer stuck.Stop()
	var lines []string
	for scan := bufio.NewScanner(output); scan.Scan(); {
		if found := ready.FindStringSubmatch(scan.Text()); found != nil {
			s.url = found[1]
			return s, nil
		}
		lines = append(lines, scan.Text())
	}
	return nil, fmt.Errorf("the server is not ready, it said %q", lines)
}

func (s *shop) stop() {
	_ = s.process.Process.Signal(syscall.SIGTERM)
	_ = s.process.Wait()
}

// kill ends the server in the middle of whatever it does.
func (s *shop) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}
