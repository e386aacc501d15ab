package apigw_test

import (
	"encoding/json"
	"log/slog"
	"testing"

	"flashsale/shared/apigw"
)

// FuzzAnswer has any text go out, and reads it as encoding/json would have sent it.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{"", `{"a":"b"}`, `\`, `"`, `a\"b`, "<>&", "é", "\u2028", "\x00", "\x1f", "\x7f", "\xff", "a\xc3(", "quote \" then \n", `ends in \`} {
		f.Add(text, text)
	}
	edge := apigw.Edge{Log: slog.New(slog.DiscardHandler)}
	f.Fuzz(func(t *testing.T, body, location string) {
		out, err := edge.Serve(t.Context(), event(""), returns(apigw.Response{
			Status: 200, Body: []byte(body), Headers: map[string]string{"Location": location, "Cache-Control": body},
		}, nil))
		if err != nil {
			t.Fatal(err)
		}
		var got answer
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got.Status != 200 || got.Body != sent(t, body) || got.Headers["Location"] != sent(t, location) || got.Headers["Cache-Control"] != sent(t, body) {
			t.Errorf("answer %+v, want body %q and location %q", got, body, location)
		}
	})
}

// sent is the text as encoding/json brings it over.
func sent(t *testing.T, text string) (got string) {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(quoted, &got); err != nil {
		t.Fatal(err)
	}
	return got
}
