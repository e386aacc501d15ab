package forecast

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Having is what somebody has, by the name of a need, where that is not what
// everybody has without asking.
type Having map[string]float64

// ParseHaving reads such as "Lambda, concurrency=40000; Kafka, pollers=16". What
// `make bench` measures cannot be claimed.
func ParseHaving(text string) (Having, error) {
	h := Having{}
	for part := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, number, _ := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		if !slices.Contains(order, name) || name == RedisCalls || name == Writer {
			return nil, fmt.Errorf("forecast: %q cannot be raised; names are those of the table of needs", name)
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n >= 1 && n <= most) {
			return nil, fmt.Errorf("forecast: %s: want =NUMBER, from 1 to %.0f", name, float64(most))
		}
		h[name] = n
	}
	return h, nil
}

// in sets those that the simulation knows.
func (h Having) in(l *Limits) {
	for name, limit := range map[string]*float64{
		Edge: &l.Edge, GatewayRate: &l.GatewayRate, GatewayBurst: &l.GatewayBurst, OtherCalls: &l.Others,
		Concurrency: &l.Concurrency, Growth: &l.Growth, Environments: &l.Instances, KafkaNewSockets: &l.Logins,
	} {
		if n, ok := h[name]; ok {
			*limit = n
		}
	}
}

// String is as [ParseHaving] reads it.
func (h Having) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		parts = append(parts, fmt.Sprintf("%s=%.0f", name, h[name]))
	}
	return strings.Join(parts, "; ")
}
