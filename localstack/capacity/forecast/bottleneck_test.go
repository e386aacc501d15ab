package forecast_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"flashsale/localstack/capacity/forecast"
)

// TestEachIsTheBottleneckInTurn makes one need after the other the furthest above what there is.
func TestEachIsTheBottleneckInTurn(t *testing.T) {
	t.Parallel()
	q := question(20 * time.Second)
	all := forecast.Needs(q, measured, forecast.Simulate(q, measured, forecast.Unlimited()))
	q.Instances = true
	all = append(all, forecast.Needs(q, measured, forecast.Simulate(q, measured, forecast.Unlimited()))...)
	seen := map[string]bool{}
	for i := range all {
		tight := slices.Clone(all)
		for j := range tight {
			tight[j].Times = 1 + float64(j)/1000
		}
		tight[i].Times = 3
		if got := forecast.Bottleneck(tight); got != all[i].Name {
			t.Errorf("%s is three times what there is, the bottleneck is %q", all[i].Name, got)
		}
		seen[all[i].Name] = true
	}
	if len(seen) != 15 {
		t.Errorf("needs %v; want 15", slices.Sorted(maps.Keys(seen)))
	}
	for i := range all {
		all[i].Times = 1
	}
	if got := forecast.Bottleneck(all); got != "" {
		t.Errorf("all there is suffices, the bottleneck is %q", got)
	}
}

// TestSalesFindTheirBottleneck: a question or a machine for each bottleneck that a whole sale can have.
func TestSalesFindTheirBottleneck(t *testing.T) {
	t.Parallel()
	slow := measured
	slow.Reserve = 10
	late := measured
	late.Writer = 10
	cold := forecast.Question{Peak: 3_000, Shoppers: 5_000, Items: 200} // 300 environments, each with three connections to a broker
	rush := forecast.Question{Peak: 300_000, Shoppers: 500_000, Items: 10_000, Warm: 30_000}
	for want, sale := range map[string]struct {
		q forecast.Question
		m forecast.Measured
	}{
		forecast.Edge:            {forecast.Question{Peak: 5_000, Shoppers: 1_500_000, Items: 10, Warm: 500}, measured}, // who only watch
		forecast.Concurrency:     {rush, measured},
		forecast.KafkaNewSockets: {cold, measured},
		forecast.GatewayRate:     {forecast.Question{Peak: 300_000, Shoppers: 500_000, Items: 10_000, Instances: true}, measured},
		forecast.OtherCalls:      {forecast.Question{Peak: 30_000, Shoppers: 50_000, Items: 10_000, Spread: time.Minute}, measured},
		forecast.RedisCalls:      {forecast.Question{Peak: 30_000, Shoppers: 50_000, Items: 100, Spread: time.Minute}, slow},
		forecast.Writer:          {forecast.Question{Peak: 30_000, Shoppers: 50_000, Items: 1_000, Spread: time.Minute}, late},
		"":                       {forecast.Question{Peak: 1_000, Shoppers: 2_000, Items: 100, Spread: time.Minute}, measured},
	} {
		found := forecast.Needs(sale.q, sale.m, forecast.Simulate(sale.q, sale.m, forecast.Unlimited()))
		if got := forecast.Bottleneck(found); got != want {
			t.Errorf("%+v with %+v: bottleneck %q, want %q", sale.q, sale.m, got, want)
		}
	}
}

// TestOneLimitRefuses: only the part that is too small refuses, and what is needed is enough.
func TestOneLimitRefuses(t *testing.T) {
	t.Parallel()
	q := question(0)
	ample := forecast.Simulate(q, measured, forecast.Unlimited())
	none := forecast.Refused{}
	if ample.Refused != none {
		t.Fatalf("unlimited, and refused %+v", ample.Refused)
	}
	for name, c := range map[string]struct {
		set  func(l *forecast.Limits, share float64)
		only func(r *forecast.Refused) *float64
	}{
		"edge": {
			func(l *forecast.Limits, share float64) { l.Edge = 20 * share * ample.Peak.Edge },
			func(r *forecast.Refused) *float64 { return &r.Edge },
		},
		"gateway": {
			func(l *forecast.Limits, share float64) {
				l.GatewayRate, l.GatewayBurst = share*ample.Peak.Calls, share*ample.Peak.Calls
			},
			func(r *forecast.Refused) *float64 { return &r.Gateway },
		},
		"others": {
			func(l *forecast.Limits, share float64) { l.Others = 20 * share * ample.Peak.Polls },
			func(r *forecast.Refused) *float64 { return &r.Others },
		},
		"environments": {
			func(l *forecast.Limits, share float64) {
				l.Concurrency = share*(ample.Peak.Environments+ample.Peak.Others) + 1
			},
			func(r *forecast.Refused) *float64 { return &r.Environments },
		},
		"kafka": {
			func(l *forecast.Limits, share float64) { l.Logins = 20 * share * ample.Peak.Logins },
			func(r *forecast.Refused) *float64 { return &r.Kafka },
		},
		"redis": {
			func(l *forecast.Limits, share float64) { l.Redis = 20 * share * ample.Peak.Redis },
			func(r *forecast.Refused) *float64 { return &r.Redis },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enough := forecast.Unlimited()
			c.set(&enough, 1)
			if got := forecast.Simulate(q, measured, enough).Refused; got != none {
				t.Errorf("with what is needed it refused %+v", got)
			}
			tight := forecast.Unlimited()
			c.set(&tight, 0.01)
			got := forecast.Simulate(q, measured, tight).Refused
			if refused := c.only(&got); *refused == 0 {
				t.Error("with a hundredth of it, it refused nobody")
			} else if *refused = 0; got != none {
				t.Errorf("others refused too: %+v", got)
			}
		})
	}
}
