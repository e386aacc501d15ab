package orderwriter_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"flashsale/functions/orderwriter"
	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
)

// A desk is the writer under test with what stands behind it.
type desk struct {
	*shoptest.Shop
	h       *orderwriter.Handler
	letters string // the dead-letter topic
	offset  int64  // of the next record
}

func open(t *testing.T) *desk {
	t.Helper()
	url := servers.Database(t, migrations.Hash(), shoptest.Migrate)
	d := &desk{Shop: shoptest.OpenShop(t, servers.RedisURL(t), url), letters: servers.Topic(t, "letters", 1)}
	d.h = &orderwriter.Handler{
		Stock: d.Stock, Orders: d.Orders, Log: slog.New(slog.DiscardHandler),
		Letters: orderlog.NewDeadLetters(shoptest.Kafka(t, servers.KafkaBrokers(t), d.letters), d.letters),
	}
	return d
}

// record is the next record of partition 0.
func (d *desk) record(value []byte) orderlog.Record {
	d.offset++
	return orderlog.Record{Topic: "orders", Offset: d.offset, Timestamp: time.UnixMilli(1_700_000_000_000).UTC(), Key: []byte("k"), Value: value}
}

func (d *desk) records(placed ...sale.Placed) []orderlog.Record {
	records := make([]orderlog.Record, len(placed))
	for i, p := range placed {
		records[i] = d.record(orderlog.Encode(p))
	}
	return records
}

// A place is where a failed record is.
type place struct {
	Partition string `json:"partition"`
	Offset    int64  `json:"offset"`
}

// deliver hands a batch to h and returns what must come again.
func deliver(t *testing.T, h *orderwriter.Handler, event []byte) []place {
	t.Helper()
	text, err := h.Invoke(t.Context(), event)
	if err != nil {
		t.Fatalf("invoke: %v", err)
	}
	var answer struct {
		Failures []struct {
			Item place `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Failures == nil {
		t.Fatalf("answer %s: %v, want batchItemFailures", text, err)
	}
	var failed []place
	for _, f := range answer.Failures {
		failed = append(failed, f.Item)
	}
	return failed
}

// writes delivers records that must all be done with.
func (d *desk) writes(t *testing.T, records ...orderlog.Record) {
	t.Helper()
	if failed := deliver(t, d.h, orderlog.EncodeBatch(records)); len(failed) != 0 {
		t.Fatalf("failed records: got %v, want none", failed)
	}
}

// letter is a dead letter without its place in the topic.
type letter struct {
	value, reason, topic, offset string
	headers                      map[string]string
}

func (d *desk) deadLetters(t *testing.T) []letter {
	t.Helper()
	var letters []letter
	for _, r := range shoptest.Records(t, servers.KafkaBrokers(t), d.letters) {
		l := letter{value: string(r.Value), headers: map[string]string{}}
		for _, h := range r.Headers {
			l.headers[h.Key] = string(h.Value)
		}
		l.reason, l.topic, l.offset = l.headers["fs-reason"], l.headers["fs-topic"], l.headers["fs-offset"]
		letters = append(letters, l)
	}
	return letters
}

func (d *desk) rows(t *testing.T) (n int) {
	t.Helper()
	if err := d.Pool.QueryRow(t.Context(), `SELECT count(*) FROM flash_sale_order`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
