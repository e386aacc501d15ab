package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"flashsale/localstack/servers"
)

// An input is a call that is wrong, or odd, and its one right answer.
type input struct {
	method, path string
	header       http.Header
	body         string
	code         int
	refusal      string // "" is none
}

// TestBadInput sends nonsense of every kind to a server where one shopper owns an
// order. Each call has its defined answer, and none of them changes anything.
func TestBadInput(t *testing.T) {
	t.Parallel()
	sale := newSale(5)
	s := open(t, openBackends(t).env(), sale)
	item := sale.Items[0].ID
	owner := s.login(t, "owner")
	bought, _, err := owner.buy(t.Context(), item, "")
	if err == nil && bought.Code == http.StatusAccepted {
		_, err = owner.follow(t.Context(), bought.OrderID, payable)
	}
	if err != nil || bought.Code != http.StatusAccepted {
		t.Fatalf("purchase: got %s, %v, want 202", bought, err)
	}
	before := s.settled(t, sale.ID)

	for kind, inputs := range map[string]map[string]input{
		"ids":           badIDs(owner, sale.ID),
		"routes":        badRoutes(owner, sale.ID, item, bought.OrderID),
		"authorization": badAuthorization(owner, sale.ID, item, bought.OrderID),
		"tokens":        badTokens(t, s, item, bought.OrderID),
		"content":       oddContent(owner, item),
	} {
		t.Run(kind, func(t *testing.T) {
			for _, name := range slices.Sorted(maps.Keys(inputs)) {
				t.Run(name, func(t *testing.T) { inputs[name].check(t, s, bought.OrderID) })
			}
		})
	}
	after := s.settled(t, sale.ID)
	if got, want := fmt.Sprint(after), fmt.Sprint(before); got != want {
		t.Errorf("the report after it all: got %s, want %s as before", got, want)
	}
	wantItem(t, after, 0, 1, 4, map[string]int{"PENDING": 1})
}

// internal is what no answer may tell.
var internal = []string{
	"panic", "goroutine", ".go", "apigw", "identity:", "jose", "signature", "redis", "kafka", "pgx", "postgres", "sqlstate", "127.0.0.1", "dial tcp",
}

// check wants the answer's status and code, the API's error form and nothing internal.
func (in input) check(t *testing.T, s *shop, order string) {
	t.Helper()
	a, err := s.call(t.Context(), in.method, in.path, in.header, in.body)
	if err != nil {
		t.Fatal(err)
	}
	if a.Code != in.code || a.Error != in.refusal {
		t.Fatalf("got %s, want %d %s", a, in.code, in.refusal)
	}
	if kind := a.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("got Content-Type %q, want application/json", kind)
	}
	if in.refusal == "" {
		return
	}
	var form map[string]any
	if err := json.Unmarshal([]byte(a.Text), &form); err != nil || a.Message == "" {
		t.Errorf("got %s, want an error and a message", a)
	}
	wanted := map[string]bool{"error": true, "message": true, "orderId": in.refusal == "ALREADY_PURCHASED"}
	for field := range form {
		if !wanted[field] {
			t.Errorf("got %s, want no field %q", a, field)
		}
	}
	for _, word := range internal {
		if strings.Contains(strings.ToLower(a.Text), word) {
			t.Errorf("got %s, which tells %q", a, word)
		}
	}
	switch challenge := a.Header.Get("WWW-Authenticate"); {
	case a.Code == http.StatusUnauthorized && !strings.HasPrefix(challenge, "Bearer"):
		t.Errorf("got WWW-Authenticate %q, want Bearer", challenge)
	case a.Code == http.StatusMethodNotAllowed && a.Header.Get("Allow") == "":
		t.Error("got no Allow")
	case a.Code == http.StatusConflict && a.OrderID != order:
		t.Errorf("got order %q, want the own one, %s", a.OrderID, order)
	}
}

func badIDs(owner shopper, sale uint32) map[string]input {
	inputs := make(map[string]input)
	wrong := map[string]string{
		"zero": "0", "negative": "-1", "2 to the 63": "9223372036854775808", "huge": strings.Repeat("9", 400),
		"text": "thing", "slash": "%2F", "nul": "%00", "space": "%20", "leading zero": "01", "plus": "%2B1", "padded": "1%20",
		"hexadecimal": "0x1", "fraction": "1.0", "exponent": "1e3", "other digits": "%D9%A1", "not UTF-8": "%FF", "dots": "..",
	}
	for name, id := range wrong {
		for what, in := range map[string]input{
			"item":     {method: "POST", path: "/api/flash-sales/items/" + id + "/purchase", refusal: "UNKNOWN_ITEM"},
			"order":    {method: "GET", path: "/api/flash-sales/orders/" + id, refusal: "UNKNOWN_ORDER"},
			"sale":     {method: "GET", path: "/api/flash-sales/" + id, refusal: "UNKNOWN_SALE"},
			"my order": {method: "GET", path: "/api/flash-sales/" + id + "/my-order", refusal: "UNKNOWN_SALE"},
		} {
			in.code, in.header = http.StatusNotFound, bearer(owner.token)
			inputs[what+" "+name] = in
		}
	}
	inputs["sale 2 to the 32"] = input{method: "GET", path: "/api/flash-sales/4294967296", code: 404, refusal: "UNKNOWN_SALE"}
	inputs["item unknown"] = input{method: "POST", path: purchasePath(servers.ItemID()), header: bearer(owner.token), code: 404, refusal: "UNKNOWN_ITEM"}
	for name, id := range map[string]string{
		"of nobody":    fmt.Sprintf("00000000-0000-8000-8000-%012x", sale),
		"upper case":   "0198C5A0-0000-8000-8000-0000000000AB",
		"other kind":   "0198c5a0-0000-4000-8000-0000000000ab",
		"without dash": "0198c5a0000080008000000000000000",
	} {
		inputs["order "+name] = input{method: "GET", path: orderPath(id), header: bearer(owner.token), code: 404, refusal: "UNKNOWN_ORDER"}
	}
	return inputs
}

