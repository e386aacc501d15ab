package template_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The stack's own network has no way out but its endpoints: every service of AWS that a function
// calls has one, under the condition that it is called.
func TestEveryServiceThatIsCalledHasItsEndpoint(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		// Nobody's code, but Lambda's: pollers that are not provisioned, and what instances log and trace.
		"sts":  "OwnNetwork",
		"logs": "InstancesInOwnNetwork",
		"xray": "InstancesTraced",
		"s3":   "OwnNetwork", // JWKS_URL
	}
	call := regexp.MustCompile(`(?:EndpointOf|endpoint)\("([a-z-]+)"\)|autoScaling = "([a-z-]+)"`)
	for _, folder := range []string{"functions", "shared"} {
		err := filepath.WalkDir(root+folder, func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for _, found := range call.FindAllStringSubmatch(document(t, strings.TrimPrefix(path, root)), -1) {
				want[found[1]+found[2]] = "OwnNetwork"
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(want) < 8 {
		t.Errorf("services that are called: got %v; do the calls look otherwise now?", want)
	}
	got := make(map[string]string)
	for name, endpoint := range resources(t, "AWS::EC2::VPCEndpoint") {
		service := child(child(endpoint, "Properties"), "ServiceName").Value
		got[strings.TrimPrefix(service, "com.amazonaws.${AWS::Region}.")] = child(endpoint, "Condition").Value
		if !strings.HasPrefix(service, "com.amazonaws.${AWS::Region}.") {
			t.Errorf("%s: got %s", name, service)
		}
	}
	for service, condition := range want {
		if got[service] != condition {
			t.Errorf("%s: got an endpoint under %q, want %q", service, got[service], condition)
		}
	}
	for service := range got {
		if want[service] == "" {
			t.Errorf("nobody calls %s, but it has an endpoint that costs", service)
		}
	}
}

// Whoever opens a connection may, and whoever gets one lets it in: both sides of each pair of groups.
func TestGroupsAgree(t *testing.T) {
	t.Parallel()
	// FROM PORT TO, by the names of the groups.
	var leaves, enters []string
	for name, rule := range resources(t, "AWS::EC2::SecurityGroupEgress") {
		if name == "NetworkDefault" { // nowhere
			continue
		}
		p := child(rule, "Properties")
		leaves = append(leaves, child(p, "GroupId").Value+" "+child(p, "FromPort").Value+" "+child(p, "DestinationSecurityGroupId").Value)
	}
	for _, rule := range resources(t, "AWS::EC2::SecurityGroupIngress") {
		p := child(rule, "Properties")
		enters = append(enters, child(p, "SourceSecurityGroupId").Value+" "+child(p, "FromPort").Value+" "+child(p, "GroupId").Value)
	}
	for name, group := range resources(t, "AWS::EC2::SecurityGroup") {
		ingress := child(child(group, "Properties"), "SecurityGroupIngress")
		if ingress == nil {
			continue
		}
		for _, rule := range ingress.Content {
			if source := child(rule, "SourceSecurityGroupId"); source != nil {
				enters = append(enters, source.Value+" "+child(rule, "FromPort").Value+" "+name)
			}
		}
	}
	slices.Sort(leaves)
	slices.Sort(enters)
	if len(leaves) < 4 || !slices.Equal(leaves, enters) {
		t.Errorf("what may leave:  %q\nwhat is let in: %q", leaves, enters)
	}
}
