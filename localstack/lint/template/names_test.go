package template_test

import (
	"strings"
	"testing"
)

// A setting is of a method that there is. CloudFormation wants the slashes of its path as ~1.
func TestMethodSettings(t *testing.T) {
	t.Parallel()
	paths := read(t, "Resources", "Api", "Properties", "DefinitionBody", "paths")
	for _, setting := range read(t, "Resources", "Api", "Properties", "MethodSettings").Content {
		method, path := child(setting, "HttpMethod").Value, child(setting, "ResourcePath").Value
		if path == "/*" && method == "*" {
			continue
		}
		rest, ok := strings.CutPrefix(path, "/")
		node := child(paths, strings.ReplaceAll(rest, "~1", "/"))
		if !ok || strings.Contains(rest, "/") || node == nil || child(node, strings.ToLower(method)) == nil {
			t.Errorf("%s %s: there is no such method, or it is not written /~1api~1…", method, path)
		}
	}
}

// saleadmin's preflight counts with the rates that the stage has.
func TestPreflightIsToldTheRates(t *testing.T) {
	t.Parallel()
	told := read(t, "Resources", "SaleAdmin", "Properties", "Environment", "Variables")
	for path, variable := range map[string]string{
		"/*": "OTHER_RATE",
		"/~1api~1flash-sales~1items~1{itemId}~1purchase": "PURCHASE_RATE",
		"/~1api~1flash-sales~1{saleId}~1admission":       "ADMISSION_RATE",
	} {
		for _, setting := range read(t, "Resources", "Api", "Properties", "MethodSettings").Content {
			if child(setting, "ResourcePath").Value != path {
				continue
			}
			got, want := child(told, variable), child(setting, "ThrottlingRateLimit")
			if got == nil || got.Tag != want.Tag || got.Value != want.Value {
				t.Errorf("%s: saleadmin is not told %s %s, which the stage has for %s", variable, want.Tag, want.Value, path)
			}
		}
	}
}

// CloudFront's names are one account's in all regions, and a sale may move to another.
func TestNamesAtTheEdgeTellTheRegion(t *testing.T) {
	t.Parallel()
	for kind, path := range map[string][]string{
		"AWS::CloudFront::OriginAccessControl":   {"OriginAccessControlConfig", "Name"},
		"AWS::CloudFront::ResponseHeadersPolicy": {"ResponseHeadersPolicyConfig", "Name"},
		"AWS::CloudFront::CachePolicy":           {"CachePolicyConfig", "Name"},
		"AWS::CloudFront::Function":              {"Name"},
		"AWS::CloudFront::KeyValueStore":         {"Name"},
	} {
		for name, resource := range resources(t, kind) {
			node := child(resource, "Properties")
			for _, key := range path {
				node = child(node, key)
			}
			suffix, ok := strings.CutPrefix(node.Value, "${AWS::StackName}-${AWS::Region}-")
			// A stack's name has 30 characters, the longest region's 14; CloudFront takes 64.
			if !ok || 30+1+14+1+len(suffix) > 64 {
				t.Errorf("%s: got the name %s", name, node.Value)
			}
		}
	}
}
