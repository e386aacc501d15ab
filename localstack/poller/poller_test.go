package poller_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/shared/orderlog"
)

func wantNumbers(t *testing.T, what string, got []string, to int) {
	t.Helper()
	var want []string
	for i := range to {
		want = append(want, strconv.Itoa(i))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want 0 to %d in order, once each", what, got, to-1)
	}
}

func TestOrderAndBatches(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2)
	s.put(t, 0, 0, 25)
	s.put(t, 1, 0, 12)
	f := new(function)
	_, stop := s.run(t, f.invoke)
	eventually(t, "all is committed", func() bool { return s.lag(t) == 0 })
	stop()
	wantNumbers(t, "partition 0", f.values(0), 25)
	wantNumbers(t, "partition 1", f.values(1), 12)
	largest := 0
	for _, size := range f.sizes() {
		largest = max(largest, size)
	}
	if largest != s.BatchSize {
		t.Errorf("largest event: got %d records of %v, want %d", largest, f.sizes(), s.BatchSize)
	}
}

func TestWindowFillsAnEvent(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	s.BatchSize, s.Window = 3, time.Hour // only a full event is sent
	f := new(function)
	_, stop := s.run(t, f.invoke)
	for i := range 6 {
		s.put(t, 0, i, i+1)
	}
	eventually(t, "two events", func() bool { return len(f.sizes()) == 2 })
	stop()
	if got := fmt.Sprint(f.sizes()); got != "[3 3]" {
		t.Errorf("sizes: got %s, want [3 3]", got)
	}
}

func TestPartialFailures(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2)
	s.put(t, 0, 0, 5)
	s.put(t, 1, 0, 4)
	f := new(function)
	failures := 0
	f.answer = func(_ int, batch []orderlog.Record) ([]byte, error) {
		var failed []orderlog.Record
		for _, r := range batch {
			if r.Partition == 0 && string(r.Value) == "3" && failures < 3 {
				failures++
				failed = append(failed, r)
			}
		}
		return orderlog.Failures(batch, failed), nil
	}
	_, stop := s.run(t, f.invoke)
	eventually(t, "all is committed", func() bool { return s.lag(t) == 0 })
	stop()
	if got := fmt.Sprint(f.values(0)); got != "[0 1 2 3 4 3 4 3 4 3 4]" {
		t.Errorf("partition 0: got %s, want three retries from the failed record on", got)
	}
	wantNumbers(t, "partition 1", f.values(1), 4)
}

func TestStuckPartitionsStopNoOther(t *testing.T) {
	t.Parallel()
	s := newStage(t, 4)
	f := new(function)
	f.answer = func(_ int, batch []orderlog.Record) ([]byte, error) {
		if batch[0].Partition < 3 {
			time.Sleep(2 * s.MaxBackoff) // so that there is always a retry that is due
			return orderlog.Failures(batch, batch), nil
		}
		return nil, nil
	}
	for n := range int32(3) {
		s.put(t, n, 0, 1)
	}
	_, stop := s.run(t, f.invoke)
	eventually(t, "all three retry", func() bool {
		return min(len(f.values(0)), len(f.values(1)), len(f.values(2))) > 1
	})
	s.put(t, 3, 0, 30)
	s.put(t, 0, 1, 30)
	eventually(t, "the other partition is done", func() bool { return len(f.values(3)) == 30 })
	eventually(t, "only the stuck records are left", func() bool { return s.lag(t) == 30+1+1 })
	stop()
	wantNumbers(t, "partition 3", f.values(3), 30)
	for _, v := range f.values(0) {
		if v != "0" {
			t.Fatalf("record %s was sent before record 0 was done", v)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer string
		err    error
		report bool
		again  bool
	}{
		"nothing":              {"", nil, true, false},
		"null":                 {"null", nil, true, false},
		"an empty text":        {`""`, nil, true, false},
		"an empty object":      {"{}", nil, true, false},
		"null failures":        {`{"batchItemFailures":null}`, nil, true, false},
		"no failures":          {`{"batchItemFailures":[]}`, nil, true, false},
		"not JSON":             {"{", nil, true, true},
		"another shape":        {`{"batchItemFailures":"x"}`, nil, true, true},
		"no identifier":        {`{"batchItemFailures":[{}]}`, nil, true, true},
		"an identifier as SQS": {`{"batchItemFailures":[{"itemIdentifier":"x"}]}`, nil, true, true},
		"no offset":            {`{"batchItemFailures":[{"itemIdentifier":{"partition":"TOPIC-0"}}]}`, nil, true, true},
		"unknown partition":    {`{"batchItemFailures":[{"itemIdentifier":{"partition":"TOPIC-1","offset":0}}]}`, nil, true, true},
		"unknown offset":       {`{"batchItemFailures":[{"itemIdentifier":{"partition":"TOPIC-0","offset":99}}]}`, nil, true, true},
		"the first record":     {`{"batchItemFailures":[{"itemIdentifier":{"partition":"TOPIC-0","offset":0}}]}`, nil, true, true},
		"not asked for":        {`{"batchItemFailures":[{"itemIdentifier":{"partition":"TOPIC-0","offset":0}}]}`, nil, false, false},
		"a function error":     {"", errors.New("boom"), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 1)
			s.ReportFailures = tc.report
			s.put(t, 0, 0, 2)
			f := new(function)
			f.answer = func(call int, _ []orderlog.Record) ([]byte, error) {
				if call > 1 {
					return nil, nil
				}
				return []byte(strings.ReplaceAll(tc.answer, "TOPIC", s.Topic)), tc.err
			}
			_, stop := s.run(t, f.invoke)
			eventually(t, "all is committed", func() bool { return s.lag(t) == 0 })
			stop()
			want := "[2]"
			if tc.again {
				want = "[2 2]"
			}
			if got := fmt.Sprint(f.sizes()); got != want {
				t.Errorf("sizes of the events: got %s, want %s", got, want)
			}
		})
	}
}

