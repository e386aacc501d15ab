package saleadmin_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/shared/config"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
)

type checked struct {
	Check, Status, Have, Need, How string
}

type readiness struct {
	SaleID sale.ID
	Peak   int
	Ready  bool
	Checks []checked
}

func (o *office) preflight(t *testing.T, sl sale.Sale, peak int) readiness {
	t.Helper()
	var got readiness
	if err := json.Unmarshal([]byte(o.says(t, `{"action":"preflight","saleId":%d,"peak":%d}`, sl.ID, peak)), &got); err != nil {
		t.Fatal(err)
	}
	if got.SaleID != sl.ID || got.Peak != peak {
		t.Errorf("answer: got sale %d, peak %d", got.SaleID, got.Peak)
	}
	for _, c := range got.Checks {
		if c.Need == "" || (c.Status == "ok") == (c.How != "") || (c.Status == "ok" && c.Have == "") {
			t.Errorf("%+v: an ok has what it has, and everything else says how", c)
		}
	}
	notOK := func(c checked) bool { return c.Status != "ok" }
	if got.Ready == slices.ContainsFunc(got.Checks, notOK) {
		t.Errorf("ready: got %t with %+v", got.Ready, got.Checks)
	}
	return got
}

// of is the check whose name begins so, and fails without one.
func (r readiness) of(t *testing.T, name string) checked {
	t.Helper()
	i := slices.IndexFunc(r.Checks, func(c checked) bool { return strings.HasPrefix(c.Check, name) })
	if i < 0 {
		t.Fatalf("there is no check %q in %+v", name, r.Checks)
	}
	return r.Checks[i]
}

func (r readiness) want(t *testing.T, status string, names ...string) {
	t.Helper()
	for _, name := range names {
		if got := r.of(t, name); got.Status != status {
			t.Errorf("%s: got %+v, want %s", name, got, status)
		}
	}
}

func TestPreflightOnRealServers(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 10, true)
	got := o.preflight(t, sl, 1000)
	got.want(t, "ok", "sale loaded", "nothing stops it", "holds without a row", "units on their way back", "records not written",
		"dead letters", "redis keeps its keys", "redis connections", "schema", "clock of redis", "clock of postgresql")
	// The test servers are what a real sale must not stand on, and nobody is on AWS.
	got.want(t, "missing", "topic "+o.orders, "certificate of redis", "certificate of postgresql")
	got.want(t, "unknown", append(ofAWS, "kafka connections per broker", "kafka connections in time", "keys of tokens")...)
	if c := got.of(t, "lambda concurrency"); !strings.Contains(c.How, "no AWS credentials") || c.Need != "200" {
		t.Errorf("without AWS: got %+v", c)
	}
	// More connections than the server takes.
	o.preflight(t, sl, 10_000_000).want(t, "missing", "redis connections")
}

// TestPreflightCountsInstancesAsMeasured: preflight and make capacity say the same number,
// since both take it from what make bench measured.
func TestPreflightCountsInstancesAsMeasured(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/bench.json")
	if err != nil {
		t.Fatal(err)
	}
	var bench struct {
		Rows []struct {
			Name string
			Full float64 `json:"peer_value"` // a second and core; an instance's two are half busy
		}
	}
	if err := json.Unmarshal(text, &bench); err != nil {
		t.Fatal(err)
	}
	o := open(t)
	sl := o.create(t, 10, false)
	o.h.Estate.Config.PurchaseOn = "instances"
	const peak = 1_000_000_000
	need, err := strconv.ParseFloat(o.preflight(t, sl, peak).of(t, "environments on instances").Need, 64)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := peak/need, bench.Rows[0].Full; bench.Rows[0].Name != "refusal" || math.Abs(got/want-1) > 0.01 {
		t.Errorf("%s: preflight counts %.0f requests a second of one on instances, docs/bench.json has %.0f", bench.Rows[0].Name, got, want)
	}
}

func TestPreflightRefusals(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 10, false)
	wantRefusal(t, o.says(t, `{"action":"preflight","saleId":%d}`, sl.ID), "BAD_REQUEST")
	for _, peak := range []string{"-1", "0", "1e9", "1.5", "1000000001", "9223372036854775807", "9223372036854775808"} {
		wantRefusal(t, o.says(t, `{"action":"preflight","saleId":%d,"peak":%s}`, sl.ID, peak), "BAD_REQUEST")
	}
	o.preflight(t, sl, 1_000_000_000).want(t, "missing", "redis connections")
	wantRefusal(t, o.says(t, `{"action":"preflight","saleId":%d,"peak":1}`, sl.ID+1), "UNKNOWN_SALE")
}

func TestPreflightOfMSK(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.Sale(10)
	opens := time.Now().Add(10 * time.Minute).UTC().Format(time.RFC3339)
	o.says(t, `{"action":"create","sale":%s}`, file(sl, opens, "+2h", 10))
	warm := config.Warm{Target: warmTarget, Environments: 100, Before: 15 * time.Minute, After: time.Minute}
	short := warm
	short.Before = 20 * time.Second
	for name, c := range map[string]struct {
		warm     config.Warm
		on       string // what purchase runs on
		brokers  string
		peak     int
		each, in string // connections per broker, in time
	}{
		"warm for long":                   {warm, "", "kafka.m7g.large", 9_660, "ok", "ok"},
		"more than a broker takes":        {warm, "", "kafka.m7g.large", 9_661, "missing", "ok"},
		"longer than is left":             {warm, "", "", 1_000_000, "missing", "missing"},
		"warm for too short a time":       {short, "", "", 9_660, "ok", "missing"},
		"warm for long enough":            {short, "", "", 6_660, "ok", "ok"},
		"nothing warm":                    {config.Warm{}, "", "", 1_000, "ok", "missing"},
		"nothing warm, and a second will": {config.Warm{}, "", "", 330, "ok", "ok"},
		"small brokers":                   {warm, "", "kafka.t3.small", 9_660, "ok", "missing"},
		"small brokers, a small peak":     {warm, "", "kafka.t3.small", 7_000, "ok", "ok"},
		"instances need no warmth":        {config.Warm{}, "instances", "", 1_000_000, "ok", "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &o.h.Estate.Config
			cfg.Kafka.Auth, cfg.Warm, cfg.PurchaseOn, cfg.KafkaInstance = config.IAM, c.warm, c.on, c.brokers
			got := o.preflight(t, sl, c.peak)
			got.want(t, c.each, "kafka connections per broker")
			got.want(t, c.in, "kafka connections in time")
		})
	}
}

