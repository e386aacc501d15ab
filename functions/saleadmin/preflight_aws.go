package saleadmin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

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

// An account is AWS as the function's role sees it.
type account struct {
	*sigv4.Signer
	endpoint func(service string) string
	stack    string
}

// account fails where there is none: on a machine of one's own.
func (h *Handler) account() (account, error) {
	cfg := h.Estate.Config
	stack, deployed := strings.CutSuffix(cfg.Function, "-saleadmin")
	switch {
	case !cfg.AWS.Known():
		return account{}, errors.New("there are no AWS credentials here")
	case !deployed:
		return account{}, fmt.Errorf("the function's name %q does not end in -saleadmin, so its stack is not known", cfg.Function)
	}
	return account{cfg.AWS.Signer(h.Now), cfg.AWS.EndpointOf, stack}, nil
}

// lookAtAccount compares the account's quotas and the stack's settings with the peak.
func (h *Handler) lookAtAccount(ctx context.Context, d demand) []check {
	looks := []struct {
		name, need string
		look       func(context.Context, account, demand) (check, error)
	}{
		{"lambda concurrency", strconv.Itoa(d.environments + others), lambdaConcurrency},
		{"warm environments", strconv.Itoa(d.environments), warmEnvironments},
		{"api gateway rate", strconv.Itoa(d.peak), gatewayRate},
		{"pollers", fmt.Sprintf("an enabled mapping, %d pollers, partial failures", pollersFor(d)), pollers},
	}
	a, err := h.account()
	var checks []check
	for _, l := range looks {
		found, fault := check{}, err
		if fault == nil {
			found, fault = l.look(ctx, a, d)
		}
		if fault != nil {
			checks = append(checks, unknown(l.name, l.need, fault.Error()))
			continue
		}
		found.Check, found.Need = l.name, l.need
		checks = append(checks, found)
	}
	return append(checks, h.databaseConnections(ctx, a, err))
}

func lambdaConcurrency(ctx context.Context, a account, d demand) (check, error) {
	var out struct {
		AccountLimit struct{ ConcurrentExecutions int }
	}
	if err := a.lambda(ctx, "/2016-08-19/account-settings", &out); err != nil {
		return check{}, err
	}
	have := out.AccountLimit.ConcurrentExecutions
	return judge("", have >= d.environments+others, strconv.Itoa(have), "",
		"raise the quota \"Concurrent executions\" of Lambda (L-B99A9384), days before; or lower the peak by the sale's spread"), nil
}

// warmEnvironments are kept for the alias that the API calls, or for a version.
func warmEnvironments(ctx context.Context, a account, d demand) (check, error) {
	var out struct {
		Configs []struct {
			Allocated int `json:"AllocatedProvisionedConcurrentExecutions"`
		} `json:"ProvisionedConcurrencyConfigs"`
	}
	if err := a.lambda(ctx, "/2019-09-30/functions/"+a.stack+"-purchase/provisioned-concurrency?List=ALL", &out); err != nil {
		return check{}, err
	}
	have := 0
	for _, c := range out.Configs {
		have += c.Allocated
	}
	return judge("", have >= d.environments, strconv.Itoa(have), "",
		"WARM_ENVIRONMENTS; they are there from WARM_BEFORE the opening on, and not earlier"), nil
}

// gatewayRate is the account's; each stage of an API may allow less.
func gatewayRate(ctx context.Context, a account, d demand) (check, error) {
	var out struct{ Quota struct{ Value float64 } }
	in := map[string]string{"ServiceCode": "apigateway", "QuotaCode": "L-8A5B8E43"}
	ask := func(operation string) error {
		return a.Call(ctx, a.endpoint("servicequotas"), "servicequotas", "ServiceQuotasV20190624."+operation, in, &out)
	}
	err := ask("GetServiceQuota")
	// A quota that was never raised has no value of the account's own.
	if refused, ok := errors.AsType[sigv4.RefusedError](err); ok && refused.Code == "NoSuchResourceException" {
		err = ask("GetAWSDefaultServiceQuota")
	}
	if err != nil {
		return check{}, err
	}
	return judge("", out.Quota.Value >= float64(d.peak), strconv.FormatFloat(out.Quota.Value, 'f', -1, 64), "",
		"raise the quota \"Throttle rate\" of API Gateway (L-8A5B8E43), and PurchaseRate of the stack; or lower the peak by the sale's spread"), nil
}

// pollersFor takes all units in the first second, from two zones at least.
func pollersFor(d demand) int {
	return max(2, (d.units*recordBytes+pollerBytes-1)/pollerBytes)
}

func pollers(ctx context.Context, a account, d demand) (check, error) {
	var out struct {
		Mappings []struct {
			State                   string
			FunctionResponseTypes   []string
			ProvisionedPollerConfig struct{ MinimumPollers int }
		} `json:"EventSourceMappings"`
	}
	query := url.Values{"FunctionName": {a.stack + "-orderwriter"}}
	if err := a.lambda(ctx, "/2015-03-31/event-source-mappings?"+query.Encode(), &out); err != nil {
		return check{}, err
	}
	if len(out.Mappings) != 1 {
		return judge("", false, fmt.Sprintf("%d mappings", len(out.Mappings)), "", "deploy the stack with its mapping, and with one only"), nil
	}
	m := out.Mappings[0]
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
			"set ReservedConcurrentExecutions for these functions")
	}
	return judge(name, free >= sum, strconv.Itoa(free), fmt.Sprintf("%d: pool of %d × (%s, others %d), migrate 1", sum, pool, plain(terms), 2*scheduled),
		"raise max_connections or the role's limit, or lower DB_POOL_SIZE or ReservedConcurrentExecutions")
}

func (a account) lambda(ctx context.Context, path string, out any) error {
	err := a.Get(ctx, a.endpoint("lambda"), "lambda", path, out)
	if refused, ok := errors.AsType[sigv4.RefusedError](err); ok && refused.Status == http.StatusForbidden {
		return fmt.Errorf("saleadmin's role may not ask: %w", err)
	}
	return err
}
