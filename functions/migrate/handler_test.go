package migrate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"

	"flashsale/functions/migrate"
	"flashsale/localstack/servers"
	"flashsale/migrations"
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

func TestInvokeGrants(t *testing.T) {
	t.Parallel()
	url := servers.Database(t, "empty", func(context.Context, string) error { return nil })
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	role := migrations.Role{Name: fmt.Sprintf("flashsale_test_%d", rand.Uint64()), Connections: 7}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_, _ = conn.Exec(ctx, "DROP OWNED BY "+role.Name)
		_, _ = conn.Exec(ctx, "DROP ROLE "+role.Name)
		_ = conn.Close(ctx)
	})
	for range 2 {
		if _, err := (&migrate.Handler{DatabaseURL: url, Role: role}).Invoke(t.Context(), nil); err != nil {
			t.Fatalf("invoke: %v", err)
		}
	}
	var limit int
	var reads bool
	err = conn.QueryRow(t.Context(), `
		SELECT rolconnlimit, has_table_privilege(rolname, 'flash_sale', 'SELECT') FROM pg_roles WHERE rolname = $1`, role.Name).Scan(&limit, &reads)
	if err != nil || limit != 7 || !reads {
		t.Errorf("role: got %d connections, reads %t, %v, want 7, true", limit, reads, err)
	}
}
