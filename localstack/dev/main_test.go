package main_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/localstack/servers"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	broken := writeFile(t, `{"id":0,"name":"","items":[]}`)

	for name, test := range map[string]struct {
		args []string
		env  []string
		want string
	}{
		"port taken":       {[]string{"-port", port}, nil, "address already in use"},
		"no port":          {[]string{"-port", "65536"}, nil, "65536"},
		"port is text":     {[]string{"-port", "x"}, nil, "x"},
		"unknown flag":     {[]string{"-prot", "1"}, nil, "prot"},
		"unknown argument": {[]string{"sale.json"}, nil, "sale.json"},
		"no sale file":     {[]string{"-sale", "/nonexistent"}, nil, "/nonexistent"},
		"broken sale":      {[]string{"-sale", broken}, nil, "name must have 1 to 200 characters"},
		"not JSON":         {[]string{"-sale", writeFile(t, "{")}, nil, "sale file"},
		"tick":             {nil, []string{"DEV_TICK=0"}, "DEV_TICK"},
		"log":              {nil, []string{"DEV_LOG=loud"}, "DEV_LOG"},
		"redis away":       {nil, []string{"REDIS_URL=redis://:hidden@127.0.0.1:1/0"}, "redis (REDIS_URL, 127.0.0.1:1) is not reachable"},
		"redis nonsense":   {nil, []string{"REDIS_URL=http://u:hidden@x"}, "REDIS_URL"},
		"kafka away":       {nil, []string{"KAFKA_BROKERS=127.0.0.1:1"}, "kafka (KAFKA_BROKERS, 127.0.0.1:1) is not reachable"},
		"postgres away":    {nil, []string{"DATABASE_URL=postgres://u:hidden@127.0.0.1:1/x"}, "postgresql (DATABASE_URL, 127.0.0.1:1/x) is not reachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := test.args
			if len(args) == 0 || args[0] == "-sale" {
				args = append([]string{"-port", "0"}, args...)
			}
			c := command(t, test.env, args...)
			var stdout, stderr bytes.Buffer
			c.Stdout, c.Stderr = &stdout, &stderr
			err := c.Run()
			if code := c.ProcessState.ExitCode(); code != 1 {
				t.Errorf("exit code %d (%v), want 1", code, err)
			}
			line, rest, _ := strings.Cut(stderr.String(), "\n")
			if !strings.HasPrefix(line, "dev: ") || !strings.Contains(line, test.want) || rest != "" {
				t.Errorf("stderr = %q, want one line with %q", stderr.String(), test.want)
			}
			if text := stdout.String() + stderr.String(); strings.Contains(text, "hidden") || strings.Contains(text, "ready http") {
				t.Errorf("output = %s", text)
			}
		})
	}
}

// However far a start has come, an interrupt ends it well.
func TestInterruptedStart(t *testing.T) {
	t.Parallel()
	// By the lines that have been printed: what they name is up.
	for lines, during := range map[int]string{1: "kafka", 2: "postgresql", 3: "migrations"} {
		t.Run(during, func(t *testing.T) {
			t.Parallel()
			c := command(t, nil, "-port", "0")
			var stderr bytes.Buffer
			c.Stderr = &stderr
			output, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			for scan := bufio.NewScanner(output); lines > 0 && scan.Scan(); lines-- {
			}
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			if err := c.Wait(); err != nil {
				t.Errorf("%v, stderr: %q", err, stderr.String())
			}
		})
	}
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	file, saleID, itemID := saleFile(t)
	d := start(t, []string{"DEV_TICK=100ms", "ALLOWED_ORIGINS=https://shop.example"}, "-sale", file)
	want := []string{"redis embedded 127.0.0.1:", "kafka embedded 127.0.0.1:", "postgresql embedded 127.0.0.1:"}
	for i, line := range d.lines {
		if len(d.lines) != len(want) || !strings.HasPrefix(strings.Join(strings.Fields(line), " "), want[i]) {
			t.Fatalf("first lines = %q, want %q", d.lines, want)
		}
	}
	sells(t, d, saleID, itemID)
	answers(t, d, saleID)
	d.stop(t, syscall.SIGTERM)
}

