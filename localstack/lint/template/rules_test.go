package template_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// Parameters that do not fit together are refused before anything is made, those of the profiles are not.
func TestRules(t *testing.T) {
	t.Parallel()
	defaults := make(map[string]string)
	all := read(t, "Parameters")
	for i := 0; i+1 < len(all.Content); i += 2 {
		if value := child(all.Content[i+1], "Default"); value != nil {
			defaults[all.Content[i].Value] = value.Value
		}
	}
	broken := func(parameters map[string]string) (rules []string) {
		values := maps.Clone(defaults)
		maps.Copy(values, parameters)
		all := read(t, "Rules")
		for i := 0; i+1 < len(all.Content); i += 2 {
			rule := all.Content[i+1]
			if condition := child(rule, "RuleCondition"); condition != nil && !holds(t, condition, values) {
				continue
			}
			for _, assertion := range child(rule, "Assertions").Content {
				if !holds(t, child(assertion, "Assert"), values) {
					rules = append(rules, all.Content[i].Value)
				}
			}
		}
		return rules
	}
	profiles := regexp.MustCompile(`(?s)\[(dev|prod)\.deploy\.parameters\].*?parameter_overrides = \[(.*?)\n\]`).FindAllStringSubmatch(document(t, "samconfig.toml"), -1)
	if len(profiles) != 2 {
		t.Fatalf("samconfig.toml: got %d profiles, want dev and prod", len(profiles))
	}
	for _, profile := range profiles {
		parameters := make(map[string]string)
		for _, found := range regexp.MustCompile(`(?m)^ *"(\w+)=(.*)",$`).FindAllStringSubmatch(profile[2], -1) {
			parameters[found[1]] = found[2]
			if read(t, "Parameters", found[1]) == nil {
				t.Errorf("%s: there is no parameter %s", profile[1], found[1])
			}
		}
		if got := broken(parameters); len(parameters) < 5 || got != nil {
			t.Errorf("%s: got %v refused of %v", profile[1], got, parameters)
		}
	}
	for name, c := range map[string]struct {
		parameters string
		want       []string
	}{
		"the least":                           {"JwksUrl=x", nil},
		"local":                               {"Stage=local JwksUrl=x Redis=existing KafkaBrokers=b", nil},
		"no keys":                             {"", []string{"KeysComeFromOnePlace"}},
		"keys twice":                          {"JwksUrl=x Jwks=y", []string{"KeysComeFromOnePlace"}},
		"a network":                           {"Jwks=y VpcId=v SubnetIds=a,b,c", nil},
		"a network without subnets":           {"Jwks=y VpcId=v", []string{"NetworksHaveSubnets"}},
		"a database that nobody reaches":      {"Jwks=y Database=existing", []string{"ExistingServersHaveTheirNetwork"}},
		"a cluster that nobody reaches":       {"Jwks=y KafkaClusterArn=k KafkaBrokers=b", []string{"ExistingServersHaveTheirNetwork"}},
		"a cluster without brokers":           {"Jwks=y VpcId=v SubnetIds=a KafkaClusterArn=k", []string{"ClustersHaveBrokers"}},
		"all three servers and their network": {"Jwks=y VpcId=v SubnetIds=a,b,c KafkaClusterArn=k KafkaBrokers=b Redis=existing Database=existing", nil},
		"a domain without a certificate":      {"Jwks=y PageDomain=d", []string{"DomainsHaveCertificates"}},
		"a domain with one":                   {"Jwks=y PageDomain=d CertificateArn=c", nil},
	} {
		parameters := make(map[string]string)
		for field := range strings.FieldsSeq(c.parameters) {
			name, value, _ := strings.Cut(field, "=")
			parameters[name] = value
		}
		if got := broken(parameters); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// holds evaluates what CloudFormation allows in a rule.
func holds(t *testing.T, node *yaml.Node, values map[string]string) bool {
	t.Helper()
	function, parts := strings.TrimPrefix(node.Tag, "!"), node.Content
	if node.Kind == yaml.MappingNode { // the long form
		function, parts = strings.TrimPrefix(node.Content[0].Value, "Fn::"), node.Content[1].Content
	}
	text := func(n *yaml.Node) string {
		if n.Tag == "!Ref" {
			value, ok := values[n.Value]
			if !ok {
				t.Errorf("a rule names the parameter %s, which has no value", n.Value)
			}
			return value
		}
		return n.Value
	}
	switch function {
	case "Equals":
		return text(parts[0]) == text(parts[1])
	case "Contains":
		return slices.Contains(strings.Split(text(parts[0]), ","), text(parts[1]))
	case "Not":
		return !holds(t, parts[0], values)
	case "And":
		return !slices.ContainsFunc(parts, func(part *yaml.Node) bool { return !holds(t, part, values) })
	case "Or":
		return slices.ContainsFunc(parts, func(part *yaml.Node) bool { return holds(t, part, values) })
	}
	t.Errorf("a rule has %q, which the test does not know", function)
	return false
}
