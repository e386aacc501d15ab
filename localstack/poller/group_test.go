package poller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"flashsale/shared/orderlog"
)

func TestRestart(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	s.put(t, 0, 0, 7)
	first := new(function)
	first.answer = func(_ int, batch []orderlog.Record) ([]byte, error) {
		var failed []orderlog.Record
		for _, r := range batch {
			if string(r.Value) >= "4" {
				failed = append(failed, r)
			}
		}
		return orderlog.Failures(batch, failed), nil
	}
	_, stop := s.run(t, first.invoke)
	eventually(t, "what is done is committed", func() bool { return s.lag(t) == 3 })
	stop()
	s.put(t, 0, 7, 9)
	second := new(function)
	_, stop = s.run(t, second.invoke)
	eventually(t, "all is committed", func() bool { return s.lag(t) == 0 })
	stop()
	if got := fmt.Sprint(second.values(0)); got != "[4 5 6 7 8]" {
		t.Errorf("after the restart: got %s, want [4 5 6 7 8]", got)
	}
}

func TestShutdownDuringAnInvocation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		left int64
	}{
		"finished work is committed":     {nil, 0},
		"unfinished work is left undone": {errors.New("cancelled"), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 1)
			s.put(t, 0, 0, 3)
			s.BatchSize, s.Window = 3, time.Hour
			running := make(chan struct{})
			_, stop := s.run(t, func(ctx context.Context, _ []byte) ([]byte, error) {
				close(running)
				<-ctx.Done()
				return nil, tc.err
			})
			<-running
			stop()
			if got := s.lag(t); got != tc.left {
				t.Errorf("lag: got %d, want %d", got, tc.left)
			}
		})
	}
}

func TestRebalance(t *testing.T) {
	t.Parallel()
	const partitions, each = 4, 60
	s := newStage(t, partitions)
	s.BatchSize, s.Window = 7, 0
	a, b := new(function), new(function)
	var busy sync.Map // partition → in an invocation now
	slow := func(_ int, batch []orderlog.Record) ([]byte, error) {
		mine := make(map[int32]bool)
		for _, r := range batch {
			mine[r.Partition] = true
		}
		for n := range mine {
			if _, taken := busy.LoadOrStore(n, true); taken {
				t.Errorf("partition %d is in two invocations at once", n)
			}
			defer busy.Delete(n)
		}
		time.Sleep(2 * time.Millisecond)
		if batch[0].Offset%5 == 0 && len(batch) > 3 { // there is always something to retry
			return orderlog.Failures(batch, batch[3:]), nil
		}
		return nil, nil
	}
	a.answer, b.answer = slow, slow
	s.put(t, 0, 0, each)
	_, stopA := s.run(t, a.invoke)
	eventually(t, "the first one works", func() bool { return a.count() > 0 })
	_, stopB := s.run(t, b.invoke)
	for n := range int32(partitions - 1) {
		s.put(t, n+1, 0, each/2)
	}
	// The second one gets new records in its partitions, whenever it has them.
	more := each / 2
	eventually(t, "the second one works", func() bool {
		for n := range int32(partitions - 1) {
			s.put(t, n+1, more, more+1)
		}
		more++
		return b.count() > 0
	})
	stopA()
	for n := range int32(partitions - 1) {
		s.put(t, n+1, more, more+each/2)
	}
	eventually(t, "all is committed", func() bool { return s.lag(t) == 0 })
	stopB()
	for n := range int32(partitions) {
		handled := make(map[string]bool)
		for _, v := range append(a.values(n), b.values(n)...) {
			handled[v] = true
		}
		want := each
		if n > 0 {
			want = more + each/2
		}
		if len(handled) != want {
			t.Errorf("partition %d: %d records were handled, want all %d", n, len(handled), want)
		}
	}
}

func TestARetryLeavesWithItsPartition(t *testing.T) {
	t.Parallel()
	const partitions = 4
	s := newStage(t, partitions)
	for n := range int32(partitions) {
		s.put(t, n, 0, 3)
	}
	a, b := new(function), new(function)
	a.answer = func(int, []orderlog.Record) ([]byte, error) { return nil, errors.New("boom") }
	_, stopA := s.run(t, a.invoke)
	eventually(t, "the first one retries", func() bool { return len(a.sizes()) > 5 })
	_, stopB := s.run(t, b.invoke)
	eventually(t, "the second one has done its share", func() bool { return b.count() > 0 && s.lag(t) <= partitions/2*3 })
	before := len(a.sizes())
	eventually(t, "the first one goes on", func() bool { return len(a.sizes()) > before+20 })
	stopA()
	stopB()
	for n := range int32(partitions) {
		if len(b.values(n)) == 0 {
			continue
		}
		// One invocation of the first may have begun while before was read.
		for _, c := range a.calls[before+1:] {
			if c[0].Partition == n {
				t.Fatalf("partition %d was given away, and its old consumer still sends it", n)
			}
		}
	}
}

// warnings counts what a poller complains of.
type warnings struct{ n atomic.Int64 }

func (*warnings) Enabled(context.Context, slog.Level) bool    { return true }
func (w *warnings) Handle(context.Context, slog.Record) error { w.n.Add(1); return nil }
func (w *warnings) WithAttrs([]slog.Attr) slog.Handler        { return w }
func (w *warnings) WithGroup(string) slog.Handler             { return w }

// A topic that was deleted fails each poll at once. The poller complains, and rests.
func TestTopicDeleted(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	log := new(warnings)
	s.Log, s.Backoff, s.MaxBackoff = slog.New(log), 20*time.Millisecond, time.Hour
	f := new(function)
	_, stop := s.run(t, f.invoke)
	s.put(t, 0, 0, 3)
	eventually(t, "the records came", func() bool { return f.count() == 3 })
	if _, err := kadm.NewClient(s.client).DeleteTopic(t.Context(), s.Topic); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it complains", func() bool { return log.n.Load() > 0 })
	time.Sleep(time.Second)
	stop()
	if got := log.n.Load(); got > 30 { // each pause is twice the last one
		t.Errorf("%d complaints in a second", got)
	}
	if _, err := kadm.NewClient(s.client).CreateTopic(t.Context(), 1, -1, nil, s.Topic); err != nil {
		t.Fatal(err)
	}
}
