package forecast_test

import (
	"testing"
	"time"

	"flashsale/localstack/capacity/forecast"
)

// TestHaving: what was raised is no bottleneck any more, and the run with what there is has it.
func TestHaving(t *testing.T) {
	t.Parallel()
	q := forecast.Question{Peak: 30_000, Shoppers: 50_000, Items: 10_000, Spread: time.Minute, Instances: true}
	before := forecast.Simulate(q, measured, forecast.Defaults(q, measured))
	if got := forecast.Bottleneck(needed(q)); got != forecast.OtherCalls || before.Refused.Others == 0 {
		t.Fatalf("bottleneck %q, and %.0f polls refused; want that of other calls", got, before.Refused.Others)
	}
	var err error
	if q.Have, err = forecast.ParseHaving(" API Gateway, other calls = 4e4; PostgreSQL, connections=1e4; API Gateway, rate=12000;"); err != nil {
		t.Fatal(err)
	}
	if got, want := q.Have.String(), "API Gateway, other calls=40000; API Gateway, rate=12000; PostgreSQL, connections=10000"; got != want {
		t.Errorf("it reads %q, want %q", got, want)
	}
	after := forecast.Simulate(q, measured, forecast.Defaults(q, measured))
	if got := forecast.Bottleneck(needed(q)); got != "" || after.Refused.Others != 0 {
		t.Errorf("raised, and the bottleneck is %q, and %.0f polls are refused", got, after.Refused.Others)
	}
	for _, text := range []string{"luck=7", "Lambda, concurrency", "Lambda, concurrency=many", "Lambda, concurrency=0", "Lambda, concurrency=NaN", "order writer=7"} {
		if h, err := forecast.ParseHaving(text); err == nil {
			t.Errorf("%q is read as %v", text, h)
		}
	}
}

func needed(q forecast.Question) []forecast.Need {
	return forecast.Needs(q, measured, forecast.Simulate(q, measured, forecast.Unlimited()))
}
