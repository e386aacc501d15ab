package e2e_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// TestKill ends the server in the middle of a rush. Whoever has heard 202 by then has
// an order; whoever has not presses again at the next server, and the counts are exact.
func TestKill(t *testing.T) {
	t.Parallel()
	const shoppers, units, enough = 600, 100, 30
	b, sale := openBackends(t), newSale(units)
	s := open(t, b.env(), sale)
	item := sale.Items[0].ID

	accepted := make([]string, shoppers) // the order of a 202 before the kill
	var count, cut atomic.Int64
	var rushing sync.WaitGroup
	for i, p := range s.crowd(t, "k", shoppers) {
		rushing.Go(func() {
			a, err := p.press(t.Context(), item, "")
			switch {
			case err != nil:
				cut.Add(1) // the answer never came
			case a.Code == http.StatusAccepted:
				accepted[i] = a.OrderID
				if count.Add(1) == enough {
					if err := s.kill(); err != nil {
						t.Errorf("kill: %v", err)
					}
				}
			}
		})
	}
	rushing.Wait()
	if count.Load() < enough {
		t.Fatalf("got only %d answers of 202", count.Load())
	}
	s.killed(t)
	t.Logf("killed after %d answers of 202; %d presses got no answer", count.Load(), cut.Load())
	if cut.Load() == 0 {
		t.Error("the kill came too late to cut anything off")
	}

	s = open(t, b.env(), sale) // the same sale file: no news
	crowd := s.crowd(t, "k", shoppers)
	orders := make([]string, shoppers)
	for i, p := range crowd {
		rushing.Go(func() {
			a, _, err := p.buy(t.Context(), item, "")
			switch {
			case err != nil:
				t.Errorf("%s: %v", p.name, err)
			case a.Code == http.StatusAccepted && accepted[i] != "":
				t.Errorf("%s: got %s, want 409 with %s, which was answered with 202", p.name, a, accepted[i])
			case a.Code == http.StatusAccepted, a.is(http.StatusConflict, "ALREADY_PURCHASED"):
				orders[i] = a.OrderID
			case !a.is(http.StatusGone, "SOLD_OUT"):
				t.Errorf("%s: got %s, want 202, 409 or 410", p.name, a)
			}
		})
	}
	rushing.Wait()
	won := 0
	for i, p := range crowd {
		if accepted[i] != "" && accepted[i] != orders[i] {
			t.Errorf("%s: order %q after the kill, want %s, which was answered with 202", p.name, orders[i], accepted[i])
		}
		if orders[i] == "" {
			continue
		}
		won++
		// The dead server's last holds were perhaps never published: the stockkeeper does it.
		rushing.Go(func() {
			if _, err := p.follow(t.Context(), orders[i], payable); err != nil {
				t.Error(err)
			}
		})
	}
	rushing.Wait()
	if won != units {
		t.Errorf("got %d winners, want %d", won, units)
	}
	wantItem(t, s.settled(t, sale.ID), 0, units, 0, map[string]int{"PENDING": units})
}
