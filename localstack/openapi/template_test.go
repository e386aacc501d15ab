package openapi_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

type object = map[string]any

// template is template.yaml; CloudFormation's short forms are their text.
func template(t *testing.T) (resources, body object) {
	t.Helper()
	text, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var whole struct {
		Resources object `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	body, _ = get(whole.Resources, "Api", "Properties", "DefinitionBody").(object)
	if len(body) == 0 {
		t.Fatal("no DefinitionBody")
	}
	return whole.Resources, body
}

func get(value any, names ...string) any {
	for _, name := range names {
		inner, _ := value.(object)
		value = inner[name]
	}
	return value
}

// walk visits all maps below value with their way.
func walk(value any, way string, visit func(way string, o object)) {
	switch value := value.(type) {
	case object:
		visit(way, value)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			walk(value[name], way+"/"+name, visit)
		}
	case []any:
		for i, inner := range value {
			walk(inner, fmt.Sprintf("%s/%d", way, i), visit)
		}
	}
}

// TestWhoIsReachable: the shopper's functions by the API, and nothing else by anybody
// but those who may call lambda:InvokeFunction.
func TestWhoIsReachable(t *testing.T) {
	t.Parallel()
	resources, body := template(t)
	public := []string{"OrderStatus", "Payment", "Purchase", "PurchaseOnInstances", "SaleInfo"}
	routed := make(map[string]bool)
	walk(body, "", func(_ string, o object) {
		for _, name := range callees(o["uri"]) {
			routed[name] = true
		}
	})
	if got := slices.Sorted(maps.Keys(routed)); !slices.Equal(got, public) {
		t.Errorf("routes lead to %v, want %v", got, public)
	}
	functions := 0
	for name, resource := range resources {
		kind, _ := get(resource, "Type").(string)
		switch kind {
		case "AWS::Lambda::Permission":
			called := callees(get(resource, "Properties", "FunctionName"))
			if len(called) == 0 {
				t.Errorf("%s names no function", name)
			}
			for _, f := range called {
				if !slices.Contains(public, f) {
					t.Errorf("%s lets somebody call %s", name, f)
				}
			}
			if who := get(resource, "Properties", "Principal"); who != "apigateway.amazonaws.com" {
				t.Errorf("%s lets %v call, want API Gateway alone", name, who)
			}
			if from, _ := get(resource, "Properties", "SourceArn").(string); !strings.Contains(from, ":${Api}/") {
				t.Errorf("%s is for %q, want this API alone", name, from)
			}
		case "AWS::Lambda::Url", "AWS::Lambda::Alias", "AWS::Serverless::HttpApi", "AWS::ApiGatewayV2::Api":
			t.Errorf("%s: a %s is another way in", name, kind)
		case "AWS::Serverless::Function":
			functions++
			if get(resource, "Properties", "FunctionUrlConfig") != nil {
				t.Errorf("%s has an address of its own", name)
			}
			events, _ := get(resource, "Properties", "Events").(object)
			for event, described := range events {
				if kind := get(described, "Type"); kind != "Schedule" {
					t.Errorf("%s: %s is called by %v", name, event, kind)
				}
			}
		}
	}
	if functions <= len(public) {
		t.Errorf("got %d functions; the template was not read", functions)
	}
	walk(body, "", func(way string, _ object) {
		if strings.Contains(way, "/dev/") || strings.HasSuffix(way, "/dev") {
			t.Errorf("%s is a call of the development server", way)
		}
	})
}

// callees are the functions that a value of the template names, however it names them:
// as a whole, by ${Name.Arn} or by ${Name.Alias}, under conditions too.
func callees(value any) []string {
	var names []string
	switch value := value.(type) {
	case string:
		for _, found := range regexp.MustCompile(`\$\{(\w+)\.(?:Arn|Alias)\}`).FindAllStringSubmatch(value, -1) {
			names = append(names, found[1])
		}
		if len(names) == 0 && regexp.MustCompile(`^[A-Z]\w+$`).MatchString(value) {
			names = append(names, value)
		}
	case []any:
		for _, inner := range value[1:] { // the first is a condition, or a text with the name to come
			names = append(names, callees(inner)...)
		}
	case object:
		for _, inner := range value {
			names = append(names, callees(inner)...)
		}
	}
	return names
}

// TestAPIGatewayCanReadIt: what API Gateway's documentation says that its import
// refuses. LocalStack takes all of it, so nothing else would tell before AWS does.
func TestAPIGatewayCanReadIt(t *testing.T) {
	t.Parallel()
	_, body := template(t)
	words := []string{
		"type", "properties", "required", "items", "enum", "pattern", "description",
		"minimum", "maximum", "minLength", "maxLength", "$ref",
	}
	schemas, _ := get(body, "components", "schemas").(object)
	if len(schemas) == 0 {
		t.Fatal("no schemas")
	}
	for name, schema := range schemas {
		if !regexp.MustCompile(`^[A-Za-z0-9]+$`).MatchString(name) {
			t.Errorf("schema %s: letters and digits only", name)
		}
		walk(schema, name, func(way string, o object) {
			if strings.HasSuffix(way, "/properties") {
				return // their names are ours
			}
			for word := range o {
				if !slices.Contains(words, word) {
					t.Errorf("%s: %s is no word of its models", way, word)
				}
			}
		})
	}
	walk(body, "", func(way string, o object) {
		_, refers := o["$ref"]
		if refers && !strings.HasSuffix(way, "/schema") && !strings.HasPrefix(way, "/components/schemas/") {
			t.Errorf("%s: only schemas may be a $ref", way)
		}
		if _, has := o["securitySchemes"]; has {
			t.Errorf("%s: security schemes must be x-plain-securitySchemes", way)
		}
		if name, ok := o["name"].(string); ok && o["in"] == "header" && strings.EqualFold(name, "Authorization") {
			t.Errorf("%s: Authorization as a parameter takes our 401 away", way)
		}
	})
}

// TestEachCodeIsDescribed holds the list of errors in docs/api.md against the description.
func TestEachCodeIsDescribed(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{"REQUEST_TOO_LARGE 413": true, "FORBIDDEN 403": true, "NOT_FOUND 404": true} // in its text
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\| ([0-9, ]+) \\|").FindAllStringSubmatch(string(docs), -1) {
		for status := range strings.SplitSeq(row[2], ", ") {
			documented[row[1]+" "+status] = true
		}
	}
	_, body := template(t)
	schemas, _ := get(body, "components", "schemas").(object)
	described := make(map[string]bool)
	walk(get(body, "paths"), "", func(way string, o object) {
		status := way[strings.LastIndex(way, "/")+1:]
		ref, _ := get(o, "content", "application/json", "schema", "$ref").(string)
		codes, _ := get(schemas[ref[strings.LastIndex(ref, "/")+1:]], "properties", "error", "enum").([]any)
		for _, code := range codes {
			described[fmt.Sprintf("%s %s", code, status)] = true
		}
	})
	for code := range documented {
		if !described[code] {
			t.Errorf("docs/api.md has %s, the description has not", code)
		}
	}
	for code := range described {
		if !documented[code] {
			t.Errorf("the description has %s, docs/api.md has not", code)
		}
	}
}

// wide are the actions that know no resource.
var wide = []string{
	"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs", "lambda:GetAccountSettings",
	"lambda:ListEventSourceMappings", "servicequotas:GetAWSDefaultServiceQuota", "servicequotas:GetServiceQuota",
	"application-autoscaling:DescribeScheduledActions", "kafka:GetBootstrapBrokers",
}

// TestRights: our functions have SAM's roles (logs, traces, a place in the VPC) and no
// policy of their own; what is granted beside them names its actions and resources.
func TestRights(t *testing.T) {
	t.Parallel()
	resources, _ := template(t)
	granted := 0
	for name, resource := range resources {
		properties, _ := get(resource, "Properties").(object)
		ours := get(resource, "Metadata", "BuildMethod") == "makefile"
		for _, word := range []string{"Policies", "Role"} {
			if ours && properties[word] != nil {
				t.Errorf("%s has %s of its own", name, word)
			}
		}
		kind, _ := get(resource, "Type").(string)
		if kind != "AWS::IAM::Policy" && kind != "AWS::Serverless::Function" && kind != "AWS::IAM::Role" {
			continue
		}
		walk(properties, name, func(way string, o object) {
			if o["Effect"] != "Allow" || o["Action"] == nil || strings.Contains(way, "AssumeRolePolicyDocument") {
				return
			}
			granted++
			actions, _ := o["Action"].([]any)
			if one, ok := o["Action"].(string); ok {
				actions = []any{one}
			}
			if len(actions) == 0 {
				t.Errorf("%s: a statement without actions", way)
			}
			for _, action := range actions {
				text, _ := action.(string)
				if strings.Contains(text, "*") {
					t.Errorf("%s grants %s", way, text)
				}
				if o["Resource"] == "*" && !slices.Contains(wide, text) {
					t.Errorf("%s grants %s on everything", way, text)
				}
			}
		})
	}
	if granted < 10 {
		t.Errorf("got %d statements; the template was not read", granted)
	}
}
