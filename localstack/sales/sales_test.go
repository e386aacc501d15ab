package sales_test

import (
	"testing"
	"time"

	"flashsale/localstack/sales"
	"flashsale/shared/sale"
)

func TestFreshDemo(t *testing.T) {
	t.Parallel()
	now := time.Now()
	seen := make(map[sale.ID]bool)
	items := make(map[sale.ItemID]bool)
	for range 20 {
		text, err := sales.FreshDemo()
		if err != nil {
			t.Fatalf("FreshDemo: %v", err)
		}
		s, err := sale.ParseFile(text, now)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if seen[s.ID] {
			t.Errorf("sale %d came twice", s.ID)
		}
		seen[s.ID] = true
		for _, item := range s.Items {
			if items[item.ID] {
				t.Errorf("item %d came twice", item.ID)
			}
			items[item.ID] = true
		}
		if got := s.OpensAt.Sub(now).Round(time.Second); got != 5*time.Second {
			t.Errorf("opens after %s, want 5s", got)
		}
		if got := s.ClosesAt.Sub(now).Round(time.Second); got != 2*time.Hour {
			t.Errorf("closes after %s, want 2h", got)
		}
	}
}
