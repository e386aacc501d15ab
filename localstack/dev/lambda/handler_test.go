package lambda_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"flashsale/localstack/dev/lambda"
)

type customError struct{}

func (*customError) Error() string { return "custom" }

func TestHandler(t *testing.T) {
	t.Parallel()
	happened := make(chan string, 1)
	h := lambda.Handler(map[string]lambda.Invoke{
		"echo":   func(_ context.Context, event []byte) ([]byte, error) { return event, nil },
		"silent": func(context.Context, []byte) ([]byte, error) { return nil, nil },
		"fails":  func(context.Context, []byte) ([]byte, error) { return []byte(`"ignored"`), &customError{} },
		"wraps":  func(context.Context, []byte) ([]byte, error) { return nil, fmt.Errorf("op: %w", &customError{}) },
		"panics": func(context.Context, []byte) ([]byte, error) { panic(errors.New("boom")) },
		"tells": func(_ context.Context, event []byte) ([]byte, error) {
			happened <- string(event)
			return nil, nil
		},
	}, slog.New(slog.DiscardHandler))
	call := func(name, kind, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/2015-03-31/functions/"+name+"/invocations", strings.NewReader(body))
		if kind != "" {
			r.Header.Set("X-Amz-Invocation-Type", kind)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for _, test := range []struct {
		name, kind, body string
		status           int
		want             string
		failed           string // X-Amz-Function-Error
		errorType        string // X-Amzn-Errortype
	}{
		{"echo", "", `{"a": 1}`, 200, `{"a": 1}`, "", ""},
		{"echo", "RequestResponse", `[7]`, 200, `[7]`, "", ""},
		{"echo", "", ``, 200, `{}`, "", ""},
		{"silent", "", `{}`, 200, `null`, "", ""},
		{"fails", "", `{}`, 200, `{"errorMessage":"custom","errorType":"customError"}`, "Unhandled", ""},
		{"wraps", "", `{}`, 200, `{"errorMessage":"op: custom","errorType":"wrapError"}`, "Unhandled", ""},
		{"panics", "", `{}`, 200, `{"errorMessage":"boom","errorType":"errorString"}`, "Unhandled", ""},
		{"echo", "", `{`, 400, `"User"`, "", "InvalidRequestContentException"},
		{"echo", "", `"` + strings.Repeat("x", 6<<20) + `"`, 413, `"User"`, "", "RequestTooLargeException"},
		{"echo", "Sometimes", `{}`, 400, `Sometimes`, "", "InvalidParameterValueException"},
		{"nobody", "", `{}`, 404, `Function not found: nobody`, "", "ResourceNotFoundException"},
		{"echo", "DryRun", `{}`, 204, ``, "", ""},
	} {
		t.Run(test.name+" "+test.kind+" "+test.body[:min(len(test.body), 8)], func(t *testing.T) {
			t.Parallel()
			w := call(test.name, test.kind, test.body)
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("got %d %.200s, want %d %s", w.Code, w.Body, test.status, test.want)
			}
			if got := w.Header().Get("X-Amz-Function-Error"); got != test.failed {
				t.Errorf("X-Amz-Function-Error = %q, want %q", got, test.failed)
			}
			if got := w.Header().Get("X-Amzn-Errortype"); got != test.errorType {
				t.Errorf("X-Amzn-Errortype = %q, want %q", got, test.errorType)
			}
		})
	}
	t.Run("Event", func(t *testing.T) {
		t.Parallel()
		if w := call("tells", "Event", `{"later":1}`); w.Code != http.StatusAccepted {
			t.Errorf("got %d, want 202", w.Code)
		}
		if got := <-happened; got != `{"later":1}` {
			t.Errorf("the function got %s", got)
		}
	})
}

func TestCallTimeout(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	defer close(stuck)
	_, err := lambda.Call(t.Context(), func(context.Context, []byte) ([]byte, error) { <-stuck; return nil, nil },
		10*time.Millisecond, nil)
	failure, ok := errors.AsType[*lambda.Error](err)
	if !ok || failure.Type != lambda.TimedOut {
		t.Errorf("err = %v, want %s", err, lambda.TimedOut)
	}
}
