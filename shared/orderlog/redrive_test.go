package orderlog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/servers"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
)

func TestRedrive(t *testing.T) {
	t.Parallel()
	letters, orders := newTopic(t, "letters", 3), newTopic(t, "orders", 2)
	client := newClient(t, servers.KafkaBrokers(t))
	redrive := func(id sale.ID, want orderlog.Redriven) {
		t.Helper()
		got, err := orderlog.Redrive(t.Context(), client, letters, orders, id)
		if err != nil || got != want {
			t.Errorf("redrive: got %+v, %v, want %+v", got, err, want)
		}
	}
	mine, other := purchase("u1"), purchase("u2")
	redrive(mine.SaleID, orderlog.Redriven{}) // an empty topic

	dead := orderlog.NewDeadLetters(client, letters)
	put := func(key, value string, headers ...orderlog.Header) {
		t.Helper()
		rec := orderlog.Record{Topic: orders, Key: []byte(key), Value: []byte(value), Headers: headers}
		if err := dead.Put(t.Context(), rec, "test"); err != nil {
			t.Fatal(err)
		}
	}
	// Not as Encode spells it: the bytes must stay as they are.
	text := strings.Replace(string(orderlog.Encode(mine)), `{"v":1`, `{"extra":[1], "v":1`, 1)
	put("\x00key", text, orderlog.Header{Key: "trace", Value: []byte{0x80}})
	put("\x00key", text) // the same record once more
	put("k2", string(orderlog.Encode(other)))
	poison := func(p sale.Placed) string { return strings.Replace(string(orderlog.Encode(p)), `"v":1`, `"v":9`, 1) }
	put("k3", poison(mine))
	put("k4", poison(other))
	put("k5", "\xffnobody's")
	put("", "")
	// Only a part of it is stored, and that part happens to read as a good record.
	put("k6", string(orderlog.Encode(another(mine, "u3")))+strings.Repeat(" ", 2_000_000)+"x")

	redrive(mine.SaleID, orderlog.Redriven{Published: 1, Unreadable: 4})
	redrive(mine.SaleID, orderlog.Redriven{Published: 1, Unreadable: 4})
	got := contents(t, orders)
	if len(got) != 2 {
		t.Fatalf("orders: got %d records, want the letter twice", len(got))
	}
	for _, rec := range got {
		headers := fmt.Sprint(rec.Headers)
		if string(rec.Key) != "\x00key" || string(rec.Value) != text || headers != fmt.Sprint([]kgo.RecordHeader{{Key: "trace", Value: []byte{0x80}}}) {
			t.Errorf("record: got key %q, value %q, headers %s, want the original", rec.Key, rec.Value, headers)
		}
	}
	if n, err := orderlog.DeadLetterCount(t.Context(), client, letters); err != nil || n != 8 {
		t.Errorf("letters: got %d, %v, want all 8 still", n, err)
	}
}

// TestRedriveWithoutHeaders: a letter that lost its own headers alone has all
// that the writer reads.
func TestRedriveWithoutHeaders(t *testing.T) {
	t.Parallel()
	letters, orders := newTopic(t, "letters", 1), newTopic(t, "orders", 1)
	client := newClient(t, servers.KafkaBrokers(t))
	p := purchase("u1")
	rec := orderlog.Record{Key: []byte("k"), Value: orderlog.Encode(p), Headers: []orderlog.Header{{Key: "big", Value: noise(1_100_000)}}}
	if err := orderlog.NewDeadLetters(client, letters).Put(t.Context(), rec, "test"); err != nil {
		t.Fatal(err)
	}
	if got, err := orderlog.Redrive(t.Context(), client, letters, orders, p.SaleID); err != nil || got.Published != 1 {
		t.Errorf("redrive: got %+v, %v, want it published", got, err)
	}
	if got := contents(t, orders); len(got) != 1 || string(got[0].Value) != string(rec.Value) || len(got[0].Headers) != 0 {
		t.Errorf("orders: got %v, want the record without headers", got)
	}
}

// TestRedriveMany has more letters than one fetch.
func TestRedriveMany(t *testing.T) {
	t.Parallel()
	const n = 3000
	letters, orders := newTopic(t, "letters", 2), newTopic(t, "orders", 2)
	client := newClient(t, servers.KafkaBrokers(t))
	first := purchase("u0")
	var values []string
	var records []*kgo.Record
	for i := range n {
		value := orderlog.Encode(another(first, fmt.Sprintf("u%d", i)))
		values = append(values, string(value))
		records = append(records, &kgo.Record{Topic: letters, Key: fmt.Append(nil, i), Value: value})
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	got, err := orderlog.Redrive(t.Context(), client, letters, orders, first.SaleID)
	if want := (orderlog.Redriven{Published: n}); err != nil || got != want {
		t.Fatalf("redrive: got %+v, %v, want %+v", got, err, want)
	}
	var back []string
	for _, rec := range contents(t, orders) {
		back = append(back, string(rec.Value))
	}
	slices.Sort(values)
	slices.Sort(back)
	if !slices.Equal(back, values) {
		t.Errorf("records: got %d, want each of the %d letters once", len(back), n)
	}
}

// another is a purchase of the same item by someone else.
func another(p sale.Placed, user string) sale.Placed {
	p.UserID, p.OrderID = user, testMint().New(p.SaleID, user)
	return p
}

// onReader calls a function when a client is made from a client that has it.
type onReader struct {
	clients int
	call    func()
}

func (h *onReader) OnNewClient(*kgo.Client) {
	if h.clients++; h.clients == 2 {
		h.call()
	}
}

// TestRedriveEnds: a letter that comes once the redrive has begun is not its
// business, or a letter that always comes back would keep it going.
func TestRedriveEnds(t *testing.T) {
	t.Parallel()
	letters, orders := newTopic(t, "letters", 1), newTopic(t, "orders", 1)
	p := purchase("u1")
	put := func(client *kgo.Client, user string) {
		t.Helper()
		if err := orderlog.NewDeadLetters(client, letters).Put(t.Context(), orderlog.Record{Value: orderlog.Encode(another(p, user))}, "test"); err != nil {
			t.Error(err)
		}
	}
	writer := newClient(t, servers.KafkaBrokers(t))
	client := newClient(t, servers.KafkaBrokers(t), kgo.WithHooks(&onReader{call: func() { put(writer, "late") }}))
	put(writer, "u2")
	for _, want := range []int{1, 2} {
		if got, err := orderlog.Redrive(t.Context(), client, letters, orders, p.SaleID); err != nil || got.Published != want {
			t.Errorf("redrive: got %+v, %v, want %d published", got, err, want)
		}
	}
}

func TestRedriveFails(t *testing.T) {
	t.Parallel()
	letters := newTopic(t, "letters", 1)
	client := newClient(t, servers.KafkaBrokers(t))
	p := purchase("u1")
	if err := orderlog.NewDeadLetters(client, letters).Put(t.Context(), orderlog.Record{Value: orderlog.Encode(p)}, "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := orderlog.Redrive(t.Context(), client, "no-such-topic", letters, p.SaleID); err == nil {
		t.Error("no letters: got no error")
	}
	if _, err := orderlog.Redrive(t.Context(), client, letters, "no-such-topic", p.SaleID); err == nil {
		t.Error("no orders: got no error")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := orderlog.Redrive(over, client, letters, letters, p.SaleID); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is over: got %v", err)
	}
}
