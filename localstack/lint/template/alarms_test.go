package template_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// Every alarm is under "Alarms" in the operator's document, by the end of its name.
func TestEveryAlarmHasItsLine(t *testing.T) {
	t.Parallel()
	_, section, found := strings.Cut(document(t, "docs/operations.md"), "\n## Alarms\n")
	if !found {
		t.Fatal("docs/operations.md has no section Alarms")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for name, alarm := range resources(t, "AWS::CloudWatch::Alarm") {
		end := strings.TrimPrefix(child(child(alarm, "Properties"), "AlarmName").Value, "${AWS::StackName}-")
		if !strings.Contains(section, "\n| `"+end+"` |") {
			t.Errorf("%s: docs/operations.md has no line for `%s`", name, end)
		}
	}
}

// Every alarm is on the dashboard, under the condition that makes it: a dashboard that names a resource
// which is not made cannot be made either.
func TestEveryAlarmIsOnTheDashboard(t *testing.T) {
	t.Parallel()
	dashboard := read(t, "Resources", "Dashboard")
	body := child(child(dashboard, "Properties"), "DashboardBody").Content
	text, more := body[0].Value, child(body[1], "More")
	all := ""
	for name, alarm := range resources(t, "AWS::CloudWatch::Alarm") {
		condition, arn := child(alarm, "Condition").Value, "\"${"+name+".Arn}\""
		shown := strings.Contains(text, arn)
		if condition != child(dashboard, "Condition").Value {
			shown = !shown && shownIf(more, condition, arn)
			all += ", " + arn
		}
		if !shown {
			t.Errorf("%s, which is made if %s, is not on the dashboard so", name, condition)
		}
	}
	// What CloudWatch gets is JSON.
	text = strings.ReplaceAll(text, "${More}", all)
	text = regexp.MustCompile(`\$\{[^}]+\}`).ReplaceAllString(text, "x")
	if err := json.Unmarshal([]byte(text), new(map[string]any)); err != nil {
		t.Errorf("the dashboard is no JSON: %v\n%s", err, text)
	}
}

// shownIf tells whether parts have !If [condition, !Sub ', arn', ”].
func shownIf(parts *yaml.Node, condition, arn string) bool {
	for _, part := range parts.Content[1].Content {
		if part.Tag == "!If" && part.Content[0].Value == condition && part.Content[1].Value == ", "+arn {
			return true
		}
	}
	return false
}

// Redis' figures carry the ids of nodes, which begin with the group's own id and not the stack's name. A
// quoted word of a search is the whole id, so the group's stands without quotes.
func TestDashboardFindsTheNodesOfRedis(t *testing.T) {
	t.Parallel()
	body := child(child(read(t, "Resources", "Dashboard"), "Properties"), "DashboardBody").Content
	nodes := child(body[1], "Nodes")
	if nodes == nil || nodes.Content[1].Value != "RedisCluster" {
		t.Fatal("the dashboard does not know the id of RedisCluster")
	}
	if !strings.Contains(body[0].Value, "SEARCH('{AWS/ElastiCache,CacheClusterId} ${Nodes} (") {
		t.Error("the dashboard searches Redis' nodes in another way")
	}
	for _, figure := range []string{"EngineCPUUtilization", "CurrConnections", "DatabaseMemoryUsagePercentage"} {
		if !strings.Contains(body[0].Value, `MetricName=\"`+figure+`\"`) {
			t.Errorf("the dashboard does not show %s of Redis", figure)
		}
	}
}
