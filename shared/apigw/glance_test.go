package apigw_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/shared/apigw"
)

// compact is a golden event in the form in which Lambda sends it.
func compact(t testing.TB, name string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, golden(t, name)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// small are small events, plain ones and such that a scanner may read otherwise
// than encoding/json does.
func small() map[string][]byte {
	events := map[string][]byte{
		"duplicate path":         []byte(`{"httpMethod":"GET","path":"/x","path":"/y","requestContext":{"requestId":"r1"}}`),
		"another case":           []byte(`{"httpmethod":"GET","path":"/x","requestContext":{"requestId":"r1"}}`),
		"another case beside it": []byte(`{"httpMethod":"GET","HTTPMETHOD":"PUT","path":"/x","requestContext":{"requestId":"r1"}}`),
		"Kelvin sign":            []byte("{\"httpMethod\":\"GET\",\"path\":\"/x\",\"requestContext\":{\"requestId\":\"r1\"},\"i\u017fBase64Encoded\":true}"),
		"escaped key":            []byte(`{"httpMethod":"GET","pat\u0068":"/x","requestContext":{"requestId":"r1"}}`),
		"two contexts":           []byte(`{"httpMethod":"GET","path":"/x","requestContext":{"requestId":"r1"},"requestContext":{"identity":{"sourceIp":"1"}}}`),
		"two identities":         []byte(`{"httpMethod":"GET","path":"/x","requestContext":{"requestId":"r1","identity":{"sourceIp":"1"},"identity":{}}}`),
		"null, then not":         []byte(`{"httpMethod":null,"httpMethod":"GET","path":"/x","requestContext":{"requestId":"r1"}}`),
		"null context":           []byte(`{"httpMethod":"GET","path":"/x","requestContext":null}`),
		"null request id":        []byte(`{"httpMethod":"GET","path":"/x","requestContext":{"requestId":null}}`),
		"behind the end":         append(event(""), '}'),
		"space behind the end":   append(event(""), " \n"...),
		"NUL behind the end":     append(event(""), 0),
		"cut":                    event("")[:40],
		"comma at the end":       []byte(`{"httpMethod":"GET","path":"/x","requestContext":{"requestId":"r1",}}`),
		"comma at the front":     []byte(`{,"httpMethod":"GET","path":"/x","requestContext":{"requestId":"r1"}}`),
		"no comma":               []byte(`{"httpMethod":"GET" "path":"/x","requestContext":{"requestId":"r1"}}`),
		"newline in a string":    []byte("{\"httpMethod\":\"GET\",\"path\":\"/x\n\",\"requestContext\":{\"requestId\":\"r1\"}}"),
		"byte order mark":        append([]byte("\xef\xbb\xbf"), event("")...),
		"many headers":           event(`"headers":{` + strings.Repeat(`"A":"1",`, 300) + `"B":"2"}`),
		"deep":                   event(`"x":` + strings.Repeat("[", 500) + strings.Repeat("]", 500)),
		"too deep":               event(`"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000)),
		"deep and not closed":    event(`"x":` + strings.Repeat("[", 500)),
	}
	for name, more := range map[string]string{
		"empty":                 ``,
		"body":                  `"body":"x"`,
		"body null":             `"body":null`,
		"body escaped":          `"body":"{\"a\":\"\u00e9\ud83d\ude00\ud83d\/\"}"`,
		"body is a number":      `"body":1`,
		"body not UTF-8":        "\"body\":\"\xff\"",
		"body base64":           `"body":"eA==","isBase64Encoded":true`,
		"body escaped base64":   `"body":"eA\u003d\u003d","isBase64Encoded":true`,
		"body is no base64":     `"body":"%","isBase64Encoded":true`,
		"base64 null":           `"isBase64Encoded":null`,
		"base64 is text":        `"isBase64Encoded":"true"`,
		"params":                `"pathParameters":{"itemId":"1001"}`,
		"params null":           `"pathParameters":null`,
		"params empty":          `"pathParameters":{}`,
		"param twice":           `"pathParameters":{"itemId":"1","itemId":"2"}`,
		"param null":            `"pathParameters":{"itemId":null}`,
		"param in two cases":    `"pathParameters":{"itemId":"1","itemid":"2"}`,
		"param escaped":         `"pathParameters":{"itemId":"\u0031"}`,
		"header twice":          `"headers":{"A":"1","A":"2"}`,
		"header null":           `"headers":{"A":null}`,
		"header number":         `"headers":{"A":1}`,
		"headers twice":         `"headers":{"A":"1"},"headers":{"B":"2"}`,
		"headers, then null":    `"headers":{"A":"1"},"headers":null`,
		"escaped value":         `"headers":{"sec-ch-ua":"\"Chromium\";v=\"124\""}`,
		"lone surrogate":        `"headers":{"A":"\ud800"}`,
		"bad escape":            `"headers":{"A":"\x41"}`,
		"short escape":          `"headers":{"A":"\u00"}`,
		"value not UTF-8":       "\"headers\":{\"A\":\"a\xc3(b\"}",
		"name not ASCII":        `"headers":{"Ä":"1"}`,
		"name with Kelvin sign": `"headers":{"\u212a":"1","k":"2"}`,
		"name escaped":          `"headers":{"\u0041":"1","A":"2"}`,
		"list":                  `"multiValueHeaders":{"A":["1","2"],"a":["3"]}`,
		"list twice":            `"multiValueHeaders":{"A":["1","2"],"A":["3"]}`,
		"list, then empty":      `"multiValueHeaders":{"A":["1"],"A":[]},"headers":{"A":"2"}`,
		"list null":             `"multiValueHeaders":{"A":["1"],"A":null},"headers":{"A":"2"}`,
		"list of null":          `"multiValueHeaders":{"A":[null]}`,
		"list is a string":      `"multiValueHeaders":{"A":"1"}`,
		"both forms":            `"multiValueHeaders":{"a":["1"]},"headers":{"A":"2","B":"3"}`,
		"lists repeat":          `"headers":{"A":"1","B":"2","C":"3"},"multiValueHeaders":{"A":["1"],"B":["2"],"C":["3"]}`,
		"lists, one byte other": `"headers":{"A":"1","B":"2","C":"3"},"multiValueHeaders":{"A":["1"],"B":["4"],"C":["3"]}`,
		"lists, other order":    `"headers":{"A":"1","B":"2"},"multiValueHeaders":{"B":["2"],"A":["1"]}`,
		"lists, other case":     `"headers":{"A":"1","B":"2"},"multiValueHeaders":{"a":["1"],"B":["2"]}`,
		"lists, shorter":        `"headers":{"A":"12","B":"2"},"multiValueHeaders":{"A":["1"],"B":["2"]}`,
		"lists, longer":         `"headers":{"A":"1","B":"2"},"multiValueHeaders":{"A":["12"],"B":["2"]}`,
		"lists, more values":    `"headers":{"A":"2","B":"2"},"multiValueHeaders":{"A":["1","2"],"B":["2"]}`,
		"lists, the same twice": `"headers":{"A":"1","B":"2"},"multiValueHeaders":{"A":["1","1"],"B":["2"]}`,
		"lists, fewer":          `"headers":{"A":"1","B":"2"},"multiValueHeaders":{"A":["1"]}`,
		"lists, more":           `"headers":{"A":"1"},"multiValueHeaders":{"A":["1"],"B":["2"]}`,
		"lists, one twice":      `"headers":{"A":"1","A":"1"},"multiValueHeaders":{"A":["1"],"A":["1"]}`,
		"lists with escapes":    `"headers":{"A":"\"\u0041","B":"é"},"multiValueHeaders":{"A":["\"\u0041"],"B":["é"]}`,
		"lists with spaces":     `"headers":{"A":"1","B":"2"},"multiValueHeaders":{"A" :["1"],"B":[ "2" ]}`,
		"lists come first":      `"multiValueHeaders":{"A":["1"]},"headers":{"A":"1"}`,
		"lists not closed":      `"headers":{"A":"1","B":"2"},"multiValueHeaders":{"A":["1","B":["2"]}`,
		"lists are strings":     `"headers":{"A":"1","B":"2"},"multiValueHeaders":{"A":"1","B":"2"}`,
		"lists without commas":  `"headers":{"A":"1","B":"2"},"multiValueHeaders":{"A":["1"]"B":["2"]}`,
		"numbers":               `"x":[0,-0,1.5,-1e9,1E+2,2e-3,10]`,
		"leading zero":          `"x":01`,
		"plus":                  `"x":+1`,
		"no fraction":           `"x":1.`,
		"no exponent":           `"x":1e`,
		"only a sign":           `"x":-`,
		"words":                 `"x":[true,false,null,{},[],{"a":{"b":[]}}]`,
		"bad word":              `"x":nul`,
		"joined words":          `"x":nullnull`,
		"open list":             `"x":[1,]`,
		"crossed brackets":      `"x":[}`,
		"number as a key":       `"x":{1:2}`,
		"no value":              `"x":`,
	} {
		events[name] = event(more)
	}
	return events
}

// agree compares Parse with the full decoder.
func agree(t *testing.T, event []byte) {
	t.Helper()
	fast, fastErr := apigw.Parse(event)
	full, fullErr := apigw.Decode(event)
	if (fastErr == nil) != (fullErr == nil) {
		t.Fatalf("Parse: error %v, the full decoder: %v\n%q", fastErr, fullErr, event)
	}
	if fullErr != nil {
		return
	}
	got, want := apigw.MeaningOf(fast), apigw.MeaningOf(full)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("Parse:\n got %+v\nwant %+v\n%q", got, want, event)
	}
	g, plain := apigw.Look(event)
	if !plain {
		return
	}
	if string(g.Method()) != full.Method || string(g.Resource()) != full.Resource || string(g.RequestID()) != full.RequestID {
		t.Fatalf("Look: %s %s %s, want %+v", g.Method(), g.Resource(), g.RequestID(), want)
	}
	for name := range want.Headers {
		if value, ok := g.Header(name); ok && (value == nil || !slices.Equal(full.Header(name), []string{string(value)})) {
			t.Fatalf("Glance.Header(%s) = %q, want %q", name, value, full.Header(name))
		}
	}
	for name, want := range full.Params {
		if value, ok := g.Param(name); ok && (value == nil || string(value) != want) {
			t.Fatalf("Glance.Param(%s) = %q, want %q", name, value, want)
		}
	}
}

func TestParseAgreesWithTheFullDecoder(t *testing.T) {
	t.Parallel()
	for name, event := range small() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agree(t, event)
		})
	}
}

func FuzzAgreement(f *testing.F) {
	for _, event := range small() {
		f.Add(event)
	}
	for _, name := range []string{"purchase", "multi-value-headers", "preflight", "webhook-base64", "not-http-api"} {
		f.Add(compact(f, name))
	}
	f.Fuzz(agree)
}

// TestGlance looks at what a refusal needs, and that a real event is plain.
func TestGlance(t *testing.T) {
	t.Parallel()
	var g apigw.Glance
	for _, event := range [][]byte{golden(t, "purchase"), compact(t, "purchase")} { // the second in the used one
		if !g.Look(event) {
			t.Fatal("the golden event is not plain")
		}
		item, _ := g.Param("itemId")
		bearer, _ := g.Header("authorization")
		got := []string{string(g.Method()), string(g.Resource()), string(item), string(bearer), string(g.RequestID())}
		want := []string{"POST", "/api/flash-sales/items/{itemId}/purchase", "1001", "Bearer a.b.c", "c6af9ac6-7b61-11e6-9a41-93e8deadbeef"}
		if !slices.Equal(got, want) {
			t.Errorf("Glance %q, want %q", got, want)
		}
		if value, ok := g.Header("Idempotency-Key"); ok {
			t.Errorf("two keys are %q, want not to know", value)
		}
		if value, ok := g.Header("X-Admission-Pass"); value != nil || !ok {
			t.Errorf("no pass is %q, %t; want nothing, known", value, ok)
		}
	}
	if value, ok := g.Param("saleId"); value != nil || !ok {
		t.Errorf("no such parameter is %q, %t; want nothing, known", value, ok)
	}
}

// TestRefusalAllocatesNothing is not parallel: others' allocations would count.
func TestRefusalAllocatesNothing(t *testing.T) {
	edge := apigw.Edge{Log: slog.New(slog.DiscardHandler), Origins: []string{"https://shop.example"}}
	soldOut := edge.Fix(apigw.Refuse(apigw.SoldOut, "This item is sold out."))
	event := compact(t, "purchase")
	var g apigw.Glance // the pool gives some away under the race detector
	if got := testing.AllocsPerRun(100, func() {
		if !g.Look(event) {
			t.Fatal("not plain")
		}
		if _, ok := g.Header("Authorization"); !ok {
			t.Fatal("no Authorization")
		}
		if _, ok := g.Param("itemId"); !ok {
			t.Fatal("no itemId")
		}
		if _, ok := edge.Refuse(t.Context(), &g, soldOut, time.Time{}); !ok {
			t.Fatal("no answer")
		}
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