func TestPreflightOfTopics(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 10, true)
	brokers, err := kfake.NewCluster(kfake.NumBrokers(3))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(brokers.Close)
	client, err := kgo.NewClient(append(orderlog.ClientOptions(), kgo.SeedBrokers(brokers.ListenAddrs()...))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	o.h.Kafka = client
	cfg := &o.h.Estate.Config.Kafka
	for i, c := range []struct {
		replicas int16
		atLeast  string
		status   string
	}{{3, "2", "ok"}, {3, "1", "missing"}, {3, "3", "missing"}, {1, "1", "missing"}} {
		cfg.OrdersTopic = fmt.Sprintf("orders-%d", i)
		configs := map[string]*string{"min.insync.replicas": &c.atLeast}
		if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 4, c.replicas, configs, cfg.OrdersTopic); err != nil {
			t.Fatal(err)
		}
		o.preflight(t, sl, 10).want(t, c.status, "topic "+cfg.OrdersTopic)
	}
	cfg.OrdersTopic = "nobody-made-it"
	o.preflight(t, sl, 10).want(t, "missing", "topic nobody-made-it")
}

// wreck makes one part of a good estate bad, and the check must see it.
func TestPreflightSees(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wreck  func(t *testing.T, o *office, sl sale.Sale)
		status string
		check  string
	}{
		"a pause": {func(t *testing.T, o *office, sl sale.Sale) {
			o.says(t, `{"action":"pause","saleId":%d}`, sl.ID)
		}, "missing", "nothing stops it"},
		"a hold without a row": {func(t *testing.T, o *office, sl sale.Sale) {
			o.Reserve(t, sl, 0, "u1")
		}, "missing", "holds without a row"},
		"a record without a row": {func(t *testing.T, o *office, sl sale.Sale) {
			if err := orderlog.NewProducer(o.kafka, o.orders).Publish(t.Context(), o.Reserve(t, sl, 0, "u1")); err != nil {
				t.Fatal(err)
			}
		}, "missing", "records not written"},
		"a unit on its way": {func(t *testing.T, o *office, sl sale.Sale) {
			o.sell(t, sl, "u1")
			o.Passes(sl.PaymentWindow + sl.Grace)
			if n, err := o.Orders.Expire(t.Context(), 1); n != 1 || err != nil {
				t.Fatalf("expire: got %d, %v", n, err)
			}
		}, "missing", "units on their way back"},
		"a dead letter": {func(t *testing.T, o *office, _ sale.Sale) {
			if err := orderlog.NewDeadLetters(o.kafka, o.letters).Put(t.Context(), orderlog.Record{Topic: "x"}, "test"); err != nil {
				t.Fatal(err)
			}
		}, "missing", "dead letters"},
		"a clock that is ahead": {func(_ *testing.T, o *office, _ sale.Sale) {
			o.Passes(time.Minute)
		}, "missing", "clock of redis"},
		"an old schema": {func(t *testing.T, o *office, _ sale.Sale) {
			if _, err := o.Pool.Exec(t.Context(), `DELETE FROM flash_sale_migration WHERE version_id = 1`); err != nil {
				t.Fatal(err)
			}
		}, "missing", "schema"},
		"no way to the keys": {func(_ *testing.T, o *office, _ sale.Sale) {
			o.h.Estate.Config.JWKSURL = "http://127.0.0.1:1/jwks.json"
		}, "missing", "keys of tokens"},
		"keys that are none": {func(_ *testing.T, o *office, _ sale.Sale) {
			o.h.Estate.Config.JWKS = `{"keys":[]}`
		}, "missing", "keys of tokens"},
		"a certificate of nobody's": {func(t *testing.T, o *office, _ sale.Sale) {
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.StartTLS()
			t.Cleanup(server.Close)
			o.h.Estate.Config.Brokers, o.h.Estate.Config.TLS = []string{server.Listener.Addr().String()}, true
		}, "missing", "certificate of kafka "},
		"a broker that is away": {func(t *testing.T, o *office, _ sale.Sale) {
			o.h.Estate.Config.Brokers, o.h.Estate.Config.TLS = []string{"127.0.0.1:1"}, true
		}, "unknown", "certificate of kafka 127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t)
			sl := o.create(t, 10, true)
			c.wreck(t, o, sl)
			o.preflight(t, sl, 10).want(t, c.status, c.check)
		})
	}
}

func TestPreflightOfKeys(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 10, false)
	o.preflight(t, sl, 10).want(t, "missing", "sale loaded")
	// The key of RFC 8037's example.
	o.h.Estate.Config.JWKS = `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`
	o.preflight(t, sl, 10).want(t, "ok", "keys of tokens")
}
