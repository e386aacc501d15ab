// Package edge_test runs the edge function in a JavaScript engine, with as much of
// CloudFront's runtime around it as the function uses.
package edge_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"
)

// address is the caller's, as CloudFront sees it.
const address = "198.51.100.7"

// A header is one of CloudFront's event; more than one value makes it multi-value.
type header struct {
	Value      string              `json:"value"`
	MultiValue []map[string]string `json:"multiValue,omitempty"`
}

type request struct {
	Method  string            `json:"method"`
	URI     string            `json:"uri"`
	Headers map[string]header `json:"headers"`
}

// An answer is the function's; Status is 0 where the request goes on.
type answer struct {
	Status  int               `json:"statusCode"`
	Headers map[string]header `json:"headers"`
	Body    struct {
		Encoding, Data string
	} `json:"body"`
	URI  string `json:"uri"`
	said struct{ Error, Message, OpensAt, NotBefore string }
}

func (e *edge) handle(t *testing.T, r request) answer {
	t.Helper()
	if r.Headers == nil {
		r.Headers = make(map[string]header)
	}
	// A shopper may send the header too.
	r.Headers["true-client-ip"] = header{"192.0.2.66", []map[string]string{{"value": "192.0.2.66"}, {"value": "192.0.2.67"}}}
	text, err := json.Marshal(map[string]any{"version": "1.0", "viewer": map[string]string{"ip": address}, "request": r})
	if err != nil {
		t.Fatal(err)
	}
	_ = e.vm.Set("given", string(text))
	value, err := e.vm.RunString("handler(JSON.parse(given))")
	if err != nil {
		t.Fatal(err)
	}
	// Awaits are settled before RunString returns.
	promise, ok := value.Export().(*goja.Promise)
	if !ok || promise.State() != goja.PromiseStateFulfilled {
		t.Fatalf("the handler ended as %v", value)
	}
	text, err = json.Marshal(promise.Result())
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	if a.Status == 0 {
		if ip := a.Headers["true-client-ip"]; a.URI != r.URI || ip.Value != address || ip.MultiValue != nil {
			t.Errorf("the request went on as %s", text)
		}
		return a
	}
	if err := json.Unmarshal([]byte(a.Body.Data), &a.said); err != nil || a.Body.Encoding != "text" || a.said.Message == "" ||
		a.Headers["content-type"].Value != "application/json" || a.Headers["cache-control"].Value != "no-store" {
		t.Errorf("not in the API's form: %s", text)
	}
	return a
}

// token is a bearer that nobody has signed.
func token(payload string) string {
	return "Bearer e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
}

func of(userID string) string {
	text, _ := json.Marshal(map[string]any{"iss": "https://id.test", "sub": userID}) // strings
	return token(string(text))
}

func purchase(bearer, pass string) request {
	r := request{"POST", "/api/flash-sales/items/1001/purchase", map[string]header{"host": {Value: "shop.example"}}}
	if bearer != "" {
		r.Headers["authorization"] = header{Value: bearer}
	}
	if pass != "" {
		r.Headers["x-admission-pass"] = header{Value: pass}
	}
	return r
}

// vectors are made, and judged by the purchase function's rules, in shared/admission.
type vectors struct {
	Keys   string `json:"keys"`
	Passes []struct {
		Name, Pass, UserID, Edge string
		SaleID                   int
		OpensAt, NotBefore, Now  time.Time
	} `json:"passes"`
}

func load(t *testing.T) (vectors, *edge) {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil || len(v.Passes) < 20 {
		t.Fatalf("%d vectors, %v", len(v.Passes), err)
	}
	return v, open(t, map[string]string{"keys": v.Keys, "item:1001": "7"})
}

func TestVectors(t *testing.T) {
	t.Parallel()
	all, e := load(t)
	for _, v := range all.Passes {
		e.now = v.Now
		a := e.handle(t, purchase(of(v.UserID), v.Pass))
		// What a vector does not say: until when, and how many whole seconds that is.
		until := map[string]time.Time{"early": v.NotBefore, "not open": v.OpensAt}[v.Edge]
		wait, told := "", a.said.NotBefore+a.said.OpensAt
		if !until.IsZero() {
			wait = strconv.Itoa(int((until.Sub(v.Now) + time.Second - 1) / time.Second))
		}
		want := map[string]struct {
			status int
			code   string
		}{
			"admitted": {0, ""}, "required": {403, "ADMISSION_REQUIRED"}, "early": {403, "ADMISSION_REQUIRED"}, "not open": {403, "SALE_NOT_OPEN"},
		}[v.Edge]
		if a.Status != want.status || a.said.Error != want.code {
			t.Errorf("%s: got %d %s, want %s", v.Name, a.Status, a.Body.Data, v.Edge)
		}
		if at, _ := time.Parse(time.RFC3339Nano, told); !at.Equal(until) || a.Headers["retry-after"].Value != wait {
			t.Errorf("%s: got %q and Retry-After %q, want %s and %q", v.Name, told, a.Headers["retry-after"].Value, until, wait)
		}
	}
}

