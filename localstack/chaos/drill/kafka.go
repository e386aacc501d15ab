package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"flashsale/shared/stock"
)

func kafkaDrills() []Drill {
	return []Drill{
		{Name: "leader-killed", Fault: "Kafka: the leader of three killed", brokers: true, strike: func(ctx context.Context, s *stage) error {
			leader, err := s.leader(ctx)
			if err != nil {
				return err
			}
			if err := s.park.kill("kafka3", leader); err != nil {
				return err
			}
			s.later(func() { _ = s.park.revive("kafka3", leader) })
			for { // until another one leads
				if next, err := s.leader(ctx); err == nil && next != leader {
					return nil
				}
				if err := sleep(ctx, 100*time.Millisecond); err != nil {
					return err
				}
			}
		}},
		{Name: "quorum-lost", Fault: "Kafka: two of three brokers killed, 5 s", brokers: true, happened: turnedAway, strike: func(ctx context.Context, s *stage) error {
			leader, err := s.leader(ctx)
			if err != nil {
				return err
			}
			gone := slices.DeleteFunc([]string{"1", "2", "3"}, func(n string) bool { return n == leader })
			for _, n := range gone {
				err = errors.Join(err, s.park.kill("kafka3", n))
			}
			err = errors.Join(err, sleep(ctx, 5*time.Second))
			for _, n := range gone {
				err = errors.Join(err, s.park.revive("kafka3", n))
			}
			return err
		}},
		{Name: "broker-paused", Fault: "Kafka: the leader paused, 60 s", Long: true, brokers: true, strike: func(ctx context.Context, s *stage) error {
			leader, err := s.leader(ctx)
			if err != nil {
				return err
			}
			return s.frozen(ctx, "kafka3", leader, time.Minute)
		}},
		partedBrokersDrill(),
		{Name: "publish-late", Fault: "Kafka: answers 1.5 s late, 4 times; records land after the release", brokers: true, happened: rejected(stock.Dropped.String()), strike: func(ctx context.Context, s *stage) error {
			return during(ctx, 8*time.Second, 500*time.Millisecond, func() error {
				leader, err := s.leader(ctx)
				if err != nil {
					return err
				}
				return s.frozen(ctx, "kafka3", leader, 1500*time.Millisecond)
			})
		}},
		{Name: "topic-missing", Fault: "Kafka: no topic for the first 3 s", missing: []string{"orders"}, happened: turnedAway, strike: func(ctx context.Context, s *stage) error {
			if err := sleep(ctx, 2*time.Second); err != nil {
				return err
			}
			return s.makeTopic(ctx, s.setup.Orders)
		}},
		{Name: "topic-deleted", Fault: "Kafka: the topic deleted with all its records, made again, and the mapping started again", strike: func(ctx context.Context, s *stage) error {
			s.crew.stop()
			_, err := s.admin.DeleteTopics(ctx, s.setup.Orders)
			err = errors.Join(err, sleep(ctx, time.Second), s.makeTopic(ctx, s.setup.Orders))
			s.crew = s.setup.work(ctx, s.functions, s.log)
			return err
		}},
		expiring(Drill{Name: "offsets-deleted", Fault: "Kafka: the writer's offsets deleted, all records come again; orders expire", happened: cameAgain, strike: func(ctx context.Context, s *stage) error {
			if err := sleep(ctx, time.Second); err != nil {
				return err
			}
			return s.replay(ctx)
		}}),
		{Name: "letters-missing", Fault: "Kafka: records that nobody can read, and no topic for dead letters for 3 s; then redrive, twice at once", missing: []string{"letters"}, strike: func(ctx context.Context, s *stage) error {
			for i := range poison {
				r := &kgo.Record{Topic: s.setup.Orders, Value: fmt.Appendf(nil, "nonsense %d", i)}
				if err := s.shop.Kafka.ProduceSync(ctx, r).FirstErr(); err != nil {
					return err
				}
			}
			if err := sleep(ctx, 3*time.Second); err != nil {
				return err
			}
			if err := s.makeTopic(ctx, s.setup.Letters); err != nil {
				return err
			}
			if err := s.buryGood(ctx, buried); err != nil {
				return err
			}
			return s.redriveTwice(ctx)
		}, besides: func(ctx context.Context, s *stage) error {
			var r report
			err := administer(ctx, s.shop, map[string]any{"action": "report", "saleId": s.sale.ID}, &r)
			if err == nil && r.DeadLetters < poison+buried {
				err = fmt.Errorf("%d dead letters, want at least %d", r.DeadLetters, poison+buried)
			}
			return err
		}},
		{Name: "rebalance", Fault: "Kafka: consumers come and go, 12 times; each event is given to two writers at once, and every other one again", Quick: true, twice: true, happened: cameAgain, strike: func(ctx context.Context, s *stage) error {
			more := s.setup
			more.Overlap = 0
			return during(ctx, 4*time.Second, 0, func() error {
				second := more.work(ctx, s.functions, s.log)
				err := sleep(ctx, 300*time.Millisecond)
				second.stop()
				return err
			})
		}},
	}
}

const (
	poison = 5  // records that nobody can read
	buried = 20 // good ones among the dead letters
)

// buryGood copies the first n records of the orders to the dead letters, as if something had been
// wrong with them that is right now.
func (s *stage) buryGood(ctx context.Context, n int) error {
	reader, err := kgo.NewClient(kgo.SeedBrokers(s.setup.Brokers...), kgo.ConsumeTopics(s.setup.Orders))
	if err != nil {
		return err
	}
	defer reader.Close()
	for n > 0 {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return err
		}
		for _, r := range fetches.Records() {
			if n > 0 && !strings.HasPrefix(string(r.Value), "nonsense") {
				n--
				if err := s.shop.Kafka.ProduceSync(ctx, &kgo.Record{Topic: s.setup.Letters, Key: r.Key, Value: r.Value}).FirstErr(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *stage) redriveTwice(ctx context.Context) error {
	var group errgroup.Group
	for range 2 {
		group.Go(func() error {
			var done struct{ Redriven int }
			err := administer(ctx, s.shop, map[string]any{"action": "redrive", "saleId": s.sale.ID}, &done)
			if err == nil && done.Redriven != buried {
				err = fmt.Errorf("redriven: %d, want %d", done.Redriven, buried)
			}
			return err
		})
	}
	return group.Wait()
}

// leader is the node that leads the partition which has the orders; a sale of one item needs no other.
func (s *stage) leader(ctx context.Context) (string, error) {
	topics, err := s.admin.ListTopics(ctx, s.setup.Orders)
	if err != nil {
		return "", err
	}
	partition, ok := topics[s.setup.Orders].Partitions[s.busy]
	if !ok {
		return "", fmt.Errorf("no partition %d: %w", s.busy, topics.Error())
	}
	return fmt.Sprint(partition.Leader), nil
}

// findBusy looks which partition has the orders.
func (s *stage) findBusy(ctx context.Context) error {
	ends, err := s.admin.ListEndOffsets(ctx, s.setup.Orders)
	if err != nil {
		return err
	}
	most := int64(0)
	ends.Each(func(end kadm.ListedOffset) {
		if end.Offset > most {
			s.busy, most = end.Partition, end.Offset
		}
	})
	return nil
}
