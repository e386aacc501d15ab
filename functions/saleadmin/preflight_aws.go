package saleadmin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"

	"flashsale/shared/sigv4"
)

const (
	// A poller of a mapping takes about that much a second, and a record is
	// about that long.
	pollerBytes = 5 << 20
	recordBytes = 400

	// expirer, stockkeeper and saleadmin run twice at once at the most: passes may
	// overlap, and operators are few. migrate runs alone.
	scheduled = 3
)

// lookAtAccount compares the account's quotas and the stack's settings with the peak.
func (h *Handler) lookAtAccount(ctx context.Context, d demand) []check {
	concurrency := d.environments + others
	ready := lookAt{"warm environments", strconv.Itoa(d.environments), h.warmEnvironments}
	if d.instances {
		concurrency = others
		ready = lookAt{"environments on instances", strconv.Itoa(d.environments), instanceEnvironments}
	}
	looks := []lookAt{
		{"lambda concurrency", strconv.Itoa(concurrency), func(ctx context.Context, a account, _ demand) (check, error) {
			return lambdaConcurrency(ctx, a, concurrency)
		}},
		ready,
		{"api gateway rate", strconv.Itoa(d.peak), h.gatewayRate},
		{"pollers", fmt.Sprintf("an enabled mapping, %d pollers, partial failures", pollersFor(d)), pollers},
	}
	a, err := h.account()
	checks := make([]check, len(looks)+1)
	var group sync.WaitGroup
	for i, l := range looks {
		group.Go(func() {
			found, fault := check{}, err
			if fault == nil {
				found, fault = l.look(ctx, a, d)
			}
			if fault != nil {
				found = unknown("", "", fault.Error())
			}
			found.Check, found.Need = l.name, l.need
			checks[i] = found
		})
	}
	group.Go(func() { checks[len(looks)] = h.databaseConnections(ctx, a, err) })
	group.Wait()
	return checks
}

// A lookAt is one question to AWS.
type lookAt struct {
	name, need string
	look       func(context.Context, account, demand) (check, error)
}

// lambdaConcurrency is what no function of the account has reserved for itself:
// purchase lives on that.
func lambdaConcurrency(ctx context.Context, a account, need int) (check, error) {
	var out struct {
		AccountLimit struct{ ConcurrentExecutions, UnreservedConcurrentExecutions *int }
	}
	if err := a.lambda(ctx, "/2016-08-19/account-settings", &out); err != nil {
		return check{}, err
	}
	limit, free := out.AccountLimit.ConcurrentExecutions, out.AccountLimit.UnreservedConcurrentExecutions
	if limit == nil || free == nil {
		return check{}, errNoValue
	}
	return judge("", *free >= need, fmt.Sprintf("%d of %d, %d are reserved", *free, *limit, *limit-*free), "",
		"raise the quota \"Concurrent executions\" of Lambda (L-B99A9384), days before; reserve less; or lower the peak by the sale's spread"), nil
}

// warmEnvironments are kept for the alias that the API calls. Those of another, or
// of an old version, serve nobody.
func (h *Handler) warmEnvironments(ctx context.Context, a account, d demand) (check, error) {
	configs, err := list[struct {
		FunctionArn  string
		Allocated    int `json:"AllocatedProvisionedConcurrentExecutions"`
		Status       string
		StatusReason string
	}](ctx, a, "/2019-09-30/functions/"+a.stack+"-purchase/provisioned-concurrency", url.Values{"List": {"ALL"}}, "ProvisionedConcurrencyConfigs")
	if err != nil {
		return check{}, err
	}
	alias := "live"
	if target := h.Estate.Config.Target; target != "" {
		alias = target[strings.LastIndexByte(target, ':')+1:]
	}
	allocated, have := 0, "0"
	for _, c := range configs {
		if strings.HasSuffix(c.FunctionArn, ":"+alias) {
			allocated, have = c.Allocated, strings.TrimSpace(fmt.Sprintf("%d %s %s", c.Allocated, c.Status, c.StatusReason))
		}
	}
	return judge("", allocated >= d.environments, have, "",
		"WarmEnvironments of the stack; they are there from WarmBefore the opening on, and not earlier"), nil
}

// instanceEnvironments are there all the time; they do not grow within seconds. A
// version has them, and Lambda takes no alias in its place here.
func instanceEnvironments(ctx context.Context, a account, d demand) (check, error) {
	function := "/functions/" + a.stack + "-purchase-instances"
	var live struct{ FunctionVersion string }
	if err := a.lambda(ctx, "/2015-03-31"+function+"/aliases/live", &live); err != nil {
		return check{}, err
	}
	if live.FunctionVersion == "" {
		return check{}, errNoValue
	}
	var out struct {
		Applied struct {
			Least *int `json:"MinExecutionEnvironments"`
		} `json:"AppliedFunctionScalingConfig"`
	}
	if err := a.lambda(ctx, "/2025-11-30"+function+"/function-scaling-config?Qualifier="+url.QueryEscape(live.FunctionVersion), &out); err != nil {
		return check{}, err
	}
	least := out.Applied.Least
	if least == nil {
		return check{}, errNoValue
	}
	return judge("", *least >= d.environments, strconv.Itoa(*least), "", "InstanceEnvironments of the stack, an hour before"), nil
}

