package sale_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"flashsale/shared/sale"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func TestStateAt(t *testing.T) {
	t.Parallel()
	s := sale.Sale{OpensAt: noon, ClosesAt: noon.Add(time.Hour)}
	loaded := sale.Standing{Loaded: true}
	paused := sale.Standing{Loaded: true, Paused: true}
	for _, c := range []struct {
		name string
		at   time.Time
		st   sale.Standing
		want sale.State
	}{
		{"not loaded", noon, sale.Standing{}, sale.Created},
		{"loaded a millisecond early", noon.Add(-time.Millisecond), loaded, sale.Loaded},
		{"opens at its time", noon, loaded, sale.Open},
		{"a millisecond before the end", noon.Add(time.Hour - time.Millisecond), loaded, sale.Open},
		{"closes at its time", noon.Add(time.Hour), loaded, sale.Closed},
		{"paused before opening", noon.Add(-time.Hour), paused, sale.Paused},
		{"paused while open", noon, paused, sale.Paused},
		{"closed wins over paused", noon.Add(time.Hour), paused, sale.Closed},
		{"closed without ever being loaded", noon.Add(time.Hour), sale.Standing{}, sale.Closed},
		{"archived wins over all", noon, sale.Standing{Loaded: true, Archived: true}, sale.Archived},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := s.StateAt(c.at, c.st); got != c.want {
				t.Errorf("state: got %s, want %s", got, c.want)
			}
		})
	}
}

func TestParseIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"1": true, "1001": true, "9223372036854775807": true,
		"": false, "0": false, "01": false, "-1": false, "+1": false, "9223372036854775808": false,
		"18446744073709551617": false, "1e3": false, "1 ": false, " 1": false, "1\x00": false, "%2F": false, "٣": false, "abc": false,
	} {
		if id, got := sale.ParseItemID(text); got != want {
			t.Errorf("item id %q: got %d, %v, want %v", text, id, got, want)
		}
	}
	for text, want := range map[string]bool{"1": true, "4294967295": true, "4294967296": false, "0": false, "007": false} {
		if id, got := sale.ParseID(text); got != want {
			t.Errorf("sale id %q: got %d, %v, want %v", text, id, got, want)
		}
	}
}

func TestValidUserID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"u1": true, "4711": true, "auth0|5f7c": true, "Jürgen {x}": true, strings.Repeat("a", 255): true,
		"": false, strings.Repeat("a", 256): false, "a\x00b": false, "a\nb": false, "a\u0085b": false, "a\xffb": false,
	} {
		if got := sale.ValidUserID(text); got != want {
			t.Errorf("user id %q: got %v, want %v", text, got, want)
		}
	}
}

func TestPrice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, code string
		want       int64
		shown      string // "" means refused
	}{
		{"19.99", "EUR", 1999, "19.99"},
		{"19.9", "EUR", 1990, "19.90"},
		{"0.05", "EUR", 5, "0.05"},
		{"19", "EUR", 1900, "19.00"},
		{"1500", "JPY", 1500, "1500"},
		{"1.234", "KWD", 1234, "1.234"},
		{"19.999", "EUR", 0, ""},
		{"1.5", "JPY", 0, ""},
		{"-1", "EUR", 0, ""},
		{"1e3", "EUR", 0, ""},
		{"019.99", "EUR", 0, ""},
		{".99", "EUR", 0, ""},
		{"19.", "EUR", 0, ""},
		{"9999999999999", "EUR", 0, ""},
		{"19.99", "eur", 0, ""},
		{"19.99", "ZZZ", 0, ""},
		{"19.99", "", 0, ""},
	} {
		t.Run(c.text+c.code, func(t *testing.T) {
			t.Parallel()
			got, err := sale.ParsePrice(c.text, c.code)
			if refused := err != nil; refused != (c.shown == "") {
				t.Fatalf("ParsePrice: got %d, %v", got, err)
			}
			if err == nil && (got != c.want || sale.FormatPrice(got, c.code) != c.shown) {
				t.Errorf("got %d shown as %s, want %d shown as %s", got, sale.FormatPrice(got, c.code), c.want, c.shown)
			}
		})
	}
}

