package saleadmin_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"flashsale/shared/config"
	"flashsale/shared/sigv4/sigv4test"
)

var ofAWS = []string{"lambda concurrency", "warm environments", "api gateway rate", "pollers", "database connections"}

// What preflight asks AWS, as the stand-in names it.
const (
	settings    = "lambda /2016-08-19/account-settings"
	provisioned = "lambda /2019-09-30/functions/shop-purchase/provisioned-concurrency?List=ALL"
	quota       = "servicequotas ServiceQuotasV20190624.GetServiceQuota"
	mappings    = "lambda /2015-03-31/event-source-mappings?FunctionName=shop-orderwriter"
	ofStatus    = "lambda /2019-09-30/functions/shop-orderstatus/concurrency"
	ofPayment   = "lambda /2019-09-30/functions/shop-payment/concurrency"
	alias       = "lambda /2015-03-31/functions/shop-purchase-instances/aliases/live"
	scaling     = "lambda /2025-11-30/functions/shop-purchase-instances/function-scaling-config?Qualifier=7"
)

// aws answers for a stack named shop, from which parts may be taken. What it is not
// asked in these very words is not there.
func (o *office) aws(t *testing.T, answers map[string]string) {
	t.Helper()
	address := sigv4test.Serve(t, func(service, what string, _ []byte) (int, string) {
		if text, ok := answers[service+" "+what]; ok {
			return http.StatusOK, text
		}
		return http.StatusBadRequest, `{"__type":"NoSuchResourceException","message":"there is none"}`
	})
	cfg := &o.h.Estate.Config
	cfg.Function = "shop-saleadmin"
	cfg.AWS = config.AWS{
		Region: sigv4test.Region, Endpoint: address, AccessKeyID: sigv4test.KeyID,
		SecretAccessKey: sigv4test.Secret, SessionToken: sigv4test.Session,
	}
}

// wellProvided is an account for 300,000 requests a second. make lint holds its
// questions and answers against AWS' own models.
func wellProvided(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/account.json")
	if err != nil {
		t.Fatal(err)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		t.Fatal(err)
	}
	answers := make(map[string]string)
	for what, answer := range parts {
		answers[what] = string(answer)
	}
	return answers
}

func TestPreflightOfAnAccount(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 10, true)
	well := wellProvided(t)
	o.aws(t, well)
	got := o.preflight(t, sl, 300_000)
	got.want(t, "ok", ofAWS...)
	// 5 and 1 environments, 2 partitions, two of each scheduled one and of saleadmin: a pool of 4 each; and migrate.
	if c := got.of(t, "database connections"); !strings.HasPrefix(c.Need, "57:") {
		t.Errorf("database connections: got %+v, want 57 needed", c)
	}
	small := map[string]string{settings: `{"AccountLimit":{"ConcurrentExecutions":300,"UnreservedConcurrentExecutions":150}}`}
	for name, c := range map[string]struct {
		change map[string]string
		peak   int
		check  string
		status string
	}{
		"a larger peak, for Lambda":      {nil, 400_000, "lambda concurrency", "missing"},
		"a small account":                {small, 500, "lambda concurrency", "ok"},
		"half of which is reserved":      {small, 510, "lambda concurrency", "missing"},
		"a larger peak, for the gateway": {nil, 300_001, "api gateway rate", "missing"},
		"nothing warm":                   {map[string]string{provisioned: `{}`}, 300_000, "warm environments", "missing"},
		"warm for another alias":         {map[string]string{provisioned: strings.Replace(well[provisioned], ":live", ":6", 1)}, 300_000, "warm environments", "missing"},
		"an account without a limit":     {map[string]string{settings: `{"AccountLimit":{}}`}, 10, "lambda concurrency", "unknown"},
		"a quota without a value":        {map[string]string{quota: `{}`}, 10, "api gateway rate", "unknown"},
		"an answer that is no JSON":      {map[string]string{mappings: `<html>`}, 10, "pollers", "unknown"},
		"an answer of another shape":     {map[string]string{mappings: `{"EventSourceMappings":{"State":"Enabled"}}`}, 10, "pollers", "unknown"},
		"no mapping":                     {map[string]string{mappings: `{}`}, 10, "pollers", "missing"},
		"a mapping that is off":          {map[string]string{mappings: strings.Replace(well[mappings], "Enabled", "Disabled", 1)}, 10, "pollers", "missing"},
		"all or nothing":                 {map[string]string{mappings: strings.Replace(well[mappings], "ReportBatchItemFailures", "", 1)}, 10, "pollers", "missing"},
		"status without a bound":         {map[string]string{ofStatus: `{}`}, 10, "database connections", "missing"},
		"more status than connections":   {map[string]string{ofStatus: `{"ReservedConcurrentExecutions":5000}`}, 10, "database connections", "missing"},
		"a quota that was never raised":  {map[string]string{quota: ""}, 10_000, "api gateway rate", "ok"},
		"and is too low":                 {map[string]string{quota: ""}, 10_001, "api gateway rate", "missing"},
		"a service that does not answer": {map[string]string{settings: ""}, 10, "lambda concurrency", "unknown"},
		"a database without a count":     {map[string]string{ofPayment: ""}, 10, "database connections", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			answers := maps.Clone(well)
			for what, text := range c.change {
				answers[what] = text
				if text == "" {
					delete(answers, what)
				}
			}
			o.aws(t, answers)
			o.preflight(t, sl, c.peak).want(t, c.status, c.check)
		})
	}
	o.h.Estate.Config.AWS.SecretAccessKey = "another key"
	o.preflight(t, sl, 10).want(t, "unknown", ofAWS...)
	o.h.Estate.Config.Function = "strange"
	o.preflight(t, sl, 10).want(t, "unknown", ofAWS...)
}