func TestBisect(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2)
	s.Bisect, s.RetryAttempts = true, 1
	s.put(t, 0, 0, 8)
	s.put(t, 1, 0, 2)
	f := new(function)
	f.answer = func(_ int, batch []orderlog.Record) ([]byte, error) {
		for _, r := range batch {
			if r.Partition == 0 && string(r.Value) == "5" {
				return nil, errors.New("boom")
			}
		}
		return nil, nil
	}
	p, stop := s.run(t, f.invoke)
	eventually(t, "all is committed", func() bool { return s.lag(t) == 0 })
	stop()
	if got := p.Skipped(); got != 1 {
		t.Errorf("skipped: got %d, want only the bad record", got)
	}
	alone, done := 0, make(map[string]bool)
	for _, c := range f.calls {
		bad := false
		for _, r := range c {
			bad = bad || r.Partition == 0 && string(r.Value) == "5"
		}
		if bad && len(c) == 1 {
			alone++
		}
		for _, r := range c {
			if !bad {
				done[fmt.Sprint(r.Partition, "/", string(r.Value))] = true
			}
		}
	}
	if len(done) != 9 {
		t.Errorf("done: got %v, want the nine others", done)
	}
	if alone != 2 {
		t.Errorf("invocations with the bad record alone: got %d, want one and its one retry", alone)
	}
}

func TestRetryAttempts(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int]string{0: "[3 1]", 2: "[3 3 3 1]"} {
		t.Run(strconv.Itoa(attempts), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 1)
			s.RetryAttempts, s.BatchSize, s.Window = attempts, 3, time.Second
			s.put(t, 0, 0, 4)
			f := new(function)
			f.answer = func(_ int, batch []orderlog.Record) ([]byte, error) {
				if len(batch) == 3 {
					return nil, errors.New("boom")
				}
				return nil, nil
			}
			p, stop := s.run(t, f.invoke)
			eventually(t, "all is committed", func() bool { return s.lag(t) == 0 })
			stop()
			if got := fmt.Sprint(f.sizes()); got != want || p.Skipped() != 3 {
				t.Errorf("events: got %s and %d skipped, want %s and 3", got, p.Skipped(), want)
			}
		})
	}
	t.Run("progress begins a new count", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 1)
		s.RetryAttempts = 1
		s.put(t, 0, 0, 4)
		f := new(function)
		f.answer = func(_ int, batch []orderlog.Record) ([]byte, error) { // one record at a time
			return orderlog.Failures(batch, batch[1:]), nil
		}
		p, stop := s.run(t, f.invoke)
		eventually(t, "all is committed", func() bool { return s.lag(t) == 0 })
		stop()
		if got := fmt.Sprint(f.sizes()); got != "[4 3 2 1]" || p.Skipped() != 0 {
			t.Errorf("events: got %s and %d skipped, want [4 3 2 1] and none", got, p.Skipped())
		}
	})
}

func TestRecordsArriveAsWritten(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	at := time.Date(2026, 1, 1, 12, 0, 0, 5_000_000, time.UTC)
	err := s.client.ProduceSync(t.Context(),
		&kgo.Record{Topic: s.Topic, Key: []byte("1001"), Value: []byte{0xff, 0}, Timestamp: at, Headers: []kgo.RecordHeader{{Key: "h", Value: []byte{0x80}}}},
		&kgo.Record{Topic: s.Topic, Timestamp: at},
	).FirstErr()
	if err != nil {
		t.Fatal(err)
	}
	f := new(function)
	_, stop := s.run(t, f.invoke)
	eventually(t, "both are there", func() bool { return f.count() == 2 })
	stop()
	got, err := json.Marshal(f.calls[0])
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal([]orderlog.Record{
		{Topic: s.Topic, Timestamp: at, Key: []byte("1001"), Value: []byte{0xff, 0}, Headers: []orderlog.Header{{Key: "h", Value: []byte{0x80}}}},
		{Topic: s.Topic, Timestamp: at, Offset: 1},
	})
	if err != nil || string(got) != string(want) {
		t.Errorf("records:\n got %s\nwant %s, %v", got, want, err)
	}
}
