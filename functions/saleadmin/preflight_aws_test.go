package saleadmin_test

import (
	"net/http"
	"strings"
	"testing"

	"flashsale/shared/config"
	"flashsale/shared/sigv4/sigv4test"
)

var ofAWS = []string{"lambda concurrency", "warm environments", "api gateway rate", "pollers", "database connections"}

// aws answers for a stack named shop, from which parts may be taken.
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

// wellProvided is an account for 300,000 requests a second.
func wellProvided() map[string]string {
	return map[string]string{
		"lambda /2016-08-19/account-settings":                                `{"AccountLimit":{"ConcurrentExecutions":40000,"UnreservedConcurrentExecutions":39900}}`,
		"lambda /2019-09-30/functions/shop-purchase/provisioned-concurrency": `{"ProvisionedConcurrencyConfigs":[{"FunctionArn":"arn:aws:lambda:eu-central-1:123456789012:function:shop-purchase:live","AllocatedProvisionedConcurrentExecutions":30000,"Status":"READY"}]}`,
		"servicequotas ServiceQuotasV20190624.GetServiceQuota":               `{"Quota":{"QuotaCode":"L-8A5B8E43","Value":300000.0}}`,
		"lambda /2015-03-31/event-source-mappings": `{"EventSourceMappings":[{"State":"Enabled","FunctionResponseTypes":["ReportBatchItemFailures"],` +
			`"ProvisionedPollerConfig":{"MinimumPollers":2,"MaximumPollers":8}}]}`,
		"lambda /2019-09-30/functions/shop-orderstatus/concurrency": `{"ReservedConcurrentExecutions":5}`,
		"lambda /2019-09-30/functions/shop-payment/concurrency":     `{"ReservedConcurrentExecutions":1}`,
	}
}

func TestPreflightOfAnAccount(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl := o.create(t, 10, true)
	o.aws(t, wellProvided())
	got := o.preflight(t, sl, 300_000)
	got.want(t, "ok", ofAWS...)
	// 5 and 1 environments, 2 partitions, two of each scheduled one and of saleadmin: a pool of 4 each; and migrate.
	if c := got.of(t, "database connections"); !strings.HasPrefix(c.Need, "57:") {
		t.Errorf("database connections: got %+v, want 57 needed", c)
	}
	for name, c := range map[string]struct {
		change map[string]string
		peak   int
		check  string
		status string
	}{
		"a larger peak, for Lambda":         {nil, 400_000, "lambda concurrency", "missing"},
		"a larger peak, for the gateway":    {nil, 300_001, "api gateway rate", "missing"},
		"nothing warm":                      {map[string]string{"lambda /2019-09-30/functions/shop-purchase/provisioned-concurrency": `{}`}, 300_000, "warm environments", "missing"},
		"warm for another alias":            {map[string]string{"lambda /2019-09-30/functions/shop-purchase/provisioned-concurrency": strings.Replace(wellProvided()["lambda /2019-09-30/functions/shop-purchase/provisioned-concurrency"], ":live", ":6", 1)}, 300_000, "warm environments", "missing"},
		"an account without a limit":        {map[string]string{"lambda /2016-08-19/account-settings": `{"AccountLimit":{}}`}, 10, "lambda concurrency", "unknown"},
		"a quota without a value":           {map[string]string{"servicequotas ServiceQuotasV20190624.GetServiceQuota": `{}`}, 10, "api gateway rate", "unknown"},
		"an answer that is no JSON":         {map[string]string{"lambda /2015-03-31/event-source-mappings": `<html>`}, 10, "pollers", "unknown"},
		"an answer of another shape":        {map[string]string{"lambda /2015-03-31/event-source-mappings": `{"EventSourceMappings":{"State":"Enabled"}}`}, 10, "pollers", "unknown"},
		"no mapping":                        {map[string]string{"lambda /2015-03-31/event-source-mappings": `{}`}, 10, "pollers", "missing"},
		"a mapping that is off":             {map[string]string{"lambda /2015-03-31/event-source-mappings": strings.Replace(wellProvided()["lambda /2015-03-31/event-source-mappings"], "Enabled", "Disabled", 1)}, 10, "pollers", "missing"},
		"all or nothing":                    {map[string]string{"lambda /2015-03-31/event-source-mappings": strings.Replace(wellProvided()["lambda /2015-03-31/event-source-mappings"], "ReportBatchItemFailures", "", 1)}, 10, "pollers", "missing"},
		"status without a bound":            {map[string]string{"lambda /2019-09-30/functions/shop-orderstatus/concurrency": `{}`}, 10, "database connections", "missing"},
		"more status than connections":      {map[string]string{"lambda /2019-09-30/functions/shop-orderstatus/concurrency": `{"ReservedConcurrentExecutions":5000}`}, 10, "database connections", "missing"},
		"a quota that was never raised":     {map[string]string{"servicequotas ServiceQuotasV20190624.GetServiceQuota": "", "servicequotas ServiceQuotasV20190624.GetAWSDefaultServiceQuota": `{"Quota":{"Value":10000}}`}, 10_000, "api gateway rate", "ok"},
		"a service that does not answer":    {map[string]string{"lambda /2016-08-19/account-settings": ""}, 10, "lambda concurrency", "unknown"},
		"a database that cannot be counted": {map[string]string{"lambda /2019-09-30/functions/shop-payment/concurrency": ""}, 10, "database connections", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			answers := wellProvided()
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
	o.aws(t, wellProvided())
	cfg := &o.h.Estate.Config

	cfg.PurchaseRate = 10_000
	if c := o.preflight(t, sl, 10_001).of(t, "api gateway rate"); c.Status != "missing" || !strings.Contains(c.Have, "PurchaseRate") {
		t.Errorf("a stage that lets less through than the account: got %+v", c)
	}
	cfg.PurchaseRate = 400_000
	o.preflight(t, sl, 300_000).want(t, "ok", "api gateway rate")
	o.preflight(t, sl, 300_001).want(t, "missing", "api gateway rate")

	answers := wellProvided()
	cfg.AWS.Endpoint = sigv4test.Serve(t, func(service, what string, _ []byte) (int, string) {
		switch what {
		case "/2015-03-31/event-source-mappings":
			return http.StatusOK, `{"EventSourceMappings":[],"NextMarker":"page 2/="}`
		case "/2015-03-31/event-source-mappings?Marker=page 2/=":
			return http.StatusOK, answers[service+" /2015-03-31/event-source-mappings"]
		case "ServiceQuotasV20190624.GetServiceQuota":
			return http.StatusBadRequest, `{"__type":"AccessDeniedException","message":"not authorized"}`
		case "/2016-08-19/account-settings":
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
	answers := wellProvided()
	answers["lambda /2016-08-19/account-settings"] = `{"AccountLimit":{"ConcurrentExecutions":1000}}`
	answers["lambda /2025-11-30/functions/shop-purchase-instances/function-scaling-config"] = `{"AppliedFunctionScalingConfig":{"MinExecutionEnvironments":100,"MaxExecutionEnvironments":100}}`
	o.aws(t, answers)
	o.h.Estate.Config.PurchaseOn = "instances"
	got := o.preflight(t, sl, 700_000)
	got.want(t, "ok", "lambda concurrency", "environments on instances", "redis connections")
	o.preflight(t, sl, 700_001).want(t, "missing", "environments on instances")
	delete(answers, "lambda /2025-11-30/functions/shop-purchase-instances/function-scaling-config")
	o.preflight(t, sl, 10).want(t, "unknown", "environments on instances")
}
