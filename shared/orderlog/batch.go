package orderlog

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// A Record is one record of a batch as Lambda's Kafka mapping delivers it.
type Record struct {
	Topic     string
	Partition int32
	Offset    int64
	Timestamp time.Time // milliseconds, UTC
	Key       []byte    // nil without a key
	Value     []byte    // empty for a tombstone
	Headers   []Header
}

// A Header is a record's header. Keys may repeat.
type Header struct {
	Key   string
	Value []byte
}

type event struct {
	Source  string                   `json:"eventSource"`
	Records map[string][]eventRecord `json:"records"`
}

type eventRecord struct {
	Topic         string          `json:"topic"`
	Partition     *int32          `json:"partition"`
	Offset        *int64          `json:"offset"`
	Timestamp     int64           `json:"timestamp"`
	TimestampType string          `json:"timestampType"`
	Key           string          `json:"key,omitempty"`
	Value         string          `json:"value"`
	Headers       json.RawMessage `json:"headers"`
}

// ParseBatch reads the event of Lambda's mapping for MSK or for a Kafka of
// one's own. The records come ordered by topic, partition and offset.
//
// A record whose key or value is not base64 keeps the raw text there, so that
// [Decode] refuses it alone; headers that cannot be read are left out. An event
// of another kind, or with a record that has no place in the log, is an error.
func ParseBatch(text []byte) ([]Record, error) {
	records, ok := scanBatch(text)
	if !ok {
		var err error
		if records, err = decodeBatch(text); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(records, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return records, nil
}

func isKafka(source string) bool { return source == "aws:kafka" || source == "SelfManagedKafka" }

// decodeBatch reads any event that encoding/json does, in no order.
func decodeBatch(text []byte) ([]Record, error) {
	var e event
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("orderlog: event: %w", err)
	}
	if !isKafka(e.Source) {
		return nil, fmt.Errorf("orderlog: event: source %q is not Kafka", e.Source)
	}
	if e.Records == nil {
		return nil, errors.New("orderlog: event: records are missing")
	}
	var records []Record
	for _, part := range e.Records {
		records = slices.Grow(records, len(part))
		for _, r := range part {
			if r.Topic == "" || r.Partition == nil || *r.Partition < 0 || r.Offset == nil || *r.Offset < 0 {
				return nil, errors.New("orderlog: event: a record lacks topic, partition or offset")
			}
			records = append(records, Record{
				Topic: r.Topic, Partition: *r.Partition, Offset: *r.Offset,
				Timestamp: time.UnixMilli(r.Timestamp).UTC(),
				Key:       fromBase64(r.Key), Value: fromBase64(r.Value), Headers: parseHeaders(r.Headers),
			})
		}
	}
	return records, nil
}

// EncodeBatch is the inverse of [ParseBatch]: the event as the mapping makes it.
func EncodeBatch(records []Record) []byte {
	e := event{Source: "aws:kafka", Records: make(map[string][]eventRecord)}
	for _, r := range records {
		place := partitionName(r)
		e.Records[place] = append(e.Records[place], eventRecord{
			Topic: r.Topic, Partition: &r.Partition, Offset: &r.Offset,
			Timestamp: r.Timestamp.UnixMilli(), TimestampType: "CREATE_TIME",
			Key:     base64.StdEncoding.EncodeToString(r.Key),
			Value:   base64.StdEncoding.EncodeToString(r.Value),
			Headers: encodeHeaders(r.Headers),
		})
	}
	return mustMarshal(e)
}

type answer struct {
	Failures []failure `json:"batchItemFailures"`
}

type failure struct {
	Item struct {
		Partition string `json:"partition"`
		Offset    int64  `json:"offset"`
	} `json:"itemIdentifier"`
}

// Failures makes the function's answer from all records of the batch and those
// that must be tried again. A partition's records keep their order, so each one
// behind its first failed record is reported too, done or not.
func Failures(all, failed []Record) []byte {
	first := make(map[string]int64)
	for _, r := range failed {
		if at, found := first[partitionName(r)]; !found || r.Offset < at {
			first[partitionName(r)] = r.Offset
		}
	}
	a := answer{Failures: []failure{}}
	for _, r := range all {
		if at, found := first[partitionName(r)]; found && r.Offset >= at {
			var f failure
			f.Item.Partition, f.Item.Offset = partitionName(r), r.Offset
			a.Failures = append(a.Failures, f)
		}
	}
	return mustMarshal(a)
}

// partitionName is how the mapping names a partition, in both directions.
func partitionName(r Record) string { return r.Topic + "-" + strconv.Itoa(int(r.Partition)) }

func fromBase64(text string) []byte {
	if text == "" {
		return nil
	}
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
		return decoded
	}
	return []byte(text)
}

// parseHeaders reads [{"name":[118,-36]}]: Java's bytes are signed.
func parseHeaders(text json.RawMessage) []Header {
	if len(text) == 0 || string(text) == "[]" {
		return nil
	}
	var list []map[string][]int16
	if json.Unmarshal(text, &list) != nil {
		return nil
	}
	var headers []Header
	for _, one := range list {
		for key, numbers := range one {
			h := Header{Key: key, Value: make([]byte, len(numbers))}
			for i, n := range numbers {
				if n < math.MinInt8 || n > math.MaxUint8 {
					return nil
				}
				h.Value[i] = byte(n)
			}
			headers = append(headers, h)
		}
	}
	return headers
}

func encodeHeaders(headers []Header) json.RawMessage {
	list := make([]map[string][]int8, len(headers))
	for i, h := range headers {
		numbers := make([]int8, len(h.Value))
		for j, b := range h.Value {
			numbers[j] = int8(b) //nolint:gosec // the sign is the point
		}
		list[i] = map[string][]int8{h.Key: numbers}
	}
	return mustMarshal(list)
}

// mustMarshal is for values of strings, numbers and lists, which always marshal.
func mustMarshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
