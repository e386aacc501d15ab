package forecast_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/localstack/capacity/forecast"
)

const docs = "../../../docs/"

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// rows is what `make bench` writes: a list, with several rows of a name.
const rows = `[
	{"name":"refusal","value":0,"unit":"allocations","peer":"","peer_value":null,"ratio":null},
	{"name":"refusal","value":500000,"unit":"events/s and core","peer":"token and Redis","peer_value":4000,"ratio":125},
	{"name":"reserve","value":60000,"unit":"calls a second","peer":"redis-benchmark","peer_value":80000,"ratio":0.75},
	{"name":"writer","value":30000,"unit":"orders/s","peer":"bare INSERT","peer_value":40000,"ratio":0.75},
	{"name":"writer","value":31000,"unit":"orders/s","peer":"one each","peer_value":1000,"ratio":31}]`

func TestReadMeasured(t *testing.T) {
	t.Parallel()
	list := file(t, rows)
	got, err := forecast.ReadMeasured("/nowhere/bench.json", list, docs+"bench.json")
	if want := (forecast.Measured{From: list, Refusal: 500_000, Full: 4_000, Reserve: 60_000, Writer: 30_000}); err != nil || got != want {
		t.Errorf("a list: %+v, %v; want %+v", got, err, want)
	}
	got, err = forecast.ReadMeasured(file(t, `{"date":"2026-01-02","machine":"two cores","rows":`+rows+`}`))
	if err != nil || got.Reserve != 60_000 || !strings.Contains(got.From, "2026-01-02") || !strings.Contains(got.From, "two cores") {
		t.Errorf("an object: %+v, %v; want date and machine", got, err)
	}
	for name, text := range map[string]string{
		"no writer":  strings.ReplaceAll(rows, "writer", "other"),
		"no rate":    strings.ReplaceAll(rows, "calls a second", "ms"),
		"no peer":    strings.ReplaceAll(rows, `"peer_value":4000`, `"peer_value":null`),
		"no JSON":    "{",
		"too slow":   strings.ReplaceAll(rows, "60000", "1e-300"),
		"too fast":   strings.ReplaceAll(rows, "60000", "1e308"),
		"no numbers": strings.ReplaceAll(rows, "60000", `"60000"`),
	} {
		if _, err := forecast.ReadMeasured(file(t, text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := forecast.ReadMeasured("/nowhere/bench.json"); err == nil || !strings.Contains(err.Error(), "make bench") {
		t.Errorf("no file: %v; want a hint at make bench", err)
	}
}

func TestReadPrices(t *testing.T) {
	t.Parallel()
	own, err := forecast.ReadPrices("")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(own.Note, "Check the price list") {
		t.Errorf("the built-in list's note %q does not say to check the price list", own.Note)
	}
	for key, p := range own.Prices {
		if p.Basis != "listed" && p.Basis != "derived" && p.Basis != "assumed" {
			t.Errorf("%s: basis %q", key, p.Basis)
		}
	}
	text, err := json.Marshal(own)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := forecast.ReadPrices(file(t, string(text))); err != nil || again.Name() != own.Name() {
		t.Errorf("the same list as a file: %v, %v", again.Name(), err)
	}
	for name, change := range map[string][2]string{
		"no price":      {`"redisNode"`, `"other"`},
		"a free broker": {`"price":0.204`, `"price":0`},
		"no date":       {own.Date, ""},
		"unknown field": {`"note"`, `"remark"`},
	} {
		broken := strings.Replace(string(text), change[0], change[1], 1)
		if _, err := forecast.ReadPrices(file(t, broken)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestBill: what does not depend on the crowd does not, and the dearest line of each way is the expected one.
func TestBill(t *testing.T) {
	t.Parallel()
	prices, err := forecast.ReadPrices("")
	if err != nil {
		t.Fatal(err)
	}
	f, err := forecast.New(forecast.Question{Peak: 300_000, Items: 10_000, Spread: time.Minute}, measured, prices)
	if err != nil {
		t.Fatal(err)
	}
	first, lottery := f.Ways[0].Bill, f.Ways[2].Bill
	if first.MonthSum != lottery.MonthSum {
		t.Errorf("a month costs %.2f or %.2f; it should not know of the way", first.MonthSum, lottery.MonthSum)
	}
	if first.SaleSum < 5*lottery.SaleSum {
		t.Errorf("first come costs %.2f, the lottery %.2f; 30,000 environments should cost more", first.SaleSum, lottery.SaleSum)
	}
	for _, way := range f.Ways {
		sum := 0.0
		for _, line := range way.Bill.Sale {
			sum += line.Cost
		}
		near(t, way.Name+": the lines' sum", sum, way.Bill.SaleSum, 1e-9)
	}
	sharded, err := forecast.New(forecast.Question{Peak: 300_000, Items: 10_000, Spread: time.Minute, Shards: 5}, measured, prices)
	if err != nil {
		t.Fatal(err)
	}
	// Two of the five nodes are the stack's own.
	near(t, "three nodes more, with replicas, for three hours", sharded.Ways[0].Bill.SaleSum-first.SaleSum, 3*2*3*prices.Prices["redisNode"].Price, 0.001)
}

// TestConstantsAreTheirs: what this package says of the template and of the page is still so.
func TestConstantsAreTheirs(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{
		"template.yaml": {
			`OtherRate:\n +Type: Number\n +Default: 2000\n`, `ResourcePath: /\*\n +ThrottlingRateLimit: !Ref OtherRate\n`, `AdmissionRate:\n +Type: Number\n +Default: 2000\n`,
			`PurchaseRate:\n +Type: Number\n +Default: 10000\n`, `PurchaseBurst:\n +Type: Number\n +Default: 5000\n`,
			`"Buy"\n +MemorySize: 1769\n`, `MinimumPollers: 2\n`, `MaximumPollers:\n +Type: Number\n +Default: 8\n`, `WarmBefore:\n +Type: String\n +Default: 15m\n`, `WarmEnvironments:\n +Type: Number\n +Default: 0\n`,
			`DatabaseConnections:\n +Type: Number\n +Default: 300\n`, `OrderPartitions:\n +Type: Number\n +Default: 6\n`, `RedisShards:\n +Type: Number\n +Default: 2\n`,
		},
		"shared/stock/latch.go":                  {`latchRenew = 200 \* time.Millisecond`},
		"shared/stock/catalog.go":                {`catalogAge = time.Second`},
		"web/purchase.js":                        {`const tries = 12;`, `backoff\(Math.min\(n, 3\), answer.retryAfter\)`},
		"web/api.js":                             {`1000 \* 2 \*\* tries\)`, `Math.max\(retryAfter, step / 2\) \+ random \* step / 2`},
		"web/order.js":                           {`turn \? left : left \+ random \* 1000;`, `serverTime\) \+ 1000 - now\) \+ random \* 400;`, `\(busy \? 5000 : 1500\) \+ random \* 1000`},
		"web/app.js":                             {`order.payable \? 2000 : 1000`},
		"functions/saleadmin/preflight_stage.go": {`passTime = 9 \* time.Minute`},
		"web/admission.js":                       {`early = 600_000;`, `late = 60_000;`},
	} {
		text, err := os.ReadFile("../../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !regexp.MustCompile(line).Match(text) {
				t.Errorf("%s no longer has %s; change this package with it, and docs/capacity.md", name, line)
			}
		}
		endpoint := regexp.MustCompile(`Condition: OwnNetwork\n +Properties:( &interface\n|\n +<<: \*interface\n)`)
		if n := len(endpoint.FindAll(text, -1)); name == "template.yaml" && n != 5 {
			t.Errorf("the stack's own network has %d endpoints, the bill counts 5", n)
		}
	}
}

var block = regexp.MustCompile("(?s)```\n(What it needs.*?)```")

// documented is the forecast that docs/capacity.md tells of, and what it prints.
func documented(t *testing.T, m forecast.Measured) (forecast.Forecast, string) {
	t.Helper()
	prices, err := forecast.ReadPrices("")
	if err != nil {
		t.Fatal(err)
	}
	f, err := forecast.New(forecast.Question{Peak: 300_000, Items: 10_000, Spread: time.Minute}, m, prices)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := f.Print(&out, prices); err != nil {
		t.Fatal(err)
	}
	return f, out.String()
}

// TestDocument: the tables in docs/capacity.md are what the program says today.
func TestDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(docs + "capacity.md")
	if err != nil {
		t.Fatal(err)
	}
	found := block.FindSubmatch(text)
	if found == nil {
		t.Fatal("docs/capacity.md has no block that begins with \"What it needs\"")
	}
	m, err := forecast.ReadMeasured(docs + "bench.json")
	if err != nil {
		t.Fatal(err)
	}
	_, printed := documented(t, m)
	_, tables, _ := strings.Cut(printed, "\n\n")
	want, got := strings.Fields(tables), strings.Fields(string(found[1]))
	if len(want) != len(got) {
		t.Fatalf("docs/capacity.md has %d words in its tables, the program writes %d; run make capacity PEAK=300000 BENCH=docs/bench.json", len(got), len(want))
	}
	for i := range want {
		if !same(got[i], want[i]) {
			t.Errorf("docs/capacity.md says %q, the program %q; run make capacity PEAK=300000 BENCH=docs/bench.json", got[i], want[i])
		}
	}
}

// same words; numbers may differ by what another processor rounds differently.
func same(a, b string) bool {
	x, errX := strconv.ParseFloat(strings.Trim(strings.ReplaceAll(a, ",", ""), "*x"), 64)
	y, errY := strconv.ParseFloat(strings.Trim(strings.ReplaceAll(b, ",", ""), "*x"), 64)
	if errX != nil || errY != nil {
		return a == b
	}
	return x >= y*0.995-0.01 && x <= y*1.005+0.01
}
