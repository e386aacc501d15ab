package saleadmin_test

import (
	"os"
	"strings"
	"testing"

	"flashsale/shared/config"
)

// Every check has its row in the operator's document.
func TestEveryCheckIsDescribed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### Preflight\n")
	section, _, _ = strings.Cut(section, "\n### ")
	o := open(t)
	drawn := o.Sale(10)
	o.says(t, `{"action":"create","sale":%s}`, strings.Replace(file(drawn, "+1h", "+2h", 10), `"grace"`, `"spread":"60s","grace"`, 1))
	o.h.Estate.Config.Kafka.Auth = config.IAM
	for _, on := range []string{"lambda", "instances"} {
		o.h.Estate.Config.PurchaseOn = on
		for _, check := range o.preflight(t, drawn, 10).Checks {
			name := check.Check
			for _, many := range []string{"topic ", "certificate of "} {
				if strings.HasPrefix(name, many) {
					name = many + "…"
				}
			}
			row := false
			for line := range strings.Lines(section) {
				cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
				row = row || strings.HasPrefix(line, "| ") && strings.Contains(cell, "`"+name+"`")
			}
			if !row {
				t.Errorf("docs/operations.md has no row for `%s`", name)
			}
		}
	}
}
