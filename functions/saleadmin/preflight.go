package saleadmin

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

const (
	// lookTime bounds one look at a server or at AWS.
	lookTime = 10 * time.Second

	// perEnvironment is how many requests a second Lambda sends to one environment.
	perEnvironment = 10

	// perInstance is how many one on instances takes: two cores, each half busy with
	// calls that verify the token and ask Redis, as docs/bench.json has them. make
	// capacity counts by the same figure.
	perInstance = 7_000

	// mostPeak is far above what can be meant, and far below what would overflow.
	mostPeak = 1_000_000_000

	// others is what the other functions are given beside purchase: environments,
	// and connections to Redis.
	others = 100
)

// An Estate is what preflight looks at besides the stores.
type Estate struct {
	Config Config
	Redis  redis.UniversalClient
	Pool   *pgxpool.Pool
}

// The outcomes of a check. What could not be looked at is never ok.
const (
	statusOK      = "ok"
	statusMissing = "missing"
	statusUnknown = "unknown"
)

// A check is one line of the answer.
type check struct {
	Check  string `json:"check"`
	Status string `json:"status"`
	Have   string `json:"have"`
	Need   string `json:"need"`
	How    string `json:"how,omitempty"` // to get what is missing, or why it is not known
}

// readiness is the answer to preflight.
type readiness struct {
	SaleID sale.ID `json:"saleId"`
	Peak   int     `json:"peak"`
	Ready  bool    `json:"ready"` // every check is ok
	Checks []check `json:"checks"`
}

// A demand is what a sale asks of its estate.
type demand struct {
	sale         *sale.Listing
	peak         int // requests a second
	environments int // of purchase
	instances    bool
	units        int
}

// judge makes a check of which both sides are known.
func judge(name string, ok bool, have, need, how string) check {
	if ok {
		return check{name, statusOK, have, need, ""}
	}
	return check{name, statusMissing, have, need, how}
}

func unknown(name, need, why string) check { return check{name, statusUnknown, "", need, why} }

// preflight compares what there is with what the sale will need at its peak. It
// changes nothing.
func (h *Handler) preflight(ctx context.Context, r request) (any, error) {
	if r.Peak < 1 || r.Peak > mostPeak {
		return nil, refusal{"BAD_REQUEST", fmt.Sprintf("peak must be the number of requests a second that are expected at the opening, from 1 to %d.", mostPeak)}
	}
	l, err := h.Orders.Listing(ctx, r.id)
	if err != nil {
		return nil, err
	}
	d := demand{sale: &l, peak: r.Peak, instances: h.Estate.Config.PurchaseOn == "instances"}
	each := perEnvironment
	if d.instances {
		each = perInstance
	}
	d.environments = (r.Peak + each - 1) / each
	for _, item := range l.Items {
		d.units += item.Quantity
	}
	looks := []func(context.Context, demand) []check{
		h.lookAtSale, h.lookAtRedis, h.lookAtPostgres, h.lookAtKafka, h.lookAtClocks,
		h.lookAtCertificates, h.lookAtKeys, h.lookAtStage, h.lookAtAccount,
	}
	// All at once: a server that is away costs one wait, not many.
	found := make([][]check, len(looks))
	var group sync.WaitGroup
	for i, look := range looks {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, lookTime)
			defer cancel()
			found[i] = look(ctx, d)
		})
	}
	group.Wait()
	answer := readiness{SaleID: r.id, Peak: r.Peak, Ready: true}
	for _, checks := range found {
		for _, c := range checks {
			answer.Ready = answer.Ready && c.Status == statusOK
			answer.Checks = append(answer.Checks, c)
		}
	}
	return answer, nil
}

// lookAtSale asks whether the sale itself could open now.
func (h *Handler) lookAtSale(ctx context.Context, d demand) []check {
	state := d.sale.StateAt(h.Now(), d.sale.Standing)
	ready := state == sale.Loaded || state == sale.Open
	checks := []check{judge("sale loaded", ready, string(state), "LOADED or OPEN",
		"load it; resume it if it is paused; a sale that is over stays so")}

	settings, err := h.Orders.Settings(ctx, d.sale.ID)
	if err != nil {
		checks = append(checks, unknown("nothing stops it", "no pause, no doubt", err.Error()))
	} else {
		stopped := len(settings.Paused) + len(settings.Doubts)
		checks = append(checks, judge("nothing stops it", stopped == 0, fmt.Sprintf("paused %v, doubts %v", settings.Paused, settings.Doubts),
			"no pause, no doubt", "docs/operations.md, Pause, rebuild, doubt"))
	}
	return append(checks, h.lookAtOutboxes(ctx, d)...)
}

// lookAtOutboxes asks whether everything before this sale is done.
func (h *Handler) lookAtOutboxes(ctx context.Context, d demand) []check {
	count := func(name, how string, number func() (int64, error)) check {
		n, err := number()
		if err != nil {
			return unknown(name, "0", err.Error())
		}
		return judge(name, n == 0, fmt.Sprint(n), "0", how)
	}
	return []check{
		count("holds without a row", "wait; is orderwriter running?", func() (sum int64, err error) {
			if !d.sale.Loaded {
				return 0, nil
			}
			shards := stock.Of(&d.sale.Sale)
			for shard := range shards.N {
				seen, err := h.Stock.Check(ctx, shards, shard)
				if err != nil {
					return 0, err
				}
				sum += seen.Outbox
			}
			return sum, nil
		}),
		count("units on their way back", "wait; is expirer running?", func() (int64, error) {
			rows, err := h.Orders.Report(ctx, d.sale.ID)
			return int64(rows.ReleasesWaiting), err
		}),
		count("records not written", "wait; is the mapping of orderwriter enabled?", func() (int64, error) { return h.Keeper.Backlog(ctx) }),
		count("dead letters", "docs/operations.md, Redrive; old ones go when the topic's retention is over", func() (int64, error) {
			return orderlog.DeadLetterCount(ctx, h.Kafka, h.DeadLetterTopic)
		}),
	}
}

// lookAtKeys asks for the identity provider's keys from here, where the functions are.
func (h *Handler) lookAtKeys(ctx context.Context, _ demand) []check {
	const name, need = "keys of tokens", "one key or more"
	cfg := h.Estate.Config
	if cfg.JWKSURL == "" && cfg.JWKS == "" {
		return []check{unknown(name, need, "saleadmin has neither JWKS_URL nor JWKS")}
	}
	if err := keysOf(ctx, cfg, h.Now); err != nil {
		return []check{judge(name, false, err.Error(), need,
			"without a way out of the network put the keys into JWKS, or let JWKS_URL name a place inside")}
	}
	have := "at JWKS_URL"
	if cfg.JWKSURL == "" {
		have = "in JWKS"
	}
	return []check{judge(name, true, have, need, "")}
}

// plain joins what is there, or says that nothing is.
func plain(parts []string) string {
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
