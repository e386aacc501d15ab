package measure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/localstack/bench/measure"
	"flashsale/localstack/bench/rival"
	"flashsale/localstack/bench/table"
	"flashsale/localstack/servers"
)

const root = "../../.."

// TestMain lets this program be a rival, as the command's own is.
func TestMain(m *testing.M) {
	if rival.IsRival() {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		err := rival.Serve(ctx)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestBench takes all figures once, small. What they are is nobody's business here.
func TestBench(t *testing.T) {
	t.Parallel()
	servers.RedisURL(t)
	servers.KafkaBrokers(t)
	servers.DatabaseURL(t)
	if _, err := exec.LookPath("redis-benchmark"); err != nil {
		t.Skip("left out: there is no redis-benchmark (the Redis server is a container)")
	}
	rows, err := measure.All(t.Context(), measure.Sizes{
		Rounds: 1, Refusals: 20_000, Asked: 200, Reserves: 500, Callers: 32, Orders: 300, OneByOne: 20,
		Shoppers: 2000, Units: 100, HTTPShoppers: 300, HTTPUnits: 50, Doors: 8, HTTPRounds: 1, Refusing: 50 * time.Millisecond,
		Load: time.Second, Starts: 1, Functions: []string{"purchase"}, BenchmarkedClients: 4,
	}, tools(t), nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Check(rows); err != nil {
		t.Error(err)
	}
	peers := map[string][]string{}
	for _, r := range rows {
		switch {
		case r.Value < 0 || r.Value == 0 && r.Unit != "allocations of a refusal":
			t.Errorf("%s: got %v %s", r.Name, r.Value, r.Unit)
		case r.Ratio != nil && (*r.PeerValue <= 0 || *r.Ratio != r.Value / *r.PeerValue):
			t.Errorf("%s: got ratio %v, want %v / %v", r.Name, *r.Ratio, r.Value, *r.PeerValue)
		}
		if r.Peer != nil {
			peers[r.Name] = append(peers[r.Name], *r.Peer)
		}
	}
	for name, first := range map[string]string{
		"refusal": "verify the token and ask Redis", "reserve": "redis-benchmark -P 16", "writer": "bare batched INSERT", "http": rival.Article,
	} {
		if len(peers[name]) == 0 || peers[name][0] != first {
			t.Errorf("%s: got peers %q, want %q first", name, peers[name], first)
		}
	}
	// Wide: some sixty when nothing else runs.
	if refused := *rows[0].Ratio; refused < 3 {
		t.Errorf("refusals: got %v times as many as by asking Redis, want 3 at the least", refused)
	}
	text, err := table.Encode(rows)
	if err != nil || !json.Valid(text) {
		t.Errorf("json: got %s, %v", text, err)
	}
}

// tools builds what is measured.
func tools(t *testing.T) measure.Tools {
	t.Helper()
	run := func(name string, args ...string) string {
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir = root
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%s %v: %v", name, args, err)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.MkdirAll(root+"/build", 0o755); err != nil {
		t.Fatal(err)
	}
	// Other tests may be making the same programs.
	run("flock", "build/lock", "make", "-s", "build/"+runtime.GOARCH+"/purchase/bootstrap")
	dev := filepath.Join(t.TempDir(), "dev")
	run("go", "build", "-o", dev, "./localstack/dev")
	machine := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	found, err := filepath.Glob(filepath.Join(run("localstack/deploy/python.sh", "sam"),
		"../lib/python*/site-packages/samcli/local/rapid/aws-lambda-rie-"+machine))
	if err != nil || len(found) != 1 {
		t.Fatalf("aws-lambda-rie: found %v, %v", found, err)
	}
	return measure.Tools{Dev: dev, Emulator: found[0], Programs: root + "/build/" + runtime.GOARCH, Events: root + "/functions"}
}
