package forecast_test

import (
	"strings"
	"testing"

	"flashsale/localstack/capacity/forecast"
)

// TestShardsShareHoldsNotLooks: an environment looks at every node, so what helps
// against holds and polls does not help against looks.
func TestShardsShareHoldsNotLooks(t *testing.T) {
	t.Parallel()
	peak := func(items, shards float64) forecast.Peak {
		q := question(0)
		q.Items, q.Shards = items, shards
		return forecast.Simulate(q, measured, forecast.Unlimited()).Peak
	}
	t.Run("sold out", func(t *testing.T) {
		t.Parallel()
		one, eight := peak(1_000, 1), peak(1_000, 8)
		// 3,000 environments look five times a second, a look costs a node two holds.
		near(t, "a node of one", one.Redis, 3_000*5*2, 0.15)
		if eight.RedisEach != one.RedisEach || eight.Redis < one.RedisEach {
			t.Errorf("looks at a node fall from %.0f to %.0f, its load to %.0f, with eight shards", one.RedisEach, eight.RedisEach, eight.Redis)
		}
	})
	t.Run("never sold out", func(t *testing.T) {
		t.Parallel()
		one, eight := peak(50_000, 1), peak(50_000, 8)
		near(t, "holds and polls of one node", eight.Redis-eight.RedisEach, (one.Redis-one.RedisEach)/8, 0.05)
	})
}

// TestRedisAdvice: more shards are named only where they help.
func TestRedisAdvice(t *testing.T) {
	t.Parallel()
	slow := measured
	slow.Reserve = 4_000
	for name, c := range map[string]struct {
		items, shards float64
		says          string
	}{
		"looks":                     {1_000, 1, "fewer environments"},
		"more shards against looks": {1_000, 64, "fewer environments"},
		"holds":                     {50_000, 1, "shards of the sale, "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := question(0)
			q.Items, q.Shards = c.items, c.shards
			if c.items == 50_000 { // on instances few environments look
				q.Instances = true
			}
			need := needs(q, slow)[forecast.RedisCalls]
			if need.Times <= 1 || !strings.HasPrefix(need.How, c.says) {
				t.Errorf("%.1f times what there is, and the advice is %q; want %q", need.Times, need.How, c.says)
			}
		})
	}
}

// TestColdEnvironmentsLogIn: without warm ones all connect to Kafka in the first second.
func TestColdEnvironmentsLogIn(t *testing.T) {
	t.Parallel()
	cold := forecast.Question{Peak: 3_000, Shoppers: 5_000, Items: 200}
	warm := cold
	warm.Warm = 300
	half := cold
	half.Warm = 150
	near(t, "new connections to a broker, cold", needs(cold, measured)[forecast.KafkaNewSockets].Need, 3*300, 0.01)
	near(t, "half of them warm", needs(half, measured)[forecast.KafkaNewSockets].Need, 3*150, 0.01)
	near(t, "warmed over a quarter of an hour", needs(warm, measured)[forecast.KafkaNewSockets].Need, 3*300/900, 1e-9)
	for name, n := range needs(warm, measured) {
		if n.Times > 1 {
			t.Errorf("warm, and %s is %.1f times what there is", name, n.Times)
		}
	}

	slow, fast := forecast.Simulate(cold, measured, forecast.Defaults(cold, measured)), forecast.Simulate(warm, measured, forecast.Defaults(warm, measured))
	if slow.Refused.Kafka == 0 || fast.Refused.Kafka != 0 || slow.SoldOut <= fast.SoldOut {
		t.Errorf("cold: %.0f refused, sold out after %.2f s; warm: %.0f and %.2f s", slow.Refused.Kafka, slow.SoldOut, fast.Refused.Kafka, fast.SoldOut)
	}
	near(t, "sold in spite of it", slow.Wins, cold.Items, 1e-9)
}

// TestPreflightPeak: what preflight is to be asked for is each way's own.
func TestPreflightPeak(t *testing.T) {
	t.Parallel()
	f, text := documented(t, measured)
	if want := "  first-come: \"peak\":300000\n"; !strings.Contains(text, want) {
		t.Errorf("it does not say %q:\n%s", want, text)
	}
	near(t, "the lottery's peak", f.Ways[2].Preflight, 500_000/60, 0.2)
}
