package stage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"flashsale/localstack/deploy/stage"
	"flashsale/localstack/servers"
)

func TestHold(t *testing.T) {
	t.Parallel()
	servers.DatabaseURL(t)
	mine, other := stage.Stack{Name: fmt.Sprint(servers.ItemID())}, stage.Stack{Name: fmt.Sprint(servers.ItemID())}
	release, err := mine.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	free, err := other.Hold(t.Context())
	if err != nil {
		t.Fatalf("another name: %v", err)
	}
	free()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := mine.Hold(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the same name, held: got %v, want to wait in vain", err)
	}
	release()
	again, err := mine.Hold(t.Context())
	if err != nil {
		t.Fatalf("the same name, let go: %v", err)
	}
	again()
}
