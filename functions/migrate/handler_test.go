package migrate_test

import (
	"context"
	"encoding/json"
	"testing"

	"flashsale/functions/migrate"
	"flashsale/localstack/servers"
)

func TestInvoke(t *testing.T) {
	t.Parallel()
	url := servers.Database(t, "empty", func(context.Context, string) error { return nil })
	h := &migrate.Handler{DatabaseURL: url}
	for _, event := range []string{`{}`, ``} {
		answer, err := h.Invoke(t.Context(), []byte(event))
		if err != nil {
			t.Fatalf("invoke: %v", err)
		}
		var got map[string]int
		if err := json.Unmarshal(answer, &got); err != nil {
			t.Fatalf("answer %s: %v", answer, err)
		}
		n, ok := got["applied"]
		if first := event != ""; !ok || len(got) != 1 || (n > 0) != first {
			t.Errorf("answer: got %s, want files applied: %v", answer, first)
		}
	}
	if answer, err := (&migrate.Handler{DatabaseURL: "postgres://127.0.0.1:1/x"}).Invoke(t.Context(), nil); err == nil {
		t.Errorf("unreachable: got %s, want an error", answer)
	}
}
