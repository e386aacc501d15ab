package orderlog_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"flashsale/shared/orderlog"
)

// batches are events, good and bad, that a scanner may read otherwise than
// encoding/json does.
func batches() []string {
	const good = `{"topic":"t","partition":0,"offset":1,"timestamp":5,"timestampType":"CREATE_TIME","key":"a2V5","value":"dmFsdWU=","headers":[]}`
	event := func(records string) string { return `{"eventSource":"aws:kafka","records":{"t-0":[` + records + `]}}` }
	with := func(old, replacement string) string { return event(strings.Replace(good, old, replacement, 1)) }
	return []string{
		event(good), event(good + "," + strings.Replace(good, `"offset":1`, `"offset":2`, 1)), event(""), event(good + ","), event("null"), event("1"),
		with(`"t"`, `null`), with(`"t"`, `"\u0074"`), with(`"t"`, `"é"`), with(`"t"`, "\"\xff\""), with(`"topic"`, `"Topic"`), with(`"topic"`, `"topi\u0063"`),
		with(`"topic":"t"`, `"topic":"t","topic":"u"`), with(`"topic":"t"`, `"topic":"t","TOPIC":"u"`), with(`"topic"`, "\"timeſtamp\":7,\"topic\""),
		with(`"partition":0`, `"partition":-1`), with(`"partition":0`, `"partition":-0`), with(`"partition":0`, `"partition":2147483647`),
		with(`"partition":0`, `"partition":2147483648`), with(`"partition":0`, `"partition":0.0`), with(`"partition":0`, `"partition":1e1`),
		with(`"partition":0`, `"partition":"0"`), with(`"partition":0`, `"partition":null`), with(`"partition":0,`, ``),
		with(`"offset":1`, `"offset":9223372036854775807`), with(`"offset":1`, `"offset":9223372036854775808`), with(`"offset":1`, `"offset":null`),
		with(`"offset":1`, `"offset":999999999999999999`), with(`"offset":1`, `"offset":01`), with(`"offset":1,`, ``),
		with(`"timestamp":5`, `"timestamp":-5`), with(`"timestamp":5`, `"timestamp":null`), with(`"timestamp":5`, `"timestamp":5.5`), with(`"timestamp":5,`, ``),
		with(`"CREATE_TIME"`, `null`), with(`"CREATE_TIME"`, `7`), with(`"CREATE_TIME"`, `"\u0041"`),
		with(`"a2V5"`, `null`), with(`"a2V5"`, `""`), with(`"a2V5"`, `"%"`), with(`"a2V5"`, `"a2V5\n"`), with(`"a2V5"`, `"a2V"`), with(`"a2V5"`, `"===="`), with(`"a2V5"`, `1`),
		with(`"a2V5"`, `"a2V5é"`), with(`"a2V5"`, `"a2V5\/"`), with(`"a2V5"`, "\"\xff\""), with(`"dmFsdWU="`, `"`+strings.Repeat("QUJD", 1000)+`"`),
		with(`"headers":[]`, `"headers":null`), with(`,"headers":[]`, ``), with(`"headers":[]`, `"headers":7`), with(`"headers":[]`, `"headers":[{"a":[1,-1]},{"a":[2]}]`),
		with(`"headers":[]`, `"headers":[{"a":[300]}]`), with(`"headers":[]`, `"headers":[{"\u0061":[1]}] `), with(`"headers":[]`, `"headers":[1,]`), with(`"headers":[]`, `"headers":[],"headers":null`),
		with(`"headers":[]`, `"more":{"x":[true,1e5,"\"\u00e9"]}`), with(`"headers":[]`, `"more":tru`),
		`{"records":{"t-0":[` + good + `]},"eventSource":"SelfManagedKafka","bootstrapServers":"b:9092"}`,
		`{"eventSource":"aws:kafka","records":{"t-0":[` + good + `],"t-0":[]}}`, `{"eventSource":"aws:kafka","records":{"t-0":[],"t-1":[` + good + `]}}`,
		`{"eventSource":"aws:kafka","records":{"t-0":null}}`, `{"eventSource":"aws:kafka","records":null}`, `{"eventSource":"aws:kafka","records":{}}`,
		`{"eventSource":"aws:kafka","records":{"t-0":[` + good + `]},"records":{"t-1":[]}}`, `{"eventSource":"aws:kafka","Records":{"t-0":[` + good + `]}}`,
		`{"eventSource":"aws:kafka","eventSource":"x","records":{}}`, `{"eventSource":null,"records":{}}`, `{"eventSource":"aws:sqs","records":{}}`, `{"records":{}}`,
		event(good) + "x", event(good) + " ", " " + event(good), "", "null", "[]", "7",
	}
}

// sameBatch compares ParseBatch with the full decoder. Neither has an order for
// records of one place or for headers of one object.
func sameBatch(t *testing.T, text []byte) {
	t.Helper()
	got, err := orderlog.ParseBatch(text)
	want, wantErr := orderlog.DecodeBatch(text)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("ParseBatch: error %v, the full decoder: %v\n%q", err, wantErr, text)
	}
	for _, records := range [][]orderlog.Record{got, want} {
		for _, r := range records {
			slices.SortFunc(r.Headers, func(a, b orderlog.Header) int {
				return cmp.Or(cmp.Compare(a.Key, b.Key), bytes.Compare(a.Value, b.Value))
			})
		}
		slices.SortFunc(records, func(a, b orderlog.Record) int { return cmp.Compare(fmt.Sprintf("%#v", a), fmt.Sprintf("%#v", b)) })
	}
	if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Fatalf("ParseBatch:\n got %+v\nwant %+v\n%q", got, want, text)
	}
}

func TestScanAgreesWithTheFullDecoder(t *testing.T) {
	t.Parallel()
	for _, text := range batches() {
		sameBatch(t, []byte(text))
	}
}

// TestGoldenBatchesAreScanned: what Lambda sends takes the fast way.
func TestGoldenBatchesAreScanned(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"msk.json", "encoded.json"} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		records, ok := orderlog.ScanBatch(text)
		if !ok {
			t.Errorf("%s is left to the full decoder", file)
		}
		// They share a buffer, but no record may grow into the next one.
		for i, r := range records {
			if cap(r.Key) != len(r.Key) || cap(r.Value) != len(r.Value) {
				t.Errorf("%s, record %d: room for %d and %d bytes behind its own", file, i, cap(r.Key)-len(r.Key), cap(r.Value)-len(r.Value))
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range batches() {
		f.Add([]byte(text))
	}
	f.Fuzz(sameBatch)
}
