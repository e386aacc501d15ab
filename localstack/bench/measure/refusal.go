package measure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"flashsale/localstack/bench/table"
	"flashsale/localstack/dev/lambda"
	"flashsale/localstack/dev/shop"
	"flashsale/shared/apigw"
	"flashsale/shared/config"
	"flashsale/shared/identity"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

const refuses = "verify the token and ask Redis"

// winners of the sale that refuses: the filter has this many shoppers in it.
const winners = 10_000

// refusal lets shoppers who did not win ask for an item that is sold out. The
// processors' time counts, ours and that of Redis, because a busy machine's clock says
// little: 1 s of it is what one core does in a second.
func (b *bench) refusal(ctx context.Context) ([]table.Row, error) {
	s, err := b.openShop(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	l, err := sell(ctx, s, winners, time.Now().Add(-time.Hour))
	if err != nil {
		return nil, err
	}
	if _, err := l.hold(ctx, s, winners, 64); err != nil {
		return nil, err
	}
	events, err := b.events(l, b.Asked*b.Rounds)
	if err != nil {
		return nil, err
	}
	asks, err := b.asker(s, l)
	if err != nil {
		return nil, err
	}
	purchase := s.Functions()["purchase"]
	if err := closeLatch(ctx, purchase, events[0]); err != nil {
		return nil, err
	}
	suspect := suspects(ctx, purchase, events)
	innocent := strangers(events, suspect, b.Refusals/5)
	var rates, asked, allocations, askedAllocations []float64
	for round := range rounds(b.Rounds) {
		presses, err := b.presses(l, events, suspect, b.Refusals)
		if err != nil {
			return nil, err
		}
		rate, _, err := refuse(ctx, s, purchase, presses, runtime.GOMAXPROCS(0))
		if err != nil {
			return nil, err
		}
		rates = append(rates, rate)
		_, none, err := refuse(ctx, s, purchase, innocent, runtime.GOMAXPROCS(0))
		if err != nil {
			return nil, err
		}
		allocations = append(allocations, none)
		var n float64
		// Each token once: a shop meets each shopper's for the first time.
		if rate, n, err = refuse(ctx, s, asks, events[round*b.Asked:(round+1)*b.Asked], 64); err != nil {
			return nil, err
		}
		asked, askedAllocations = append(asked, rate), append(askedAllocations, n)
	}
	rate, made := table.Median(rates...), table.Median(allocations...)
	return []table.Row{
		table.Beside("refusal", rate, "refusals a second and core", refuses, table.Median(asked...), table.Goal{AtLeast: 50}),
		table.Beside("refusal", rate, "refusals a second and core", "the goal", 400_000, table.Goal{AtLeast: 1}),
		// The look at Redis, five times a second, is in it; those whom the filter takes for winners are not.
		table.Beside("refusal", made, "allocations of a refusal", refuses, table.Median(askedAllocations...), table.Goal{}),
		table.Beside("refusal", made, "allocations of a refusal", "the goal", 0.01, table.Goal{AtMost: 1}),
	}, nil
}

// asker refuses as the article does, by our own parts: one check of a signature, one
// script call.
func (b *bench) asker(s *shop.Shop, l lot) (lambda.Invoke, error) {
	shoppers, err := identity.New(config.Identity{Issuer: b.provider.Issuer(), Audience: audience, JWKS: b.jwks, Skew: time.Minute}, time.Now)
	if err != nil {
		return nil, err
	}
	mint, err := sale.NewMint([]byte(secret), time.Now)
	if err != nil {
		return nil, err
	}
	edge := apigw.Edge{Log: slog.New(slog.DiscardHandler)}
	shards := stock.Shards{Sale: sale.ID(l.sale), N: 1}
	return func(ctx context.Context, event []byte) ([]byte, error) {
		return edge.Serve(ctx, event, func(ctx context.Context, r *apigw.Request) (apigw.Response, error) {
			token, err := identity.Bearer(r.Header("Authorization"))
			if err != nil {
				return apigw.Response{}, apigw.Unauthorized(err)
			}
			user, err := shoppers.Shopper(ctx, token)
			if err != nil {
				return apigw.Response{}, apigw.Unauthorized(err)
			}
			item, _ := sale.ParseItemID(r.Params["itemId"])
			answer, err := s.Stock.Reserve(ctx, shards, stock.Attempt{OrderID: mint.New(shards.Sale, user), UserID: user, ItemID: item})
			if err != nil || answer.Outcome != stock.SoldOut {
				return apigw.Response{}, apigw.Busy(time.Second, fmt.Errorf("%v, %w", answer.Outcome, err))
			}
			return apigw.Response{}, apigw.Refuse(apigw.SoldOut, "This item is sold out.")
		})
	}, nil
}

// closeLatch asks until the function refuses by itself.
func closeLatch(ctx context.Context, purchase lambda.Invoke, event []byte) error {
	for range 100 {
		if answer, err := purchase(ctx, event); err != nil || status(answer) != http.StatusGone {
			return fmt.Errorf("sold out: got %s, %w", answer, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// refuse returns the refusals in a second of a processor's time, and the allocations of
// each.
func refuse(ctx context.Context, s *shop.Shop, invoke lambda.Invoke, events [][]byte, callers int) (rate, allocations float64, err error) {
	n := len(events)
	var wrong, next atomic.Int64
	var before, after runtime.MemStats
	var calling sync.WaitGroup
	runtime.GC()
	runtime.ReadMemStats(&before)
	began, err := busy(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	for range callers {
		calling.Go(func() {
			const chunk = 64 // so that the callers do not fight for the counter
			for from := next.Add(chunk) - chunk; from < int64(n); from = next.Add(chunk) - chunk {
				for _, event := range events[from:min(from+chunk, int64(n))] {
					answer, err := invoke(ctx, event)
					if err != nil || len(answer) < 17 || string(answer[:17]) != `{"statusCode":410` {
						wrong.Add(1)
					}
				}
			}
		})
	}
	calling.Wait()
	ended, err := busy(ctx, s)
	runtime.ReadMemStats(&after)
	if wrong.Load() > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d answers were no refusals", wrong.Load(), n))
	}
	return float64(n) / (ended - began).Seconds(), float64(after.Mallocs-before.Mallocs) / float64(n), err
}

// busy is the processors' time that this process and Redis have had.
func busy(ctx context.Context, s *shop.Shop) (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, os.NewSyscallError("getrusage", err)
	}
	text, err := s.Redis.Info(ctx, "cpu").Result()
	if err != nil {
		return 0, err
	}
	sys, err1 := infoSeconds(text, "used_cpu_sys")
	user, err2 := infoSeconds(text, "used_cpu_user")
	return time.Duration(used.Utime.Nano()+used.Stime.Nano()) + sys + user, errors.Join(err1, err2)
}
