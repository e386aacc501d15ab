package e2e_test

import "testing"

// TestShards has 400 shoppers in four shards compete for 100 units. The shards
// fill and empty unevenly, so the last units must find their way to those who
// still ask: exactly 100 are sold, and no shard keeps one.
func TestShards(t *testing.T) {
	t.Parallel()
	const shoppers, units, shards = 400, 100, 4
	for name, env := range map[string]func(*testing.T) []string{
		"real servers": func(t *testing.T) []string { return openBackends(t).env() },
		"embedded":     func(*testing.T) []string { return []string{"DEV_TICK=200ms"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sale := newSale(units)
			sale.Shards = shards
			s := open(t, env(t), sale)
			r := compete(t, s.crowd(t, "u", shoppers), sale.Items[0].ID)
			if len(r.orders) != units || len(r.losers) != shoppers-units {
				t.Errorf("got %d winners and %d losers, want %d and %d", len(r.orders), len(r.losers), units, shoppers-units)
			}
			wantItem(t, s.settled(t, sale.ID), 0, units, 0, map[string]int{"PENDING": units})
			var parts struct {
				Items []struct {
					Shards []struct{ Stock, Holds, Quota int }
				}
			}
			s.invoke(t, "saleadmin", map[string]any{"action": "report", "saleId": sale.ID}, &parts)
			holds, quota := 0, 0
			for i, part := range parts.Items[0].Shards {
				if part.Stock != 0 || part.Holds != part.Quota {
					t.Errorf("shard %d: got %+v, want it empty and conserved", i, part)
				}
				holds, quota = holds+part.Holds, quota+part.Quota
			}
			if n := len(parts.Items[0].Shards); n != shards || holds != units || quota != units {
				t.Errorf("got %d shards with %d holds and quotas of %d, want %d, %d and %d", n, holds, quota, shards, units, units)
			}
			if v := s.sees(t, sale.ID); !v.Items[0].SoldOut {
				t.Errorf("the sale's view: got %+v, want sold out", v)
			}
		})
	}
}