// TestEveryCharacterCounts changes each character of a good pass.
func TestEveryCharacterCounts(t *testing.T) {
	t.Parallel()
	all, e := load(t)
	good := all.Passes[0]
	e.now = good.Now
	for i := range len(good.Pass) {
		for _, to := range "0A." {
			changed := good.Pass[:i] + string(to) + good.Pass[i+1:]
			if a := e.handle(t, purchase(of(good.UserID), changed)); changed != good.Pass && a.Status != 403 {
				t.Errorf("%s: got %d, want 403", changed, a.Status)
			}
		}
	}
}

// TestWhatGoesOn is everything that the edge does not judge.
func TestWhatGoesOn(t *testing.T) {
	t.Parallel()
	_, e := load(t)
	for name, r := range map[string]request{
		"a sale's view":                {"GET", "/api/flash-sales/7", nil},
		"an admission":                 {"POST", "/api/flash-sales/7/admission", nil},
		"the page":                     {"GET", "/", nil},
		"a preflight":                  {"OPTIONS", "/api/flash-sales/items/1001/purchase", nil},
		"an item of a sale without":    {"POST", "/api/flash-sales/items/1002/purchase", nil},
		"an item that cannot be one":   {"POST", "/api/flash-sales/items/01001/purchase", nil},
		"an item named as a store key": {"POST", "/api/flash-sales/items/keys/purchase", nil},
	} {
		if a := e.handle(t, r); a.Status != 0 {
			t.Errorf("%s: got %d %s, want it to go on", name, a.Status, a.Body.Data)
		}
	}
	delete(e.store, "keys")
	if a := e.handle(t, purchase("", "")); a.Status != 0 {
		t.Errorf("without keys: got %d, want it to go on to the function", a.Status)
	}
}

// TestBearer is what the edge takes for a shopper.
func TestBearer(t *testing.T) {
	t.Parallel()
	all, e := load(t)
	good := all.Passes[0]
	e.now = good.Now
	for name, bearer := range map[string]string{
		"none": "", "another scheme": "Basic dTE6cA==", "two parts": "Bearer e30.e30", "not base64": "Bearer e30.!!!.c2ln",
		"not JSON": token("sub"), "no sub": token(`{}`), "a number": token(`{"sub":1}`), "null": token(`null`), "empty": token(`{"sub":""}`),
	} {
		if a := e.handle(t, purchase(bearer, good.Pass)); a.Status != 401 || a.said.Error != "UNAUTHENTICATED" || a.Headers["www-authenticate"].Value != "Bearer" {
			t.Errorf("%s: got %d %s, want 401", name, a.Status, a.Body.Data)
		}
	}
	for name, bearer := range map[string]string{
		"scheme in lower case": strings.Replace(of(good.UserID), "Bearer", "bearer", 1),
		"an escaped sub":       token(`{"sub":"\u00751"}`),
		"padded":               strings.Replace(of(good.UserID), ".c2ln", "==.c2ln", 1),
	} {
		if a := e.handle(t, purchase(bearer, good.Pass)); a.Status != 0 {
			t.Errorf("%s: got %d %s, want it to go on", name, a.Status, a.Body.Data)
		}
	}
	// The stage may stand before the path.
	staged := purchase(of(good.UserID), "")
	staged.URI = "/prod" + staged.URI
	if a := e.handle(t, staged); a.Status != 403 {
		t.Errorf("below a stage: got %d, want 403", a.Status)
	}
	for _, name := range []string{"authorization", "x-admission-pass"} {
		twice := purchase(of(good.UserID), good.Pass)
		value := twice.Headers[name].Value
		twice.Headers[name] = header{value, []map[string]string{{"value": value}, {"value": value}}}
		if a := e.handle(t, twice); a.Status == 0 {
			t.Errorf("%s sent twice went on, want it refused", name)
		}
	}
}

// TestRuntime keeps to what CloudFront's runtime takes.
func TestRuntime(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("admission.js")
	if err != nil {
		t.Fatal(err)
	}
	if len(source) >= 10<<10 {
		t.Errorf("%d bytes, fewer than 10 KB are allowed", len(source))
	}
	for line := range strings.Lines(string(source)) {
		code, _, _ := strings.Cut(line, "//")
		for _, missing := range []string{" of ", "...", "=>", "fetch(", "setTimeout", "eval(", "?.", "??", "class ", "process.", "console."} {
			if strings.Contains(code, missing) {
				t.Errorf("%q is not in the runtime, or better left out: %s", missing, line)
			}
		}
	}
}
