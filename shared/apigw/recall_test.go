package apigw_test

import (
	"bytes"
	"strings"
	"testing"

	"flashsale/shared/apigw"
)

// likewise reads event after before, and alone: both must find the same.
func likewise(t *testing.T, before, event []byte) (recalled bool) {
	t.Helper()
	var alone, after apigw.Glance
	want := alone.Look(event)
	after.Look(before)
	for range 2 { // the second time after itself
		if got := after.Look(event); got != want {
			t.Fatalf("after another: plain %t, alone: %t\n%q\n%q", got, want, before, event)
		}
		if want && !after.Same(&alone) {
			t.Fatalf("after another, this was found otherwise than alone\n%q\n%q", before, event)
		}
		recalled = recalled || after.Recalled()
		after.Look(before)
	}
	return recalled
}

// within is an event with this request context.
func within(context string) []byte {
	return []byte(`{"httpMethod":"GET","path":"/x","requestContext":` + context + `,"body":null}`)
}

const usualContext = `{"accountId":"1","path":"/p","requestTime":"t","extendedRequestId":"e","identity":{"sourceIp":"1","userAgent":"a","user":null},"requestId":"r1","requestTimeEpoch":12,"stage":"s"}`

// TestRecall has an event of usual form before each of these.
func TestRecall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old, new string
		recalled bool
	}{
		"the same":               {``, ``, true},
		"longer values":          {`"r1"`, `"another, longer one"`, true},
		"an empty value":         {`"t"`, `""`, true},
		"a value with escapes":   {`"a"`, `"\"A\u00e9\""`, true},
		"a value not ASCII":      {`"a"`, `"ü"`, true},
		"null where a text was":  {`"e"`, `null`, true},
		"a number where":         {`12`, `-1.5e3`, true},
		"an object where":        {`"e"`, `{"requestId":"x","a":[1]}`, true},
		"no number":              {`12`, `012`, false},
		"two values":             {`12`, `12,"requestId":"r2"`, false},
		"another constant":       {`"s"`, `"z"`, false},
		"another name":           {`"stage"`, `"staged"`, false},
		"one member less":        {`"accountId":"1",`, ``, false},
		"one member more":        {`"stage":"s"`, `"stage":"s","more":{}`, false},
		"one member twice":       {`"stage":"s"`, `"stage":"s","requestId":"r2"`, false},
		"a space":                {`"stage":"s"`, `"stage": "s"`, false},
		"no end":                 {`"stage":"s"}`, `"stage":"s"`, false},
		"null address":           {`"sourceIp":"1"`, `"sourceIp":null`, true},
		"address with an escape": {`"sourceIp":"1"`, `"sourceIp":"\u0031"`, true},
		"no address":             {`"sourceIp":"1",`, ``, false},
		"id is null":             {`"r1"`, `null`, false},
		"id is empty":            {`"r1"`, `""`, true},
		"id with an escape":      {`"r1"`, `"r\t"`, false},
		"id is a number":         {`"r1"`, `1`, false},
		"control character":      {`"t"`, "\"\n\"", false},
		"quote":                  {`"t"`, `"t"t"`, false},
		"no identity":            {`{"sourceIp":"1","userAgent":"a","user":null}`, `null`, false},
		"very long":              {`"s"`, `"` + strings.Repeat("s", 3000) + `"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, event := within(usualContext), within(strings.Replace(usualContext, c.old, c.new, 1))
			if got := likewise(t, before, event); got != c.recalled {
				t.Errorf("recalled: %t, want %t", got, c.recalled)
			}
			likewise(t, event, before)
		})
	}
}

// TestRecallAnyAfterAny has every small event after every other one.
func TestRecallAnyAfterAny(t *testing.T) {
	t.Parallel()
	events := small()
	for _, name := range []string{"purchase", "multi-value-headers", "preflight", "webhook-base64", "not-http-api"} {
		events[name] = compact(t, name)
	}
	for _, before := range events {
		for _, event := range events {
			likewise(t, before, event)
		}
	}
}

func FuzzRecall(f *testing.F) {
	usual := within(usualContext)
	f.Add(usual, usual)
	f.Add(compact(f, "purchase"), bytes.ReplaceAll(compact(f, "purchase"), []byte("c6af9ac6"), []byte("another")))
	f.Add(usual, compact(f, "purchase"))
	f.Fuzz(func(t *testing.T, before, event []byte) { likewise(t, before, event) })
}
