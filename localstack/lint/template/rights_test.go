package template_test

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// resourceOf is what each right is given for, of AWS' service authorization reference: a part of the
// resource's ARN, or * for an action that knows no resources. Such an action is refused by a policy that
// names one, and the other way round a * is more than is needed.
var resourceOf = map[string]string{
	"application-autoscaling:DeleteScheduledAction":     ":scalable-target/",
	"application-autoscaling:DescribeScheduledActions":  "*",
	"application-autoscaling:PutScheduledAction":        ":scalable-target/",
	"application-autoscaling:RegisterScalableTarget":    ":scalable-target/",
	"ec2:DescribeSecurityGroups":                        "*",
	"ec2:DescribeSubnets":                               "*",
	"ec2:DescribeVpcs":                                  "*",
	"elasticache:Connect":                               ":replicationgroup:",
	"kafka-cluster:AlterGroup":                          ":group/",
	"kafka-cluster:Connect":                             "KafkaCluster",
	"kafka-cluster:DescribeCluster":                     "KafkaCluster",
	"kafka-cluster:DescribeClusterDynamicConfiguration": "KafkaCluster",
	"kafka-cluster:DescribeGroup":                       ":group/",
	"kafka-cluster:DescribeTopic":                       ":topic/",
	"kafka-cluster:DescribeTopicDynamicConfiguration":   ":topic/",
	"kafka-cluster:ReadData":                            ":topic/",
	"kafka-cluster:WriteData":                           ":topic/",
	"kafka-cluster:WriteDataIdempotently":               "KafkaCluster",
	"kafka:DescribeCluster":                             "KafkaCluster",
	"kafka:DescribeClusterV2":                           "KafkaCluster",
	"kafka:GetBootstrapBrokers":                         "*",
	"lambda:DeleteProvisionedConcurrencyConfig":         ":*", // of an alias or a version
	"lambda:GetAccountSettings":                         "*",
	"lambda:GetAlias":                                   ".Arn",
	"lambda:GetFunctionConcurrency":                     ".Arn",
	"lambda:GetFunctionScalingConfig":                   ".Arn",
	"lambda:GetProvisionedConcurrencyConfig":            ":*",
	"lambda:ListEventSourceMappings":                    "*",
	"lambda:ListProvisionedConcurrencyConfigs":          ".Arn",
	"lambda:PutProvisionedConcurrencyConfig":            ":*",
	"rds-db:connect":                                    ":dbuser:",
	"s3:PutObject":                                      ".Arn",
	"secretsmanager:GetSecretValue":                     "Secret DatabaseOwnerUrl", // one of them
	"servicequotas:GetAWSDefaultServiceQuota":           "*",
	"servicequotas:GetServiceQuota":                     "*",
}

// Every right of a role is for what it can be for.
func TestRightsNameWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for name, statement := range statements(t) {
		resource := strings.Join(words(child(statement, "Resource")), " ")
		for _, action := range words(child(statement, "Action")) {
			seen[action] = true
			want, known := resourceOf[action]
			all := resource == "*"
			switch {
			case !known:
				t.Errorf("%s: what is %s for? Look it up and add it here", name, action)
			case all != (want == "*"):
				t.Errorf("%s: %s is given for %q, want %q", name, action, resource, want)
			case !all && !slices.ContainsFunc(strings.Fields(want), func(part string) bool { return strings.Contains(resource, part) }):
				t.Errorf("%s: %s is given for %q, want something with %q", name, action, resource, want)
			}
		}
	}
	for action := range resourceOf {
		if !seen[action] {
			t.Errorf("nobody has %s: it can go from the list", action)
		}
	}
}

// statements are those of all policies of roles. Policies of buckets are another thing.
func statements(t *testing.T) func(yield func(string, *yaml.Node) bool) {
	t.Helper()
	type one struct {
		name      string
		statement *yaml.Node
	}
	var all []one
	add := func(name string, document *yaml.Node) {
		for _, statement := range child(document, "Statement").Content {
			all = append(all, one{name, statement})
		}
	}
	for name, policy := range resources(t, "AWS::IAM::Policy") {
		add(name, child(child(policy, "Properties"), "PolicyDocument"))
	}
	for name, function := range resources(t, "AWS::Serverless::Function") {
		if policies := child(child(function, "Properties"), "Policies"); policies != nil {
			for _, document := range policies.Content {
				add(name, document)
			}
		}
	}
	return func(yield func(string, *yaml.Node) bool) {
		for _, o := range all {
			if !yield(o.name, o.statement) {
				return
			}
		}
	}
}

// words are all texts of a node, what it is an alias of included.
func words(node *yaml.Node) (found []string) {
	switch {
	case node == nil:
	case node.Kind == yaml.AliasNode:
		return words(node.Alias)
	case node.Kind == yaml.ScalarNode:
		return []string{node.Value}
	}
	if node != nil {
		for _, part := range node.Content {
			found = append(found, words(part)...)
		}
	}
	return found
}