// What AWS says in more than one piece, or refuses.
func TestPreflightOfAnOddAccount(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 10, true)
	answers := wellProvided(t)
	o.aws(t, answers)
	cfg := &o.h.Estate.Config

	cfg.PurchaseRate = 10_000
	if c := o.preflight(t, sl, 10_001).of(t, "api gateway rate"); c.Status != "missing" || !strings.Contains(c.Have, "PurchaseRate") {
		t.Errorf("a stage that lets less through than the account: got %+v", c)
	}
	cfg.PurchaseRate = 400_000
	o.preflight(t, sl, 300_000).want(t, "ok", "api gateway rate")
	o.preflight(t, sl, 300_001).want(t, "missing", "api gateway rate")

	cfg.AWS.Endpoint = sigv4test.Serve(t, func(service, what string, _ []byte) (int, string) {
		switch service + " " + what {
		case mappings:
			return http.StatusOK, `{"EventSourceMappings":[],"NextMarker":"page 2/="}`
		case mappings + "&Marker=page+2%2F%3D":
			return http.StatusOK, answers[mappings]
		case quota:
			return http.StatusBadRequest, `{"__type":"AccessDeniedException","message":"not authorized"}`
		case settings:
			return http.StatusForbidden, `{"__type":"InvalidSignatureException","message":"Signature expired"}`
		}
		return http.StatusOK, answers[service+" "+what]
	})
	got := o.preflight(t, sl, 10)
	got.want(t, "ok", "pollers")
	if c := got.of(t, "api gateway rate"); c.Status != "unknown" || !strings.Contains(c.How, "role may not ask") {
		t.Errorf("without the right: got %+v", c)
	}
	if c := got.of(t, "lambda concurrency"); c.Status != "unknown" || strings.Contains(c.How, "role may not ask") {
		t.Errorf("with a clock that is off: got %+v, and that is not the role's fault", c)
	}
}

func TestPreflightOfInstances(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 10, true)
	answers := wellProvided(t)
	answers[settings] = `{"AccountLimit":{"ConcurrentExecutions":1000,"UnreservedConcurrentExecutions":1000}}`
	o.aws(t, answers)
	o.h.Estate.Config.PurchaseOn = "instances"
	got := o.preflight(t, sl, 700_000)
	got.want(t, "ok", "lambda concurrency", "environments on instances", "redis connections")
	o.preflight(t, sl, 700_001).want(t, "missing", "environments on instances")
	answers[alias] = `{}`
	o.preflight(t, sl, 10).want(t, "unknown", "environments on instances")
	answers[alias] = `{"FunctionVersion":"8"}` // of which AWS knows nothing
	o.preflight(t, sl, 10).want(t, "unknown", "environments on instances")
	answers[alias] = `{"FunctionVersion":"7"}`
	answers[scaling] = `{}`
	o.preflight(t, sl, 10).want(t, "unknown", "environments on instances")
}
