package openapi_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"flashsale/localstack/openapi"
)

func read(t *testing.T) *openapi.Description {
	t.Helper()
	template, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := openapi.Read(template)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const (
	orderID  = "01a22897-b9e8-8427-85fa-c695840bd93d"
	accepted = `{"orderId":"` + orderID + `","status":"PENDING"}`
	purchase = "/api/flash-sales/items/1001/purchase"
)

// won is the head of a 202; pairs replace or, if empty, remove.
func won(pairs ...string) http.Header {
	h := http.Header{
		"Content-Type": {"application/json"}, "Location": {"/api/flash-sales/orders/" + orderID},
		"Retry-After": {"1"}, "Cache-Control": {"no-store"},
	}
	for i := 0; i < len(pairs); i += 2 {
		h.Del(pairs[i])
		if pairs[i+1] != "" {
			h.Set(pairs[i], pairs[i+1])
		}
	}
	return h
}

// Each wrong answer differs from a right one in one thing only.
func TestCheck(t *testing.T) {
	t.Parallel()
	d := read(t)
	plain := http.Header{"Content-Type": {"application/json"}}
	allow := func(methods string) http.Header { return http.Header{"Allow": {methods}} }
	const notAllowed = `{"error":"METHOD_NOT_ALLOWED","message":"m"}`
	const nothing = `{"error":"NOT_FOUND","message":"m"}`
	for name, test := range map[string]struct {
		method, path string
		status       int
		header       http.Header
		body         string
		want         string // part of what is wrong; "" is nothing
	}{
		"accepted":               {"POST", purchase, 202, won(), accepted, ""},
		"with a query":           {"POST", purchase + "?a=/b", 202, won(), accepted, ""},
		"another status":         {"POST", purchase, 201, won(), accepted, "status is not supported"},
		"a field more":           {"POST", purchase, 202, won(), accepted[:len(accepted)-1] + `,"userId":"u1"}`, "userId"},
		"a field less":           {"POST", purchase, 202, won(), `{"status":"PENDING"}`, "orderId"},
		"an unknown state":       {"POST", purchase, 202, won(), strings.Replace(accepted, "PENDING", "SOLD", 1), "status"},
		"an id of another kind":  {"POST", purchase, 202, won(), strings.Replace(accepted, "-8427-", "-4427-", 1), "orderId"},
		"no Location":            {"POST", purchase, 202, won("Location", ""), accepted, "Location"},
		"Location with a stage":  {"POST", purchase, 202, won("Location", "/prod/api/flash-sales/orders/"+orderID), accepted, "Location"},
		"Retry-After in words":   {"POST", purchase, 202, won("Retry-After", "soon"), accepted, "Retry-After"},
		"Cache-Control":          {"POST", purchase, 202, won("Cache-Control", "public"), accepted, "Cache-Control"},
		"Content-Type":           {"POST", purchase, 202, won("Content-Type", "text/html"), accepted, "text/html"},
		"not JSON":               {"POST", purchase, 202, won(), "Internal Server Error", "decode"},
		"refused":                {"POST", purchase, 410, plain, `{"error":"SOLD_OUT","message":"m"}`, ""},
		"a code of another call": {"POST", purchase, 410, plain, `{"error":"UNKNOWN_SALE","message":"m"}`, "error"},
		"no message":             {"POST", purchase, 410, plain, `{"error":"SOLD_OUT"}`, "message"},
		"401 without challenge":  {"POST", purchase, 401, plain, `{"error":"UNAUTHENTICATED","message":"m"}`, "Www-Authenticate"},
		"stored":                 {"POST", "/api/flash-sales/payments", 204, nil, "", ""},
		"stored, with a body":    {"POST", "/api/flash-sales/payments", 204, nil, "{}", "body"},
		"fixed before parameter": {"POST", "/api/flash-sales/payments", 200, plain, accepted, "status is not supported"},

		"a method less":       {"GET", purchase, 405, allow("OPTIONS, POST"), notAllowed, ""},
		"no such method":      {"BUY", purchase, 405, allow("POST, OPTIONS"), notAllowed, ""},
		"HEAD":                {"HEAD", purchase, 405, allow("OPTIONS, POST"), "", ""},
		"a method too many":   {"GET", purchase, 405, allow("OPTIONS, POST, PUT"), notAllowed, "PUT"},
		"no Allow":            {"GET", purchase, 405, nil, notAllowed, "allow"},
		"a method that works": {"GET", purchase, 200, allow("OPTIONS, POST"), accepted, "405"},
		"no such address":     {"GET", "/api/flash-sales", 404, nil, nothing, ""},
		"empty segment":       {"POST", "/api/flash-sales/items//purchase", 404, nil, nothing, ""},
		"an address too many": {"GET", "/api/flash-sales/7/orders", 200, plain, accepted, "404"},
		"another's form":      {"GET", "/api/flash-sales", 404, nil, `{"message":"Missing Authentication Token"}`, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := d.Check(test.method, test.path, test.status, test.header, []byte(test.body))
			switch {
			case test.want == "" && err != nil:
				t.Errorf("got %v, want nothing", err)
			case test.want != "" && (err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(test.want))):
				t.Errorf("got %v, want an error about %s", err, test.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, template := range map[string]string{
		"not YAML": "\t", "no description": "Resources: {Api: {Properties: {StageName: x}}}",
		"not OpenAPI": "Resources: {Api: {Properties: {DefinitionBody: {openapi: 3.0.1, info: {title: x}, paths: {}}}}}",
	} {
		if _, err := openapi.Read([]byte(template)); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	text := string(read(t).JSON())
	for _, word := range []string{"x-amazon", "x-plain", "x-answers", "AWS::", "${", "arn:"} {
		if strings.Contains(text, word) {
			t.Errorf("the plain description has %q", word)
		}
	}
}
