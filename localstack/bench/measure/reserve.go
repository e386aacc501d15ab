package measure

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/localstack/bench/table"
	"flashsale/localstack/dev/shop"
	"flashsale/lua"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// reserve lets callers hold units through the Go client, each for a new shopper, and
// redis-benchmark run the same script with the same keys and arguments.
func (b *bench) reserve(ctx context.Context) ([]table.Row, error) {
	s, err := b.openShop(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var ours, theirs []float64
	for range rounds(b.Rounds) {
		l, err := sell(ctx, s, b.Reserves, time.Now().Add(-time.Hour))
		if err != nil {
			return nil, err
		}
		took, err := l.hold(ctx, s, b.Reserves, b.Callers)
		if err != nil {
			return nil, err
		}
		ours = append(ours, float64(b.Reserves)/took.Seconds())
		if l, err = sell(ctx, s, b.Reserves, time.Now().Add(-time.Hour)); err != nil {
			return nil, err
		}
		rate, err := b.redisBenchmark(ctx, s, l)
		if err != nil {
			return nil, err
		}
		theirs = append(theirs, rate)
	}
	return []table.Row{table.Beside("reserve", table.Median(ours...), "holds a second",
		"redis-benchmark -P 16", table.Median(theirs...), table.Goal{AtLeast: 0.7})}, nil
}

// hold makes n holds for shoppers of their own and returns how long it took.
func (l lot) hold(ctx context.Context, s *shop.Shop, n, callers int) (time.Duration, error) {
	mint, err := sale.NewMint([]byte(secret), time.Now)
	if err != nil {
		return 0, err
	}
	sh := stock.Shards{Sale: sale.ID(l.sale), N: 1}
	var next, wrong atomic.Int64
	var calling sync.WaitGroup
	began := time.Now()
	for range callers {
		calling.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				user := fmt.Sprintf("winner-%012d", i) // as long as redis-benchmark's
				got, err := s.Stock.Reserve(ctx, sh, stock.Attempt{OrderID: mint.New(sh.Sale, user), UserID: user, ItemID: sale.ItemID(l.item)})
				if err != nil || got.Outcome != stock.Reserved {
					wrong.Add(1)
				}
			}
		})
	}
	calling.Wait()
	took := time.Since(began)
	if wrong.Load() > 0 {
		return 0, fmt.Errorf("%d of %d holds were refused", wrong.Load(), n)
	}
	return took, nil
}

// redisBenchmark returns its script calls a second.
func (b *bench) redisBenchmark(ctx context.Context, s *shop.Shop, l lot) (float64, error) {
	script, err := s.Redis.ScriptLoad(ctx, lua.Reserve).Result()
	if err != nil {
		return 0, err
	}
	at, err := url.Parse(b.parts.RedisURL)
	if err != nil {
		return 0, err
	}
	args := []string{
		"-h", at.Hostname(), "-p", at.Port(), "--dbnum", strings.Trim(at.Path, "/"), "--csv",
		"-P", "16", "-c", strconv.Itoa(b.BenchmarkedClients), "-n", strconv.Itoa(b.Reserves), "-r", "2000000000",
		"EVALSHA", script, "6",
	}
	for _, part := range []string{"meta", "holds", "stock", "unconfirmed", "released", "winners"} {
		args = append(args, fmt.Sprintf("{sale:%d:0}:%s", l.sale, part))
	}
	// Each __rand_int__ becomes a number of twelve digits.
	args = append(args, "00000000-0000-8000-8000-__rand_int__", "winner-__rand_int__", strconv.FormatInt(l.item, 10), "-", "0", "15000", "0")
	out, err := exec.CommandContext(ctx, "redis-benchmark", args...).Output() //nolint:gosec // our own arguments
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark: %w", err)
	}
	left, err := s.Redis.HGet(ctx, fmt.Sprintf("{sale:%d:0}:stock", l.sale), strconv.FormatInt(l.item, 10)).Int()
	// It draws shoppers at random, and now and then one twice.
	if err != nil || left > b.Reserves/100 {
		return 0, fmt.Errorf("redis-benchmark: %d units are left, %w", left, err)
	}
	lines, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
	if err != nil || len(lines) != 2 || len(lines[1]) < 2 {
		return 0, fmt.Errorf("redis-benchmark: printed %q, %w", out, err)
	}
	return strconv.ParseFloat(lines[1][1], 64)
}

// infoSeconds reads a field of INFO.
func infoSeconds(text, field string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			seconds, err := strconv.ParseFloat(value, 64)
			return time.Duration(seconds * float64(time.Second)), err
		}
	}
	return 0, fmt.Errorf("redis: INFO has no %s", field)
}
