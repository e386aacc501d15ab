package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"flashsale/localstack/dev/lambda"
)

// A meeting counts how often a fault was met. A drill whose fault met nobody proves nothing.
type meeting func(ctx context.Context, s *stage) (int, error)

// refused counts the commands that Redis refused with that error since the drill began.
func refused(code string) meeting {
	return func(ctx context.Context, s *stage) (int, error) {
		text, err := s.rdb.Info(ctx, "errorstats").Result()
		n := 0
		if _, after, ok := strings.Cut(text, "errorstat_"+code+":count="); ok {
			_, _ = fmt.Sscan(after, &n)
		}
		return n, err
	}
}

// hindered counts what the proxies held back: connections, requests and answers.
func hindered(_ context.Context, s *stage) (int, error) {
	return int(s.redis.hindered.Load() + s.database.hindered.Load()), nil
}

// turnedAway counts the answers of 503.
func turnedAway(_ context.Context, s *stage) (n int, _ error) {
	s.sales.note(func(l *ledger) { n = l.busy })
	return n, nil
}

// cameAgain counts the records that the writer was given once more.
func cameAgain(_ context.Context, s *stage) (int, error) { return s.read.again(), nil }

// forgets counts the 202s that a Redis forgot.
func forgets(ctx context.Context, s *stage) (n int, _ error) {
	rows, err := s.rows(ctx)
	s.sales.note(func(l *ledger) { n = s.forgot(l.accepted, rows) })
	return n, err
}

// rejected counts the rows that are REJECTED for that reason.
func rejected(why string) meeting {
	return func(ctx context.Context, s *stage) (n int, _ error) {
		rows, err := s.rows(ctx)
		for _, o := range rows {
			if o.Status == "REJECTED" && o.Reason == why {
				n++
			}
		}
		return n, err
	}
}

// struck counts what the strike counts itself.
func struck(_ context.Context, s *stage) (int, error) { return int(s.hits.Load()), nil }

// A reading is what the writer was given.
type reading struct {
	mu   sync.Mutex
	seen map[string]int // how often, by partition and offset
}

// by is the writer, which is looked at.
func (r *reading) by(writer lambda.Invoke) lambda.Invoke {
	return func(ctx context.Context, event []byte) ([]byte, error) {
		r.note(event)
		return writer(ctx, event)
	}
}

func (r *reading) note(text []byte) {
	var event struct {
		Records map[string][]struct{ Offset int64 }
	}
	if err := json.Unmarshal(text, &event); err != nil {
		panic(err) // the poller's own
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	for partition, records := range event.Records {
		for _, record := range records {
			r.seen[fmt.Sprint(partition, record.Offset)]++
		}
	}
}

func (r *reading) again() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, times := range r.seen {
		if times > 1 {
			n++
		}
	}
	return n
}
