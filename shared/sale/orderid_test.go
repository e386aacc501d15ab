package sale_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"flashsale/shared/sale"
)

func mint(t testing.TB, secret string, at time.Time) *sale.Mint {
	t.Helper()
	m, err := sale.NewMint([]byte(secret), func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestOrderID(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef"
	at := noon.Add(123 * time.Millisecond)
	m := mint(t, secret, at)

	t.Run("names its sale, its time and its owner", func(t *testing.T) {
		t.Parallel()
		for _, s := range []sale.ID{1, 7, 1 << 30, math.MaxUint32} {
			id := m.New(s, "u1")
			if id.SaleID() != s || !id.Time().Equal(at) {
				t.Errorf("%s: got sale %d at %s, want %d at %s", id, id.SaleID(), id.Time(), s, at)
			}
			if !m.Owns(id, "u1") || m.Owns(id, "u2") {
				t.Errorf("%s: owner check: u1 %v, u2 %v", id, m.Owns(id, "u1"), m.Owns(id, "u2"))
			}
			if back, err := sale.ParseOrderID(id.String()); err != nil || back != id {
				t.Errorf("%s: parsed as %s, %v", id, back, err)
			}
		}
	})
	t.Run("another secret does not know the owner", func(t *testing.T) {
		t.Parallel()
		if mint(t, "fedcba9876543210", at).Owns(m.New(7, "u1"), "u1") {
			t.Error("an id of another secret was accepted")
		}
	})
	t.Run("any changed bit loses the owner", func(t *testing.T) {
		t.Parallel()
		id := m.New(7, "u1")
		for bit := range 128 {
			changed := id
			changed[bit/8] ^= 1 << (bit % 8)
			if m.Owns(changed, "u1") {
				t.Errorf("bit %d is not covered", bit)
			}
		}
	})
	t.Run("ids sort by time", func(t *testing.T) {
		t.Parallel()
		if early, late := m.New(9, "u1"), mint(t, secret, at.Add(time.Millisecond)).New(1, "u1"); early.String() >= late.String() {
			t.Errorf("%s does not sort before %s", early, late)
		}
	})
	t.Run("presses within a millisecond differ", func(t *testing.T) {
		t.Parallel()
		own := mint(t, secret, at) // nobody else counts with it
		seen := map[sale.OrderID]bool{}
		for range 4096 {
			seen[own.New(7, "u1")] = true
		}
		if len(seen) != 4096 {
			t.Errorf("4096 ids of one millisecond: %d differ", len(seen))
		}
	})
	t.Run("a short secret is refused", func(t *testing.T) {
		t.Parallel()
		if _, err := sale.NewMint([]byte("short"), time.Now); err == nil {
			t.Error("accepted")
		}
	})
	t.Run("one spelling", func(t *testing.T) {
		t.Parallel()
		good := m.New(7, "u1").String()
		for name, text := range map[string]string{
			"empty": "", "upper case": strings.ToUpper(good), "braces": "{" + good + "}", "no dashes": strings.ReplaceAll(good, "-", ""),
			"version 4": good[:14] + "4" + good[15:], "other variant": good[:19] + "c" + good[20:], "not hex": good[:35] + "g",
			"sale 0": "019ad000-0000-8000-8000-000012345678", "year 10889": "ffffffff-ffff-8001-8000-58de40000005", "dash moved": good[:7] + "-" + good[7:8] + good[9:], "long": good + "0",
		} {
			if id, err := sale.ParseOrderID(text); err == nil && text != good {
				t.Errorf("%s: %q was read as %s", name, text, id)
			}
		}
	})
	t.Run("as JSON", func(t *testing.T) {
		t.Parallel()
		var back struct{ ID sale.OrderID }
		id := m.New(7, "u1")
		text, err := json.Marshal(struct{ ID sale.OrderID }{id})
		if err != nil || string(text) != `{"ID":"`+id.String()+`"}` {
			t.Fatalf("got %s, %v", text, err)
		}
		if err := json.Unmarshal(text, &back); err != nil || back.ID != id {
			t.Errorf("got %s, %v, want %s", back.ID, err, id)
		}
		if err := json.Unmarshal([]byte(`{"ID":"7"}`), &back); err == nil {
			t.Error("nonsense was read as an order id")
		}
	})
}

func FuzzParseOrderID(f *testing.F) {
	f.Add("019ad000-0000-8000-8000-01c012345678")
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := sale.ParseOrderID(text); err == nil && id.String() != text {
			t.Errorf("%q was read as %s", text, id)
		}
	})
}

func BenchmarkMintNew(b *testing.B) {
	m := mint(b, "0123456789abcdef", noon)
	b.ReportAllocs()
	for b.Loop() {
		m.New(7, "shopper-1")
	}
}
