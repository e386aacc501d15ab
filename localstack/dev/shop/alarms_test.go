package shop_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flashsale/shared/telemetry/telemetrytest"
)

var (
	anchors = regexp.MustCompile(`Dimensions: &(\w+) (\[.*?\])[,}\n]`)
	single  = regexp.MustCompile(`Namespace: FlashSale\n\s+MetricName: (\w+)\n\s+Dimensions: (?:&\w+ )?(\*\w+|\[.*?\])[ \n]`)
	inline  = regexp.MustCompile(`Namespace: FlashSale, MetricName: (\w+), Dimensions: (?:&\w+ )?(\*\w+|\[.*?\])\}`)
	pairs   = regexp.MustCompile(`\{Name: (\w+), Value: !Ref (\w+)\}`)
	graph   = regexp.MustCompile(`\["FlashSale", "(\w+)", "Function", "\$\{(\w+)\}"((?:, \{[^}]*\})?\](?:, \["\.", "\w+", "\.", "\."(?:, \{[^}]*\})?\])*)`)
	further = regexp.MustCompile(`\["\.", "(\w+)", "\.", "\."`)
	search  = regexp.MustCompile(`SEARCH\('\{FlashSale,Function,(\w+)\} Function=\\"\$\{(\w+)\}\\" MetricName=\\"(\w+)\\"'`)
)

// folder is the function behind a name of the template. Sells is whichever purchase sells.
func folder(resource string) string {
	if resource == "Sells" || strings.HasPrefix(resource, "Purchase") {
		return "purchase"
	}
	return strings.ToLower(resource)
}

// wanted are the figures that the template's alarms and dashboard look at, as "function metric
// further dimensions".
func wanted(t *testing.T, template string) map[string]bool {
	t.Helper()
	lists := map[string]string{}
	for _, found := range anchors.FindAllStringSubmatch(template, -1) {
		lists["*"+found[1]] = found[2]
	}
	want, seen := map[string]bool{}, 0
	for _, found := range slices.Concat(single.FindAllStringSubmatch(template, -1), inline.FindAllStringSubmatch(template, -1)) {
		list := found[2]
		if strings.HasPrefix(list, "*") {
			list = lists[list]
		}
		dimensions := pairs.FindAllStringSubmatch(list, -1)
		if len(dimensions) != 1 || dimensions[0][1] != "Function" {
			t.Errorf("an alarm on %s has the dimensions %q, want Function alone", found[1], list)
			continue
		}
		want[folder(dimensions[0][2])+" "+found[1]] = true
		seen++
	}
	for _, found := range graph.FindAllStringSubmatch(template, -1) {
		want[folder(found[2])+" "+found[1]] = true
		for _, more := range further.FindAllStringSubmatch(found[3], -1) {
			want[folder(found[2])+" "+more[1]] = true
		}
		seen++
	}
	for _, found := range search.FindAllStringSubmatch(template, -1) {
		want[folder(found[2])+" "+found[3]+" "+found[1]] = true
		seen++
	}
	// What this test cannot read it must not pass over.
	if named := len(regexp.MustCompile(`Namespace: FlashSale|"FlashSale"|\{FlashSale,`).FindAllString(template, -1)); seen != named || seen == 0 {
		t.Fatalf("the template names the namespace %d times, of which %d are understood", named, seen)
	}
	return want
}

// TestAlarmsLookAtWhatIsTold drives all functions and holds what they tell against the template:
// an alarm on a figure that nobody tells is silent for ever, or never.
func TestAlarmsLookAtWhatIsTold(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := wanted(t, string(text))
	for _, alarmed := range []string{"stockkeeper Conserved", "expirer Expired", "purchase Purchases Outcome"} {
		if !want[alarmed] {
			t.Errorf("the template does not look at %s", alarmed)
		}
	}
	w, _, figures := openTold(t)
	w.drive("u")
	told := map[string]bool{}
	for _, one := range telemetrytest.Read(t, figures.read()) {
		key := one.Dimensions["Function"] + " " + one.Name
		if _, ok := one.Dimensions["Outcome"]; ok {
			key += " Outcome"
		}
		told[key] = true
	}
	for _, figure := range slices.Sorted(maps.Keys(want)) {
		if !told[figure] {
			t.Errorf("%s is looked at and never told; told are %q", figure, slices.Sorted(maps.Keys(told)))
		}
	}
}
