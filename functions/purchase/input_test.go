package purchase_test

import (
	"context"
	"encoding/base64"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"flashsale/shared/identity/identitytest"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

func TestItemIDs(t *testing.T) {
	t.Parallel()
	c := open(t, silent(t))
	sl := c.sells(t, 1)
	good := itemText(sl, 0)
	for _, item := range []string{
		"", "0", "-1", "9223372036854775807", "9223372036854775808", "18446744073709551617", "abc", "%2F", "/", "%00", "\x00",
		"0" + good, " " + good, good + " ", "+" + good, good + ".0", "0x1", "1e3", good + "\n", "١", "null",
	} {
		t.Run(item, func(t *testing.T) {
			t.Parallel()
			c.answer(t, call{item: item, bearer: provider.Token("u1")}).want(t, 404, "UNKNOWN_ITEM")
		})
	}
	t.Run("no parameter", func(t *testing.T) {
		t.Parallel()
		made := call{bearer: provider.Token("u1"), extra: map[string]any{"pathParameters": nil}}
		c.answer(t, made).want(t, 404, "UNKNOWN_ITEM")
	})
}

func TestAuthorization(t *testing.T) {
	t.Parallel()
	c := open(t, fault(nothingWrong))
	sl := c.sells(t, 100)
	item := itemText(sl, 0)
	token := func(t *testing.T) string { return provider.Token(t.Name()) }
	single := func(headers map[string]string) map[string]any {
		return map[string]any{"headers": headers, "multiValueHeaders": nil}
	}
	for name, tc := range map[string]struct {
		made   func(t *testing.T) call
		status int
	}{
		"lower-case name and scheme": {func(t *testing.T) call {
			return call{extra: single(map[string]string{"authorization": "bearer " + token(t)})}
		}, 202},
		"single-value only": {func(t *testing.T) call {
			return call{extra: single(map[string]string{"Authorization": "Bearer " + token(t)})}
		}, 202},
		"multi-value only": {func(t *testing.T) call {
			return call{multi: map[string][]string{"AUTHORIZATION": {"BEARER " + token(t)}}}
		}, 202},
		"missing": {func(*testing.T) call { return call{} }, 401},
		"two": {func(t *testing.T) call {
			return call{multi: map[string][]string{"Authorization": {"Bearer " + token(t), "Bearer " + token(t)}}}
		}, 401},
		"two spellings": {func(t *testing.T) call {
			return call{multi: map[string][]string{"Authorization": {"Bearer " + token(t)}, "authorization": {"Bearer " + token(t)}}}
		}, 401},
		"other scheme": {func(t *testing.T) call {
			return call{multi: map[string][]string{"Authorization": {"Basic " + token(t)}}}
		}, 401},
		"user in the body": {func(*testing.T) call {
			return call{extra: map[string]any{"body": `{"userId":"u1"}`}}
		}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := tc.made(t)
			made.item = item
			a := c.answer(t, made)
			a.want(t, tc.status, map[int]string{401: "UNAUTHENTICATED"}[tc.status])
			if tc.status == 401 && a.Headers["WWW-Authenticate"] != "Bearer" {
				t.Errorf("WWW-Authenticate: got %q, want Bearer", a.Headers["WWW-Authenticate"])
			}
			_, held, err := c.Stock.Hold(t.Context(), stock.Of(&sl), t.Name())
			if held != (tc.status == 202) || err != nil {
				t.Errorf("hold of the token's shopper: got %v, %v, want %v", held, err, tc.status == 202)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	c := open(t, silent(t))
	sl := c.sells(t, 1)
	enc := base64.RawURLEncoding.EncodeToString
	sign := func(name string, value any) string { return provider.Sign(map[string]any{name: value}) }
	parts := strings.Split(provider.Token("u1"), ".")
	for name, token := range map[string]string{
		"alg none":                     enc([]byte(`{"alg":"none","kid":"test"}`)) + "." + parts[1] + "." + enc([]byte("x")),
		"HS256 by the public key":      identitytest.SignBy(jose.HS256, provider.PublicPEM(), nil),
		"another provider":             identitytest.New().Token("u1"),
		"changed claims":               parts[0] + "." + enc([]byte(`{"sub":"u2"}`)) + "." + parts[2],
		"wrong audience":               sign("aud", "someone-else"),
		"wrong audiences":              sign("aud", []string{"a", "b"}),
		"no audience":                  sign("aud", nil),
		"wrong issuer":                 sign("iss", "https://evil.test"),
		"expired":                      sign("exp", time.Now().Add(-2*time.Minute).Unix()),
		"no expiry":                    sign("exp", nil),
		"not valid yet":                sign("nbf", time.Now().Add(2*time.Minute).Unix()),
		"no sub":                       sign("sub", nil),
		"empty sub":                    sign("sub", ""),
		"sub is a number":              sign("sub", 7),
		"NUL in sub":                   sign("sub", "u\x001"),
		"sub of 256 bytes":             sign("sub", longText(256)),
		"8 KB, of the good provider":   sign("more", longText(8<<10)),
		"8 KB of three dotted letters": "a.b." + longText(8<<10),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.answer(t, call{item: itemText(sl, 0), bearer: token}).want(t, 401, "UNAUTHENTICATED")
		})
	}
	t.Run("among several audiences", func(t *testing.T) {
		t.Parallel()
		// No hold is left: the publish fails.
		failing := fault(func(context.Context, sale.Placed) error { return errAway })
		counter := &counter{c.Shelf, handler(t, c.Shelf, failing)}
		token := sign("aud", []string{"a", identitytest.Audience})
		counter.answer(t, call{item: itemText(sl, 0), bearer: token}).want(t, 503, "TRY_AGAIN")
	})
}

func TestBodyIsIgnored(t *testing.T) {
	t.Parallel()
	c := open(t, fault(nothingWrong))
	sl := c.sells(t, 10)
	for name, extra := range map[string]map[string]any{
		"2 MB":           {"body": strings.Repeat("x", 2<<20)},
		"invalid base64": {"body": "%%%", "isBase64Encoded": true},
		"other shopper":  {"body": `{"userId":"victim","itemId":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := call{item: itemText(sl, 0), bearer: provider.Token(t.Name()), extra: extra}
			c.answer(t, made).want(t, 202, "")
		})
	}
}

func TestBadIdempotencyKeys(t *testing.T) {
	t.Parallel()
	c := open(t, silent(t))
	sl := c.sells(t, 1)
	for name, values := range map[string][]string{
		"empty": {""}, "256 characters": {longText(256)}, "not ASCII": {"schlüssel"}, "control": {"a\tb"},
		"DEL": {"a\x7f"}, "two values": {"k1", "k1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := call{
				item: itemText(sl, 0), bearer: provider.Token("u1"),
				multi: map[string][]string{"idempotency-key": values},
			}
			c.answer(t, made).want(t, 400, "BAD_REQUEST")
		})
	}
}

// TestOtherMethods: API Gateway routes by method, but nothing may buy by GET.
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	c := open(t, silent(t))
	sl := c.sells(t, 1)
	for _, method := range []string{"GET", "OPTIONS", "PUT", "DELETE", "post"} {
		made := call{item: itemText(sl, 0), bearer: provider.Token("u1"), extra: map[string]any{"httpMethod": method}}
		c.answer(t, made).want(t, 405, "METHOD_NOT_ALLOWED")
	}
	c.WantUnits(t, sl, 0, [4]int64{1, 0, 0, 0})
}

func TestOtherEvents(t *testing.T) {
	t.Parallel()
	c := open(t, silent(t))
	sl := c.sells(t, 1)
	before := c.Check(t, sl)
	for name, event := range map[string]string{
		"nothing": ``, "empty object": `{}`, "null": `null`, "empty text": `""`, "list": `[]`, "half": `{"httpMethod":`,
		"SQS":         `{"Records":[{"messageId":"1","body":"{}","eventSource":"aws:sqs"}]}`,
		"Kafka":       `{"eventSource":"aws:kafka","records":{"t-0":[{"topic":"t","partition":0,"offset":1,"value":""}]}}`,
		"HTTP API v2": `{"version":"2.0","routeKey":"POST /x","rawPath":"/x","requestContext":{"requestId":"r","http":{"method":"POST","path":"/x"}}}`,
		"schedule":    `{"source":"aws.events","detail-type":"Scheduled Event","detail":{}}`,
		"wrong types": `{"httpMethod":1,"path":[],"requestContext":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if answer, err := c.h.Invoke(t.Context(), []byte(event)); err == nil {
				t.Errorf("answer: got %s, want an error of the function", answer)
			}
		})
	}
	if after := c.Check(t, sl); !reflect.DeepEqual(before, after) {
		t.Errorf("the shard changed from %+v to %+v", before, after)
	}
}
