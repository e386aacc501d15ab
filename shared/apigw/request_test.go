package apigw_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"flashsale/shared/apigw"
)

func golden(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parse(t *testing.T, event []byte) *apigw.Request {
	t.Helper()
	r, err := apigw.Parse(event)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return r
}

func TestParse(t *testing.T) {
	t.Parallel()
	r := parse(t, golden(t, "purchase"))
	got := []string{r.Method, r.Path, r.Resource, r.Params["itemId"], r.RequestID, r.TraceID}
	want := []string{
		"POST", "/api/flash-sales/items/1001/purchase", "/api/flash-sales/items/{itemId}/purchase", "1001",
		"c6af9ac6-7b61-11e6-9a41-93e8deadbeef", "Root=1-5e66d96f-7491f09xmpl79d18acf3d050",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Parse = %q, want %q", got, want)
	}
	if body, err := r.Body(); err != nil || len(body) != 0 {
		t.Errorf("Body = %q, %v; want nothing", body, err)
	}
}

func TestParseRefusesOtherEvents(t *testing.T) {
	t.Parallel()
	events := map[string][]byte{
		"nothing": nil, "not JSON": []byte("{"), "null": []byte("null"), "empty object": []byte("{}"),
		"array": []byte("[]"), "two documents": []byte("{}{}"), "headers of a wrong type": []byte(`{"headers":[1]}`),
	}
	for _, name := range []string{"not-http-api", "not-load-balancer", "not-kafka", "not-schedule"} {
		events[name] = golden(t, name)
	}
	for name, event := range events {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r, err := apigw.Parse(event); err == nil {
				t.Errorf("Parse = %+v, want an error", r)
			}
		})
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		event  []byte
		header string
		want   []string
	}{
		"any case":               {golden(t, "purchase"), "aUTHORIZATION", []string{"Bearer a.b.c"}},
		"several values":         {golden(t, "purchase"), "idempotency-key", []string{"k1", "k2"}},
		"absent":                 {golden(t, "purchase"), "X-Admission-Pass", nil},
		"single-value only":      {golden(t, "single-value-headers"), "Authorization", []string{"Bearer a.b.c"}},
		"multi-value only":       {golden(t, "multi-value-headers"), "authorization", []string{"Bearer a.b.c", "Bearer d.e.f"}},
		"multi without it":       {event(`"headers":{"A":"1"},"multiValueHeaders":{"B":["2"]}`), "a", []string{"1"}},
		"two spellings":          {event(`"headers":{"A":"1","a":"1"}`), "A", []string{"1", "1"}},
		"two spellings, multi":   {event(`"multiValueHeaders":{"A":["1"],"a":["1"]}`), "A", []string{"1", "1"}},
		"null values":            {event(`"headers":null,"multiValueHeaders":{"A":null}`), "A", nil},
		"empty value is a value": {event(`"headers":{"A":""}`), "A", []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := parse(t, tc.event).Header(tc.header); !slices.Equal(got, tc.want) {
				t.Errorf("Header(%s) = %q, want %q", tc.header, got, tc.want)
			}
		})
	}
}

// event is a small valid event with more fields.
func event(more string) []byte {
	text := `{"httpMethod":"GET","path":"/x","resource":"/x","requestContext":{"requestId":"r1"}`
	if more != "" {
		text += "," + more
	}
	return []byte(text + "}")
}

func TestBody(t *testing.T) {
	t.Parallel()
	body, err := parse(t, golden(t, "webhook-base64")).Body()
	if want := `{"type":"payment.succeeded","name":"Zoë"}`; err != nil || string(body) != want {
		t.Errorf("Body = %q, %v; want %q", body, err, want)
	}
	body, err = parse(t, event(`"body":"e30="`)).Body()
	if err != nil || string(body) != "e30=" {
		t.Errorf("plain Body = %q, %v; want it unchanged", body, err)
	}
	r := parse(t, event(`"body":"%%%","isBase64Encoded":true`)) // parsing does not mind
	_, err = r.Body()
	if refusal, ok := errors.AsType[*apigw.Error](err); !ok || refusal.Code != apigw.BadRequest {
		t.Errorf("Body of nonsense: %v, want BAD_REQUEST", err)
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		f.Add(golden(f, strings.TrimSuffix(filepath.Base(file), ".json")))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := apigw.Parse(text)
		if err != nil {
			return
		}
		if r.Method == "" || r.Path == "" || r.RequestID == "" {
			t.Errorf("Parse took an event without method, path or request id: %s", text)
		}
		if !json.Valid(text) {
			t.Errorf("Parse took what is not JSON: %q", text)
		}
		r.Header("Authorization")
		if _, err := r.Body(); err != nil {
			if _, ok := errors.AsType[*apigw.Error](err); !ok {
				t.Errorf("Body: %v, want an Error", err)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	event := golden(b, "purchase")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := apigw.Parse(event); err != nil {
			b.Fatal(err)
		}
	}
}
