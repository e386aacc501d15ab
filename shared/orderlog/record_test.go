package orderlog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
)

var update = flag.Bool("update", false, "write the golden files")

// placed is a purchase whose bytes never change: golden files are made from it.
func placed(t testing.TB) sale.Placed {
	t.Helper()
	id, err := sale.ParseOrderID("019b796d-d67b-8abc-8000-0001c1234567")
	if err != nil {
		t.Fatalf("order id: %v", err)
	}
	return sale.Placed{
		OrderID: id, SaleID: id.SaleID(), ItemID: 1001, UserID: `u1 "<é>"`,
		ReservedAt: time.Date(2026, 1, 1, 12, 0, 0, 123_000_000, time.UTC),
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(want)) != string(got) {
		t.Errorf("%s:\n got %s\nwant %s", name, got, want)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	t.Run("as agreed", func(t *testing.T) {
		t.Parallel()
		golden(t, "record.json", orderlog.Encode(placed(t)))
	})
	t.Run("another zone and finer time become UTC and milliseconds", func(t *testing.T) {
		t.Parallel()
		p := placed(t)
		p.ReservedAt = p.ReservedAt.Add(999 * time.Microsecond).In(time.FixedZone("", 2*3600))
		golden(t, "record.json", orderlog.Encode(p))
	})
}

func TestDecode(t *testing.T) {
	t.Parallel()
	good := string(orderlog.Encode(placed(t)))
	edit := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(good) }

	for name, text := range map[string]string{
		"as encoded":              good,
		"with spaces":             " " + edit(`,`, ` , `, `:1`, ` : 1`) + "\n",
		"with an unknown field":   edit(`{`, `{"channel":{"app":[1]},`),
		"time in another zone":    edit(`12:00:00.123Z`, `14:00:00.123+02:00`),
		"time finer than a ms":    edit(`.123Z`, `.123456Z`),
		"an escaped letter in it": edit(`"u1 `, `"\u00751 `),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := orderlog.Decode([]byte(text))
			if err != nil || got != placed(t) {
				t.Errorf("Decode(%s):\n got %+v, %v\nwant %+v", text, got, err, placed(t))
			}
		})
	}

	// The id's 48 bits of milliseconds reach year 10889, which no row's reader can tell.
	lateID := "ffffffff-ffff" + placed(t).OrderID.String()[13:]

	// readable: the writer can still tell this shopper.
	for name, tc := range map[string]struct {
		text     string
		reason   string
		readable bool
	}{
		"empty":              {"", "empty", false},
		"not JSON":           {"garbage", "not a JSON object", false},
		"null":               {"null", "not a JSON object", false},
		"an array":           {"[1]", "not a JSON object", false},
		"cut off":            {good[:len(good)-4], "not JSON", false},
		"cut off in a name":  {good[:4], "not JSON", false},
		"text behind":        {good + "x", "after the object", false},
		"a second object":    {good + good, "after the object", false},
		"not UTF-8":          {edit(`é`, "\xff"), "not UTF-8", false},
		"a field twice":      {edit(`{`, `{"itemId":1002,`), `"itemId" appears twice`, false},
		"unknown version":    {edit(`"v":1`, `"v":2`), "v is invalid", true},
		"version as text":    {edit(`"v":1`, `"v":"1"`), "v is invalid", true},
		"no version":         {edit(`"v":1,`, ``), "v is missing", true},
		"name in capitals":   {edit(`"itemId"`, `"ITEMID"`), "itemId is missing", false},
		"no order id":        {edit(`"orderId"`, `"x"`), "orderId is missing", false},
		"null order id":      {edit(`"`+placed(t).OrderID.String()+`"`, `null`), "orderId is invalid", false},
		"another sale":       {edit(`"saleId":7`, `"saleId":8`), "another sale", false},
		"sale zero":          {edit(`"saleId":7`, `"saleId":0`), "saleId is invalid", false},
		"sale too large":     {edit(`"saleId":7`, `"saleId":4294967303`), "saleId is invalid", false},
		"item zero":          {edit(`1001`, `0`), "itemId is invalid", false},
		"item with a part":   {edit(`1001`, `1001.5`), "itemId is invalid", false},
		"no user":            {edit(`u1 \"\u003cé\u003e\"`, ``), "userId is invalid", false},
		"null user":          {edit(`"u1 \"\u003cé\u003e\""`, `null`), "userId is invalid", false},
		"user with NUL":      {edit(`u1`, `u\u0000`), "userId is invalid", false},
		"user too long":      {edit(`u1`, strings.Repeat("u", 256)), "userId is invalid", false},
		"no time":            {edit(`"reservedAt"`, `"at"`), "reservedAt is missing", true},
		"time as a number":   {edit(`"2026-01-01T12:00:00.123Z"`, `1767268800123`), "reservedAt is invalid", true},
		"time without zone":  {edit(`.123Z`, `.123`), "reservedAt is invalid", true},
		"time of old":        {edit(`2026-01`, `1026-01`), "reservedAt is invalid", true},
		"time after 9999":    {edit(`2026-01-01T12:00:00.123Z`, `9999-12-31T23:00:00-02:00`), "reservedAt is invalid", true},
		"id after 9999":      {edit(placed(t).OrderID.String(), lateID, `.123Z`, `.123`), "is invalid", false},
		"several faults":     {edit(`"v":1`, `"v":9`, `.123Z`, ``), "v is invalid, reservedAt is invalid", true},
		"an unreadable part": {edit(`"v":1`, `"v":1,"x":`), "not JSON", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := orderlog.Decode([]byte(tc.text))
			poison, ok := errors.AsType[*orderlog.Poison](err)
			if !ok || !strings.Contains(poison.Reason, tc.reason) {
				t.Fatalf("Decode(%q): got %+v, %v, want poison with %q", tc.text, got, err, tc.reason)
			}
			if (poison.Placed != nil) != tc.readable {
				t.Fatalf("readable part of %q: got %+v, want one: %t", tc.text, poison.Placed, tc.readable)
			}
			if !tc.readable {
				return
			}
			want := placed(t)
			if strings.Contains(tc.reason, "reservedAt") {
				want.ReservedAt = want.OrderID.Time()
			}
			if *poison.Placed != want {
				t.Errorf("readable part: got %+v, want %+v", *poison.Placed, want)
			}
		})
	}
}

