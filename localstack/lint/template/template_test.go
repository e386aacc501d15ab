package template_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"flashsale/web"
)

const root = "../../../"

// read returns the template's node at a path of keys.
func read(t *testing.T, path ...string) *yaml.Node {
	t.Helper()
	text, err := os.ReadFile(root + "template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatalf("template.yaml: %v", err)
	}
	node := document.Content[0]
	for i, key := range path {
		if node = child(node, key); node == nil {
			t.Fatalf("template.yaml has no %s", strings.Join(path[:i+1], "."))
		}
	}
	return node
}

func child(node *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// resources are the names and nodes of all resources of a type.
func resources(t *testing.T, kind string) map[string]*yaml.Node {
	t.Helper()
	all, found := read(t, "Resources"), make(map[string]*yaml.Node)
	for i := 0; i+1 < len(all.Content); i += 2 {
		if child(all.Content[i+1], "Type").Value == kind {
			found[all.Content[i].Value] = all.Content[i+1]
		}
	}
	if len(found) == 0 {
		t.Fatalf("template.yaml has no %s", kind)
	}
	return found
}

func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every command that a script calls is a right of the functions' user. The life test does the same
// for the commands of the client, by using them.
func TestRedisRightsCoverTheScripts(t *testing.T) {
	t.Parallel()
	rights := strings.Fields(redisRights(t))
	scripts, err := filepath.Glob(root + "lua/*.lua")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("scripts: got %v, %v", scripts, err)
	}
	call := regexp.MustCompile(`redis\.p?call\(\s*'([A-Za-z]+)'`)
	for _, script := range scripts {
		for _, found := range call.FindAllStringSubmatch(document(t, strings.TrimPrefix(script, root)), -1) {
			if right := "+" + strings.ToLower(found[1]); !slices.Contains(rights, right) {
				t.Errorf("%s calls %s, but AccessString has no %s", script, found[1], right)
			}
		}
	}
	for _, right := range rights {
		if strings.HasPrefix(right, "~") && right != "~{sale:*" && right != "~catalog" || strings.HasPrefix(right, "+@") || strings.HasPrefix(right, "&") {
			t.Errorf("AccessString: %s is more than the functions need", right)
		}
	}
}

func TestPageHeaders(t *testing.T) {
	t.Parallel()
	got := read(t, "Resources", "PageHeaders", "Properties", "ResponseHeadersPolicyConfig", "SecurityHeadersConfig",
		"ContentSecurityPolicy", "ContentSecurityPolicy").Value
	if want := web.Policy("${PageConnects}"); got != want {
		t.Errorf("the page's policy:\ngot  %s\nwant %s, as in web/web.go", got, want)
	}
}

// CloudFormation takes the edge function's text from the template alone.
func TestEdgeFunction(t *testing.T) {
	t.Parallel()
	got := read(t, "Resources", "AdmissionAtEdge", "Properties", "FunctionCode").Value
	if want := document(t, "web/edge/admission.js"); got != want {
		t.Error("AdmissionAtEdge is not web/edge/admission.js: copy the file into FunctionCode, eight blanks before each line")
	}
	// It replaces the function that only tells the address, so it must do that too.
	statement := regexp.MustCompile(`headers\['true-client-ip'\] = \{ ?value: event\.viewer\.ip ?\};`)
	for _, name := range []string{"AdmissionAtEdge", "Address"} {
		if !statement.MatchString(read(t, "Resources", name, "Properties", "FunctionCode").Value) {
			t.Errorf("%s does not tell the API the caller's address", name)
		}
	}
}