func TestShards(t *testing.T) {
	t.Parallel()
	t.Run("a shopper's home never changes and all shards are used", func(t *testing.T) {
		t.Parallel()
		const n, shoppers = 8, 8000
		seen := make([]int, n)
		for i := range shoppers {
			user := "shopper-" + string(rune('a'+i%26)) + time.Duration(i).String()
			home := sale.HomeShard(user, n)
			if again := sale.HomeShard(user, n); again != home {
				t.Fatalf("home of %s: %d, then %d", user, home, again)
			}
			seen[home]++
		}
		for k, count := range seen {
			if math.Abs(float64(count)-shoppers/n) > shoppers/n/5 {
				t.Errorf("shard %d has %d of %d shoppers", k, count, shoppers)
			}
		}
	})
	// The hash is a promise between releases: a changed one would let a shopper
	// of a running sale buy twice.
	t.Run("pinned homes", func(t *testing.T) {
		t.Parallel()
		for user, want := range map[string]int{"u1": 6, "u2": 2, "4711": 4} {
			if got := sale.HomeShard(user, 7); got != want {
				t.Errorf("home of %s among 7: got %d, want %d", user, got, want)
			}
		}
	})
	t.Run("a split sums to the quantity", func(t *testing.T) {
		t.Parallel()
		for _, q := range []int{1, 7, 10_000} {
			for n := 1; n <= 64; n++ {
				sum, most, least := 0, 0, q
				for _, part := range sale.SplitQuota(q, n) {
					sum, most, least = sum+part, max(most, part), min(least, part)
				}
				if sum != q || most-least > 1 {
					t.Errorf("%d over %d shards: sum %d, from %d to %d", q, n, sum, least, most)
				}
			}
		}
	})
}

func TestCatalogRoundTrip(t *testing.T) {
	t.Parallel()
	s, err := sale.ParseFile([]byte(valid), noon)
	if err != nil {
		t.Fatal(err)
	}
	text, err := sale.NewCatalog([]sale.Listing{{Sale: s, Standing: sale.Standing{Loaded: true}}}).JSON()
	if err != nil {
		t.Fatal(err)
	}
	c, err := sale.ParseCatalog(text)
	if err != nil {
		t.Fatal(err)
	}
	l, ok := c.ByItem(1002)
	if !ok || l.ID != 7 || !l.Loaded || !l.OpensAt.Equal(s.OpensAt) || l.PaymentWindow != 10*time.Minute {
		t.Errorf("by item: got %+v, %v", l, ok)
	}
	if _, ok := c.ByItem(1003); ok {
		t.Error("an item that no sale offers was found")
	}
	if l, ok := c.Sale(7); !ok || len(l.Items) != 2 {
		t.Errorf("by sale: got %+v, %v", l, ok)
	}
}

// TestNoCatalog has texts that say nothing of sales: by them an item is not unknown.
func TestNoCatalog(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `{"sales":7}`, `{"sales":[`, `{}`, `null`, `{"sales":null}`, `{"Items":[]}`} {
		if _, err := sale.ParseCatalog([]byte(text)); err == nil {
			t.Errorf("%s was read as a catalog", text)
		}
	}
	text, err := sale.NewCatalog(nil).JSON()
	if err != nil {
		t.Fatal(err)
	}
	if c, err := sale.ParseCatalog(text); err != nil || len(c.Sales) != 0 {
		t.Errorf("%s, when there are no sales: got %v, %v, want none", text, c, err)
	}
}

func FuzzParseCatalog(f *testing.F) {
	f.Add([]byte(`{"sales":[{"id":7,"items":[{"id":1001,"quantity":1}],"loaded":true}]}`))
	f.Add([]byte(`{"sales":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := sale.ParseCatalog(text)
		if err != nil {
			return
		}
		for i := range c.Sales {
			for _, it := range c.Sales[i].Items {
				if l, ok := c.ByItem(it.ID); !ok || l == nil {
					t.Errorf("item %d of the catalog is not found", it.ID)
				}
			}
		}
		if _, err := c.JSON(); err != nil {
			t.Errorf("a catalog that was read cannot be written: %v", err)
		}
	})
}