// FuzzDecode looks for panics and for a record that changes when it is written again.
func FuzzDecode(f *testing.F) {
	good := orderlog.Encode(placed(f))
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add(bytes.Replace(good, []byte(`u1 \"`), []byte("u1"), 1))
	f.Add(bytes.Replace(good, []byte(`u1 \"\u003cé\u003e\"`), []byte("u1"), 1))
	f.Add([]byte(`{"v":1,"v":1}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := orderlog.Decode(text)
		if err != nil {
			if _, ok := errors.AsType[*orderlog.Poison](err); !ok {
				t.Fatalf("error: got %v, want poison", err)
			}
			return
		}
		if !json.Valid(text) {
			t.Fatalf("accepted %q, which is not JSON", text)
		}
		// A space leads past the short way for records of our own.
		if general, err := orderlog.Decode(append([]byte(" "), text...)); err != nil || general != p {
			t.Errorf("with a space: got %+v, %v, want %+v", general, err, p)
		}
		again, err := orderlog.Decode(orderlog.Encode(p))
		if err != nil || again != p {
			t.Errorf("again: got %+v, %v, want %+v", again, err, p)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	p := placed(b)
	p.UserID = "0b6d3f0e-6a35-4c53-9d3f-3d5b3a0f8c11"
	text := orderlog.Encode(p)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := orderlog.Decode(text); err != nil {
			b.Fatal(err)
		}
	}
}
