package saleadmin_test

import (
	"strings"
	"testing"
)

// What the pages ask beside purchases: winners for their orders, a lottery's shoppers for passes.
func TestPreflightOfTheStage(t *testing.T) {
	t.Parallel()
	o := open(t)
	plain, drawn := o.create(t, 10, false), o.Sale(10)
	o.says(t, `{"action":"create","sale":%s}`, strings.Replace(file(drawn, "+1h", "+2h", 10), `"grace"`, `"spread":"60s","grace"`, 1))
	for name, c := range map[string]struct {
		others, passes int // the stage's rates; 0 is not told
		peak           int
		calls, fetched string // other calls, admission passes
	}{
		"nothing is told":        {0, 0, 10, "unknown", "unknown"},
		"as many as units":       {10, 2_000, 10, "ok", "ok"},
		"fewer than units":       {9, 2_000, 10, "missing", "ok"},
		"passes in nine minutes": {10, 1_000, 9_000, "ok", "ok"}, // of 540,000 shoppers
		"one a second too few":   {10, 999, 9_000, "ok", "missing"},
		"a part of one counts":   {10, 1_000, 9_001, "ok", "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &o.h.Estate.Config
			cfg.OtherRate, cfg.AdmissionRate = c.others, c.passes
			got := o.preflight(t, drawn, c.peak)
			got.want(t, c.calls, "other calls")
			got.want(t, c.fetched, "admission passes")
		})
	}
	for _, check := range o.preflight(t, plain, 10).Checks {
		if check.Check == "admission passes" {
			t.Errorf("without a lottery: got %+v", check)
		}
	}
}