// gatewayRate is the account's, or what the stage lets through if that is less.
func (h *Handler) gatewayRate(ctx context.Context, a account, d demand) (check, error) {
	var out struct{ Quota struct{ Value *float64 } }
	in := map[string]string{"ServiceCode": "apigateway", "QuotaCode": "L-8A5B8E43"}
	ask := func(operation string) error {
		return a.Call(ctx, a.endpoint("servicequotas"), "servicequotas", "ServiceQuotasV20190624."+operation, in, &out)
	}
	err := ask("GetServiceQuota")
	// A quota that was never raised has no value of the account's own.
	if refused, ok := errors.AsType[sigv4.RefusedError](err); ok && refused.Code == "NoSuchResourceException" {
		err = ask("GetAWSDefaultServiceQuota")
	}
	switch {
	case err != nil:
		return check{}, allowed(err)
	case out.Quota.Value == nil:
		return check{}, errNoValue
	}
	rate := *out.Quota.Value
	have := strconv.FormatFloat(rate, 'f', -1, 64)
	if stage := float64(h.Estate.Config.PurchaseRate); stage > 0 && stage < rate {
		rate, have = stage, fmt.Sprintf("%.0f by PurchaseRate, %s by the account", stage, have)
	}
	return judge("", rate >= float64(d.peak), have, "",
		"raise the quota \"Throttle rate\" of API Gateway (L-8A5B8E43), and PurchaseRate of the stack; or lower the peak by the sale's spread"), nil
}

// pollersFor takes all units in the first second, from two zones at least.
func pollersFor(d demand) int {
	return max(2, (d.units*recordBytes+pollerBytes-1)/pollerBytes)
}

func pollers(ctx context.Context, a account, d demand) (check, error) {
	mappings, err := list[struct {
		State                   string
		FunctionResponseTypes   []string
		ProvisionedPollerConfig struct{ MinimumPollers int }
	}](ctx, a, "/2015-03-31/event-source-mappings", url.Values{"FunctionName": {a.stack + "-orderwriter"}}, "EventSourceMappings")
	if err != nil {
		return check{}, err
	}
	if len(mappings) != 1 {
		return judge("", false, fmt.Sprintf("%d mappings", len(mappings)), "", "deploy the stack with its mapping, and with one only"), nil
	}
	m := mappings[0]
	least, partial := m.ProvisionedPollerConfig.MinimumPollers, slices.Contains(m.FunctionResponseTypes, "ReportBatchItemFailures")
	return judge("", m.State == "Enabled" && least >= pollersFor(d) && partial,
		fmt.Sprintf("%s, %d pollers, %s", m.State, least, plain(m.FunctionResponseTypes)), "",
		"enable it; MinimumPollers and FunctionResponseTypes are in template.yaml"), nil
}

// databaseConnections are concurrency × pool, over the functions that have one.
// Those that shoppers call need a bound, else a crowd takes all the connections.
func (h *Handler) databaseConnections(ctx context.Context, a account, why error) check {
	const name = "database connections"
	pool := int(h.Estate.Config.Postgres.PoolSize)
	need := fmt.Sprintf("concurrency × a pool of %d", pool)
	free, err := h.freeDatabaseConnections(ctx)
	if err = errors.Join(err, why); err != nil {
		return unknown(name, need, err.Error())
	}
	// Lambda calls the writer once at a time for each partition.
	topics, err := kadm.NewClient(h.Kafka).ListTopics(ctx, h.OrdersTopic)
	if err == nil {
		err = topics[h.OrdersTopic].Err
	}
	if err != nil {
		return unknown(name, need, err.Error())
	}
	writers := len(topics[h.OrdersTopic].Partitions)
	sum := (writers+2*scheduled)*pool + 1
	terms := []string{fmt.Sprintf("orderwriter %d", writers)}
	var unbounded []string
	for _, function := range []string{"orderstatus", "payment"} {
		var out struct{ ReservedConcurrentExecutions *int }
		if err := a.lambda(ctx, "/2019-09-30/functions/"+a.stack+"-"+function+"/concurrency", &out); err != nil {
			return unknown(name, need, err.Error())
		}
		if out.ReservedConcurrentExecutions == nil {
			unbounded = append(unbounded, function)
			continue
		}
		sum += *out.ReservedConcurrentExecutions * pool
		terms = append(terms, fmt.Sprintf("%s %d", function, *out.ReservedConcurrentExecutions))
	}
	if len(unbounded) > 0 {
		return judge(name, false, strconv.Itoa(free), need+", and a bound for "+strings.Join(unbounded, ", "),
			"OrderStatusEnvironments, PaymentEnvironments of the stack, which are ReservedConcurrentExecutions of these functions")
	}
	return judge(name, free >= sum, strconv.Itoa(free), fmt.Sprintf("%d: pool of %d × (%s, others %d), migrate 1", sum, pool, plain(terms), 2*scheduled),
		"raise max_connections or the role's limit, or lower DB_POOL_SIZE or ReservedConcurrentExecutions")
}
