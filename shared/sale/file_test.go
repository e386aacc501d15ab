package sale_test

import (
	"strings"
	"testing"
	"time"

	"flashsale/shared/sale"
)

const valid = `{"id":7,"name":"Winter","opensAt":"+15s","closesAt":"2026-11-29T14:00:00+01:00",
 "items":[{"id":1001,"productId":55,"name":"Lamp","quantity":100,"price":"19.99","currency":"EUR"},
          {"id":1002,"productId":56,"name":"Vase","quantity":5,"price":"1500","currency":"JPY"}]}`

func TestParseFile(t *testing.T) {
	t.Parallel()
	t.Run("defaults and relative times", func(t *testing.T) {
		t.Parallel()
		s, err := sale.ParseFile([]byte(valid), noon)
		if err != nil {
			t.Fatal(err)
		}
		if want := noon.Add(15 * time.Second); !s.OpensAt.Equal(want) {
			t.Errorf("opensAt: got %s, want %s", s.OpensAt, want)
		}
		if want := noon.Add(time.Hour); !s.ClosesAt.Equal(want) {
			t.Errorf("closesAt: got %s, want %s", s.ClosesAt, want)
		}
		if s.PaymentWindow != 10*time.Minute || s.Grace != time.Minute || s.Shards != 1 {
			t.Errorf("defaults: got %s, %s, %d shards", s.PaymentWindow, s.Grace, s.Shards)
		}
		if it, ok := s.Item(1002); !ok || it.PriceMinor != 1500 || it.Currency != "JPY" {
			t.Errorf("item 1002: got %+v, %v", it, ok)
		}
	})
	t.Run("many shards", func(t *testing.T) {
		t.Parallel()
		s, err := sale.ParseFile([]byte(strings.Replace(valid, `"id":7,`, `"id":7,"shards":64,`, 1)), noon)
		if err != nil || s.Shards != 64 {
			t.Errorf("got %d shards, %v, want 64", s.Shards, err)
		}
	})
	t.Run("a spread", func(t *testing.T) {
		t.Parallel()
		s, err := sale.ParseFile([]byte(strings.Replace(valid, `"id":7,`, `"id":7,"spread":"1m30s",`, 1)), noon)
		if err != nil || s.Spread != 90*time.Second {
			t.Errorf("got %s, %v, want 1m30s", s.Spread, err)
		}
	})
	t.Run("a window that has begun", func(t *testing.T) {
		t.Parallel()
		if _, err := sale.ParseFile([]byte(strings.Replace(valid, "+15s", "-1h", 1)), noon); err != nil {
			t.Errorf("got %v", err)
		}
	})
	for _, c := range []struct{ name, old, replacement, want string }{
		{"no id", `"id":7,`, ``, "id is missing"},
		{"id over 32 bits", `"id":7,`, `"id":4294967296,`, "cannot be a number"},
		{"negative id", `"id":7,`, `"id":-7,`, "cannot be a number"},
		{"empty name", `"Winter"`, `""`, "name must"},
		{"control character in a name", `"Winter"`, `"a\u0000b"`, "name must"},
		{"window ends before it opens", `2026-11-29T14:00:00+01:00`, `2026-11-29T13:00:00+01:00`, "after opensAt"},
		{"a time of day only", `"+15s"`, `"12:00"`, "neither RFC 3339"},
		{"a relative time without a unit", `"+15s"`, `"+15"`, "relative to now"},
		{"payment window below a second", `"id":7,`, `"id":7,"paymentWindow":"999ms",`, "paymentWindow"},
		{"negative grace", `"id":7,`, `"id":7,"grace":"-1s",`, "grace"},
		{"unknown field", `"id":7,`, `"id":7,"colour":"red",`, "unknown field"},
		{"no shard", `"id":7,`, `"id":7,"shards":0,`, "shards must be 1 to 64"},
		{"too many shards", `"id":7,`, `"id":7,"shards":65,`, "shards must be 1 to 64"},
		{"negative spread", `"id":7,`, `"id":7,"spread":"-1s",`, "spread"},
		{"a spread as long as the window", `"+15s"`, `"+30m","spread":"30m"`, "after opensAt + spread"},
		{"zero quantity", `"quantity":100`, `"quantity":0`, "quantity must"},
		{"quantity over the limit", `"quantity":100`, `"quantity":10000001`, "quantity must"},
		{"fractional quantity", `"quantity":100`, `"quantity":1.5`, "cannot be a number"},
		{"price as a number", `"19.99"`, `19.99`, "cannot be a number"},
		{"price of nothing", `"19.99"`, `"0.00"`, "more than 0"},
		{"three decimals of a euro", `"19.99"`, `"19.999"`, "decimals of EUR"},
		{"item id twice", `"id":1002`, `"id":1001`, "appears twice"},
		{"item id zero", `"id":1002`, `"id":0`, "id must be 1 or more"},
		{"a year that JSON cannot say", "2026-11-29T14:00:00+01:00", "9999-12-31T23:59:59-23:00", "years 2000 to 2999"},
		{"the year 0", `"+15s"`, `"0000-01-01T00:00:00+23:59"`, "years 2000 to 2999"},
		{"text that runs backwards", `"Winter"`, `"a\u202Eb"`, "name must"},
		{"a currency that is none", `"EUR"`, `"XXX"`, "not an ISO 4217"},
		{"not JSON", `"id":7,`, `id:7,`, "not JSON"},
		{"text after the sale", `"currency":"JPY"}]}`, `"currency":"JPY"}]} {}`, "text after"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(valid, c.old, c.replacement, 1)
			if text == valid {
				t.Fatalf("the example does not contain %s", c.old)
			}
			_, err := sale.ParseFile([]byte(text), noon)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
	t.Run("all faults at once", func(t *testing.T) {
		t.Parallel()
		_, err := sale.ParseFile([]byte(`{"id":7,"name":"","opensAt":"x","closesAt":"y","items":[]}`), noon)
		for _, want := range []string{"name must", "opensAt", "closesAt", "items"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want also %q", err, want)
			}
		}
	})
}

func FuzzParseFile(f *testing.F) {
	f.Add(valid)
	f.Add(`{"id":7}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := sale.ParseFile([]byte(text), noon)
		if err != nil {
			return
		}
		if s.ID == 0 || s.Spread < 0 || !s.ClosesAt.After(s.OpensAt.Add(s.Spread)) || len(s.Items) == 0 || s.PaymentWindow < time.Second {
			t.Errorf("an invalid sale was accepted: %+v", s)
		}
		for _, it := range s.Items {
			if back, err := sale.ParsePrice(sale.FormatPrice(it.PriceMinor, it.Currency), it.Currency); err != nil || back != it.PriceMinor || back <= 0 {
				t.Errorf("price of %+v does not survive: %d, %v", it, back, err)
			}
		}
	})
}
