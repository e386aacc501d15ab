package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func testGateway(t *testing.T, s stack) {
	token := s.login(t, "visitor")
	const base = "/api/flash-sales"
	for _, test := range []struct {
		method, path, token, body string
		status                    int
		code, allow               string
	}{
		{"GET", "/nowhere", "", "", 404, "NOT_FOUND", ""},
		{"GET", "/nowhere", token, "", 404, "NOT_FOUND", ""},
		{"PUT", base + "/7", "", "{}", 405, "METHOD_NOT_ALLOWED", "OPTIONS, GET"},
		{"DELETE", base + "/items/1/purchase", token, "", 405, "METHOD_NOT_ALLOWED", "OPTIONS, POST"},
		{"POST", base + "/orders/x", token, "{}", 405, "METHOD_NOT_ALLOWED", "OPTIONS, GET, DELETE"},
		{"POST", base + "/7/my-order", token, "{}", 405, "METHOD_NOT_ALLOWED", "OPTIONS, GET"},
		{"GET", base + "/7/admission", token, "", 405, "METHOD_NOT_ALLOWED", "OPTIONS, POST"},
		{"GET", base + "/payments", "", "", 405, "METHOD_NOT_ALLOWED", "POST"},
		{"POST", base + "/payments", "", "nonsense", 401, "UNAUTHENTICATED", ""},
		{"POST", base + "/payments", "", "{}", 401, "UNAUTHENTICATED", ""},
		{"POST", base + "/items/1/purchase", "", "", 401, "UNAUTHENTICATED", ""},
		{"POST", base + "/items/1/purchase", token, "", 404, "UNKNOWN_ITEM", ""},
		{"GET", base + "/1", "", "", 404, "UNKNOWN_SALE", ""},
	} {
		a := call(t, test.method, s.api+test.path, test.token, test.body)
		if a.status != test.status || a.body.Error != test.code || a.header.Get("Allow") != test.allow {
			t.Errorf("%s %s: got %d %s, Allow %q, want %d %s, Allow %q", test.method, test.path,
				a.status, a.text, a.header.Get("Allow"), test.status, test.code, test.allow)
		}
		if !strings.Contains(a.text, `"message":`) {
			t.Errorf("%s %s: got %s, want a message", test.method, test.path, a.text)
		}
	}
}

// testGatewayResponses are those that no request brings about here, such as THROTTLED.
func testGatewayResponses(t *testing.T, s stack) {
	api := regexp.MustCompile(`execute-api/([a-z0-9]+)/`).FindStringSubmatch(s.api)[1]
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.functions.Endpoint+"/restapis/"+api+"/gatewayresponses", nil)
	if err != nil {
		t.Fatal(err)
	}
	// LocalStack reads no more of a signature than which service is meant.
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/apigateway/aws4_request, SignedHeaders=host, Signature=0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	list, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Items []struct {
			ResponseType, StatusCode string
			ResponseParameters       map[string]string
			ResponseTemplates        map[string]string
			DefaultResponse          bool
		} `json:"item"`
	}
	if err := json.Unmarshal(list, &answer); err != nil {
		t.Fatalf("gatewayresponses: %v in %s", err, list)
	}
	ours := make(map[string]bool)
	for _, r := range answer.Items {
		if r.DefaultResponse {
			continue
		}
		ours[r.ResponseType] = true
		var body struct{ Error, Message string }
		text := strings.ReplaceAll(r.ResponseTemplates["application/json"], "$context.error.messageString", `"text"`)
		if err := json.Unmarshal([]byte(text), &body); err != nil || body.Error == "" || body.Message == "" {
			t.Errorf("%s: got %s, %v, want an error and a message", r.ResponseType, text, err)
		}
		if limited := r.StatusCode == "429"; limited != (r.ResponseParameters["gatewayresponse.header.Retry-After"] != "") {
			t.Errorf("%s: status %q with headers %v; only 429 has Retry-After", r.ResponseType, r.StatusCode, r.ResponseParameters)
		}
	}
	for _, name := range []string{"DEFAULT_4XX", "DEFAULT_5XX", "THROTTLED", "QUOTA_EXCEEDED", "MISSING_AUTHENTICATION_TOKEN"} {
		if !ours[name] {
			t.Errorf("%s has its own form here, want ours", name)
		}
	}
}
