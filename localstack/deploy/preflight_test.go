package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// testPreflight asks LocalStack what preflight asks AWS: each call must have a path and a query that it
// knows. What the small stack lacks is missing there, as it should be.
func testPreflight(t *testing.T, s stack) {
	saleID, _ := s.sell(t, 1, "10m")
	text, err := s.functions.Invoke(t.Context(), "saleadmin", fmt.Appendf(nil, `{"action":"preflight","saleId":%d,"peak":1000}`, saleID))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Checks []struct{ Check, Status, Have, How string }
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("preflight: %v in %s", err, text)
	}
	want := map[string]string{
		"sale loaded": "ok", "nothing stops it": "ok", "holds without a row": "ok", "units on their way back": "ok",
		"records not written": "any", "dead letters": "any", // of the other tests' sales too
		"redis keeps its keys": "ok", "redis connections": "ok", "schema": "ok",
		"topic": "missing", "kafka connections per broker": "unknown", "kafka connections in time": "unknown",
		"clock of redis": "ok", "clock of postgresql": "ok", "certificate of": "missing", "keys of tokens": "ok",
		"other calls": "ok", "lambda concurrency": "ok", "warm environments": "missing",
		"api gateway rate": "unknown", // this edition has no Service Quotas
		"pollers":          "missing", "database connections": "missing",
	}
	seen := make(map[string]bool)
	for _, c := range got.Checks {
		name := c.Check
		for _, many := range []string{"topic", "certificate of"} {
			if strings.HasPrefix(name, many+" ") {
				name = many
			}
		}
		seen[name] = true
		if want[name] != c.Status && want[name] != "any" {
			t.Errorf("%s: got %+v, want %q", name, c, want[name])
		}
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("%s: preflight says nothing of it", name)
		}
	}
	for name, have := range map[string]string{"lambda concurrency": "1000 of 1000, 0 are reserved", "warm environments": "0", "pollers": "0 mappings"} {
		for _, c := range got.Checks {
			if c.Check == name && c.Have != have {
				t.Errorf("%s: got %+v, want %s", name, c, have)
			}
		}
	}
}