func badRoutes(owner shopper, sale uint32, item int64, order string) map[string]input {
	inputs := make(map[string]input)
	for name, path := range map[string]string{
		"root": "/api", "api": "/api/flash-sales", "no item": "/api/flash-sales/items//purchase", "verb": fmt.Sprintf("/api/flash-sales/items/%d/buy", item),
		"end slash": purchasePath(item) + "/", "two slashes": "/" + purchasePath(item), "deeper": orderPath(order) + "/x",
		"upper case": strings.ToUpper(purchasePath(item)), "elsewhere": "/admin",
	} {
		for _, method := range []string{"GET", "POST"} {
			inputs[method+" "+name] = input{method: method, path: path, header: bearer(owner.token), code: 404, refusal: "NOT_FOUND"}
		}
	}
	for path, methods := range map[string][]string{
		purchasePath(item):             {"GET", "PUT", "PATCH", "DELETE", "TRACE", "BUY"},
		orderPath(order):               {"POST", "PUT", "PATCH"},
		salePath(sale):                 {"POST", "PUT", "DELETE"},
		salePath(sale) + "/my-order":   {"POST", "DELETE"},
		"/api/flash-sales/items":       {"POST"}, // may be a sale's address, which it cannot be
		"/api/flash-sales/0/my-order":  {"PUT"},
		"/api/flash-sales/orders/none": {"PUT"},
	} {
		for _, method := range methods {
			inputs[method+" "+path] = input{method: method, path: path, header: bearer(owner.token), code: 405, refusal: "METHOD_NOT_ALLOWED"}
		}
	}
	return inputs
}

func oddContent(owner shopper, item int64) map[string]input {
	buy := func(body string, change func(http.Header), code int, refusal string) input {
		header := bearer(owner.token)
		if change != nil {
			change(header)
		}
		return input{method: "POST", path: purchasePath(item), header: header, body: body, code: code, refusal: refusal}
	}
	key := func(values ...string) func(http.Header) {
		return func(h http.Header) { h["Idempotency-Key"] = values }
	}
	const own, bad = "ALREADY_PURCHASED", "BAD_REQUEST"
	unknown := buy("", key(""), 404, "UNKNOWN_ITEM")
	unknown.path = purchasePath(servers.ItemID())
	forged := buy("", key(""), 401, "UNAUTHENTICATED")
	forged.header.Set("Authorization", "Bearer a.b.c")
	return map[string]input{
		// Purchase has no use for a body, so none can be wrong.
		"body of 2 MB":        buy(strings.Repeat("x", 2<<20), nil, 409, own),
		"body not JSON":       buy("{", nil, 409, own),
		"body not UTF-8":      buy("\xff\xfe\x00", nil, 409, own),
		"body with a user":    buy(`{"userId":"someone else","itemId":1,"quantity":-5}`, nil, 409, own),
		"content type wrong":  buy("<a/>", func(h http.Header) { h.Set("Content-Type", "text/xml; charset=x") }, 409, own),
		"query string":        {method: "POST", path: purchasePath(item) + "?userId=other&itemId=1", header: bearer(owner.token), code: 409, refusal: own},
		"headers of 10 KB":    buy("", func(h http.Header) { h.Set("X-Filler", strings.Repeat("x", 10<<10)) }, 409, own),
		"key empty":           buy("", key(""), 400, bad),
		"key of 255":          buy("", key(strings.Repeat("k", 255)), 409, own),
		"key of 256":          buy("", key(strings.Repeat("k", 256)), 400, bad),
		"key not ASCII":       buy("", key("schlüssel"), 400, bad),
		"key with a tab":      buy("", key("a\tb"), 400, bad),
		"key with a space":    buy("", key("a b~!"), 409, own),
		"key twice":           buy("", key("a", "a"), 400, bad),
		"key in lower case":   buy("", func(h http.Header) { h["idempotency-key"] = []string{""} }, 400, bad),
		"bad key, bad item":   unknown,
		"bad key, bad token":  forged,
		"admission pass, odd": buy("", func(h http.Header) { h.Set("X-Admission-Pass", "\"") }, 409, own),
	}
}