func TestDemoSale(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	_, config := d.call(t, http.MethodGet, "/config.json", "", "")
	id, _ := config["saleId"].(float64)
	status, sale := d.call(t, http.MethodGet, fmt.Sprintf("/api/flash-sales/%.0f", id), "", "")
	if items, _ := sale["items"].([]any); status != http.StatusOK || len(items) == 0 || sale["name"] != "Demo sale" {
		t.Errorf("the page's sale: %d %v", status, sale)
	}
	d.stop(t, syscall.SIGINT)
}

// The port is taken from the first moment, but nothing is promised before all is up.
func TestHealth(t *testing.T) {
	t.Parallel()
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	d := &dev{url: "http://localhost:" + port, stderr: new(bytes.Buffer), command: command(t, nil, "-port", port)}
	d.command.Stderr = d.stderr
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.command.Process.Kill() })
	seen := make(map[int]int)
	for deadline := time.Now().Add(time.Minute); seen[http.StatusOK] == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+port, time.Second)
		if err != nil {
			continue
		}
		_ = conn.Close()
		status, _ := d.call(t, http.MethodGet, "/healthz", "", "")
		seen[status]++
	}
	if seen[http.StatusServiceUnavailable] == 0 || seen[http.StatusOK] == 0 || len(seen) != 2 {
		t.Errorf("statuses = %v, want 503 and then 200; stderr: %s", seen, d.stderr)
	}
	d.stop(t, syscall.SIGHUP)
}

// ownRedis is one of a server's numbered databases: the catalog's key has no sale in
// its name, so development servers on different PostgreSQL databases would take each
// other's.
func ownRedis(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(servers.RedisURL(t))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = fmt.Sprintf("/%d", 1+servers.SaleID()%15)
	return u.String()
}

func TestReal(t *testing.T) {
	t.Parallel()
	env := []string{
		"REDIS_URL=" + ownRedis(t),
		"KAFKA_BROKERS=" + strings.Join(servers.KafkaBrokers(t), ","),
		"DATABASE_URL=" + servers.Database(t, "dev-empty", func(context.Context, string) error { return nil }),
		"KAFKA_ORDERS_TOPIC=" + servers.Topic(t, "dev-orders", 2),
		"KAFKA_DEAD_LETTER_TOPIC=" + servers.Topic(t, "dev-letters", 1),
		"KAFKA_GROUP=" + fmt.Sprintf("dev-%d", servers.SaleID()),
		"DEV_TICK=100ms",
	}
	file, saleID, itemID := saleFile(t)
	d := start(t, env, "-sale", file)
	for _, line := range d.lines {
		if fields := strings.Fields(line); len(fields) != 3 || fields[1] != "real" {
			t.Errorf("line %q, want a real server", line)
		}
	}
	// A second server on the same ones: the same sale is no news, and both sell it.
	second := start(t, env, "-sale", file)
	sells(t, second, saleID, itemID)
	second.stop(t, syscall.SIGTERM)
	if status, answer := d.call(t, http.MethodPost, fmt.Sprintf("/api/flash-sales/items/%d/purchase", itemID), d.login(t, "late"), ""); status != http.StatusGone {
		t.Errorf("the first server: %d %v, want 410", status, answer)
	}
	d.stop(t, syscall.SIGTERM)

	// A different description of the same sale is refused in one line.
	other := writeFile(t, strings.Replace(read(t, file), "Thing", "Other", 1))
	c := command(t, env, "-port", "0", "-sale", other)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	_ = c.Run()
	if text := stderr.String(); c.ProcessState.ExitCode() != 1 || !strings.Contains(text, "SALE_EXISTS") || strings.Count(text, "\n") != 1 {
		t.Errorf("exit code %d, stderr %q, want SALE_EXISTS", c.ProcessState.ExitCode(), text)
	}
}
