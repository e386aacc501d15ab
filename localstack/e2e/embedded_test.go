package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/localstack/servers"
)

// TestEmbedded sells with nothing but the binary, and nothing of it is left.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	// Child processes inherit it, so they are found even if their parent is gone.
	trace := fmt.Sprintf("FLASHSALE_E2E_TRACE=%d", servers.SaleID())
	sale := newSale(1)
	s := open(t, []string{"DEV_TICK=200ms", trace}, sale)
	p := s.login(t, "only")
	bought, _, err := p.buy(t.Context(), sale.Items[0].ID, "")
	if err != nil || bought.Code != http.StatusAccepted {
		t.Fatalf("purchase: got %s, %v, want 202", bought, err)
	}
	if _, err := p.follow(t.Context(), bought.OrderID, payable); err != nil {
		t.Error(err)
	}
	wantItem(t, s.settled(t, sale.ID), 0, 1, 0, map[string]int{"PENDING": 1})
	if running := traced(t, trace); len(running) < 3 {
		t.Errorf("while it runs: got processes %v, want the server, its child and PostgreSQL", running)
	}
	s.stop(t)
	if left := traced(t, trace); len(left) > 0 {
		t.Errorf("after SIGTERM: got processes %v, want none", left)
	}
}

// traced lists the living processes whose environment has that variable.
func traced(t *testing.T, variable string) (processes []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(files) == 0 {
		t.Skip("left out: whether a process is left, for there is no /proc here")
	}
	for _, file := range files {
		// A process that ends meanwhile, and another user's, cannot be read.
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text)+"\x00", variable+"\x00") { //nolint:gosec // of the list above
			processes = append(processes, filepath.Base(filepath.Dir(file)))
		}
	}
	return processes
}
