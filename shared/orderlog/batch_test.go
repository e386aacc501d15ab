package orderlog_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"flashsale/shared/orderlog"
)

func TestParseBatch(t *testing.T) {
	t.Parallel()
	const topic = "flash-sale-orders"
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for file, want := range map[string][]orderlog.Record{
		"msk.json": { // partition 10 after 2, offsets in order, signed bytes
			{Topic: topic, Partition: 2, Offset: 15, Timestamp: at.Add(123 * time.Millisecond), Key: []byte("1001"), Value: []byte(`{"v":1}`)},
			{Topic: topic, Partition: 2, Offset: 16, Timestamp: at.Add(200 * time.Millisecond), Key: []byte("1001"), Headers: []orderlog.Header{
				{Key: "trace", Value: []byte{118, 220, 0, 127, 128}}, {Key: "trace", Value: []byte{200}},
			}},
			{Topic: topic, Partition: 10, Offset: 7, Timestamp: at.Add(250 * time.Millisecond)},
		},
		"selfmanaged.json": { // broken parts stay raw or are left out, records stay
			{Topic: "orders", Offset: 0, Timestamp: time.UnixMilli(0).UTC(), Key: []byte("not base64!"), Value: []byte(`{"v":1}`)},
			{Topic: "orders", Offset: 1, Timestamp: time.UnixMilli(0).UTC(), Key: []byte("key"), Value: []byte("value")},
			{Topic: "orders", Offset: 2, Timestamp: time.UnixMilli(0).UTC()},
		},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("testdata/" + file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := orderlog.ParseBatch(text)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("ParseBatch:\n got %+v, %v\nwant %+v", got, err, want)
			}
		})
	}

	const record = `{"topic":"t","partition":0,"offset":1,"value":"","headers":[]}`
	event := func(record string) string {
		return `{"eventSource":"aws:kafka","records":{"t-0":[` + record + `]}}`
	}
	if got, err := orderlog.ParseBatch([]byte(event(record))); err != nil || len(got) != 1 {
		t.Errorf("the event that the next ones spoil: got %v, %v, want one record", got, err)
	}
	for name, text := range map[string]string{
		"empty":              ``,
		"not JSON":           `x`,
		"another source":     strings.Replace(event(record), "aws:kafka", "aws:sqs", 1),
		"a scheduled event":  `{"source":"aws.events","detail-type":"Scheduled Event"}`,
		"no records":         `{"eventSource":"aws:kafka"}`,
		"records as a list":  `{"eventSource":"aws:kafka","Records":[` + record + `]}`,
		"no topic":           event(strings.Replace(record, `"t"`, `""`, 1)),
		"no partition":       event(strings.Replace(record, `"partition"`, `"x"`, 1)),
		"negative partition": event(strings.Replace(record, `"partition":0`, `"partition":-1`, 1)),
		"no offset":          event(strings.Replace(record, `"offset"`, `"x"`, 1)),
		"negative offset":    event(strings.Replace(record, `"offset":1`, `"offset":-1`, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := orderlog.ParseBatch([]byte(text)); err == nil {
				t.Errorf("ParseBatch(%s): got %+v, want an error", text, got)
			}
		})
	}
}

func TestEncodeBatch(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/msk.json")
	if err != nil {
		t.Fatal(err)
	}
	records, err := orderlog.ParseBatch(text)
	if err != nil {
		t.Fatal(err)
	}
	encoded := orderlog.EncodeBatch(records)
	golden(t, "encoded.json", encoded)
	again, err := orderlog.ParseBatch(encoded)
	if err != nil || !reflect.DeepEqual(again, records) {
		t.Errorf("ParseBatch(EncodeBatch):\n got %+v, %v\nwant %+v", again, err, records)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	at := func(partition int32, offset int64) orderlog.Record {
		return orderlog.Record{Topic: "orders", Partition: partition, Offset: offset}
	}
	all := []orderlog.Record{at(0, 1), at(0, 2), at(0, 3), at(1, 1), at(1, 2), at(10, 1)}
	for name, tc := range map[string]struct {
		failed []orderlog.Record
		want   string
	}{
		"none":                             {nil, `{"batchItemFailures":[]}`},
		"the last":                         {[]orderlog.Record{at(10, 1)}, `orders-10/1`},
		"what follows in its partition":    {[]orderlog.Record{at(0, 2)}, `orders-0/2 orders-0/3`},
		"not those before":                 {[]orderlog.Record{at(0, 3)}, `orders-0/3`},
		"two in any order":                 {[]orderlog.Record{at(0, 3), at(0, 2)}, `orders-0/2 orders-0/3`},
		"partitions apart from each other": {[]orderlog.Record{at(1, 2), at(0, 1)}, `orders-0/1 orders-0/2 orders-0/3 orders-1/2`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := orderlog.Failures(all, tc.failed)
			var answer struct {
				BatchItemFailures []struct {
					ItemIdentifier struct {
						Partition string
						Offset    json.Number
					}
				}
			}
			if err := json.Unmarshal(text, &answer); err != nil {
				t.Fatalf("answer %s: %v", text, err)
			}
			var got []string
			for _, f := range answer.BatchItemFailures {
				got = append(got, f.ItemIdentifier.Partition+"/"+f.ItemIdentifier.Offset.String())
			}
			if tc.failed == nil {
				got = []string{string(text)}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("failures: got %v, want %s", got, tc.want)
			}
		})
	}
	golden(t, "failures.json", orderlog.Failures(all, all[1:2]))
}

// FuzzParseBatch looks for panics and for records that an answer could not name.
func FuzzParseBatch(f *testing.F) {
	for _, file := range []string{"msk.json", "selfmanaged.json"} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		records, err := orderlog.ParseBatch(text)
		if err != nil {
			return
		}
		for _, r := range records {
			if r.Topic == "" || r.Partition < 0 || r.Offset < 0 {
				t.Errorf("record %+v has no place in the log", r)
			}
			_, _ = orderlog.Decode(r.Value)
		}
		again, err := orderlog.ParseBatch(orderlog.EncodeBatch(records))
		if err != nil || len(again) != len(records) {
			t.Errorf("again: got %d records, %v, want %d", len(again), err, len(records))
		}
	})
}

func BenchmarkParseBatch(b *testing.B) {
	records := make([]orderlog.Record, 500)
	for i := range records {
		records[i] = orderlog.Record{Topic: "flash-sale-orders", Offset: int64(i), Key: []byte("1001"), Value: orderlog.Encode(placed(b))}
	}
	event := orderlog.EncodeBatch(records)
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := orderlog.ParseBatch(event); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(records)), "ns/record")
}