// Purchases meet the admission check, and all calls but the cached one tell the caller's address.
func TestEveryPathOfTheAPIHasItsFunction(t *testing.T) {
	t.Parallel()
	for _, behaviour := range read(t, "Resources", "Distribution", "Properties", "DistributionConfig", "CacheBehaviors").Content {
		path, functions := child(behaviour, "PathPattern").Value, child(behaviour, "FunctionAssociations")
		if path == "/api/flash-sales/*" {
			continue // it hands no such header on
		}
		if functions == nil { // a copy: it must be one of a behaviour without the check
			functions = child(child(behaviour, "<<").Alias, "FunctionAssociations")
		}
		want := "Address.FunctionARN"
		if path == "/api/flash-sales/items/*" {
			want = "AdmitsAtEdge AdmissionAtEdge.FunctionARN Address.FunctionARN"
		}
		function := child(functions.Content[0], "FunctionARN")
		got := function.Value
		if function.Tag == "!If" {
			got = function.Content[0].Value + " " + function.Content[1].Value + " " + function.Content[2].Value
		}
		if got != want || child(functions.Content[0], "EventType").Value != "viewer-request" {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// What saleadmin calls of Application Auto Scaling is what its role may call, no more and no less.
func TestWarmthHasItsRights(t *testing.T) {
	t.Parallel()
	var calls, rights []string
	for _, found := range regexp.MustCompile(`w\.call\(ctx, "([A-Za-z]+)"`).FindAllStringSubmatch(document(t, "functions/saleadmin/warm.go"), -1) {
		calls = append(calls, found[1])
	}
	for _, statement := range read(t, "Resources", "ScheduleWarmth", "Properties", "PolicyDocument", "Statement").Content {
		action := child(statement, "Action")
		for _, one := range append(action.Content, action) {
			if right, ok := strings.CutPrefix(one.Value, "application-autoscaling:"); ok {
				rights = append(rights, right)
			}
		}
	}
	slices.Sort(calls)
	slices.Sort(rights)
	if len(calls) == 0 || !slices.Equal(slices.Compact(calls), rights) {
		t.Errorf("ScheduleWarmth: got %v, want %v as in functions/saleadmin/warm.go", rights, calls)
	}
}

// What preflight asks of the account is said in one place for those who run it without this template.
func TestPreflightHasItsRights(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(document(t, "docs/operations.md"), "\n### Preflight\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var said, rights []string
	for _, found := range regexp.MustCompile("`((?:lambda|servicequotas):[A-Za-z]+)`").FindAllStringSubmatch(section, -1) {
		said = append(said, found[1])
	}
	for _, statement := range read(t, "Resources", "AskTheAccount", "Properties", "PolicyDocument", "Statement").Content {
		for _, action := range child(statement, "Action").Content {
			rights = append(rights, action.Value)
		}
	}
	slices.Sort(said)
	slices.Sort(rights)
	if len(said) == 0 || !slices.Equal(said, rights) {
		t.Errorf("AskTheAccount: got %v, want %v as in docs/operations.md", rights, said)
	}
}

// Every setting of the functions is described.
func TestEverySettingIsDescribed(t *testing.T) {
	t.Parallel()
	described := document(t, "docs/configuration.md")
	environments := []*yaml.Node{read(t, "Globals", "Function", "Environment", "Variables")}
	for name, function := range resources(t, "AWS::Serverless::Function") {
		variables := child(child(function, "Properties"), "Environment")
		if variables != nil && name != "KeysCopier" { // a script of the template's own
			environments = append(environments, child(variables, "Variables"))
		}
	}
	for _, variables := range environments {
		for i := 0; i < len(variables.Content); i += 2 {
			if name := variables.Content[i].Value; !strings.Contains(described, "`"+name+"`") {
				t.Errorf("docs/configuration.md does not describe %s", name)
			}
		}
	}
}

// A shopper's answer is cached for nobody else: only the public view's behaviour may cache, and it
// hands no Authorization on. Errors are never cached.
func TestOnlyThePublicViewIsCached(t *testing.T) {
	t.Parallel()
	config := read(t, "Resources", "Distribution", "Properties", "DistributionConfig")
	behaviours := child(config, "CacheBehaviors").Content
	for i, behaviour := range behaviours {
		path, policy := child(behaviour, "PathPattern").Value, child(behaviour, "CachePolicyId")
		if policy == nil { // a copy of the first
			policy = child(behaviours[0], "CachePolicyId")
		}
		cached := policy.Tag == "!Ref" && policy.Value == "SaleView"
		if last := i == len(behaviours)-1; cached != last || last != (path == "/api/flash-sales/*") {
			t.Errorf("%s: cached %t; only the last, /api/flash-sales/*, may be", path, cached)
		}
	}
	headers := read(t, "Resources", "SaleView", "Properties", "CachePolicyConfig", "ParametersInCacheKeyAndForwardedToOrigin", "HeadersConfig", "Headers")
	for _, header := range headers.Content {
		if header.Value != "Origin" {
			t.Errorf("the public view's key has %s, want Origin alone", header.Value)
		}
	}
	kept := child(config, "CustomErrorResponses").Content
	for _, code := range []string{"403", "404", "405", "500", "502", "503", "504"} {
		if !slices.ContainsFunc(kept, func(n *yaml.Node) bool {
			return child(n, "ErrorCode").Value == code && child(n, "ErrorCachingMinTTL").Value == "0"
		}) {
			t.Errorf("CloudFront keeps a %s for ten seconds", code)
		}
	}
}

func redisRights(t *testing.T) string {
	t.Helper()
	return read(t, "Resources", "RedisUser", "Properties", "AccessString").Value
}
