package drill

import (
	"context"
	"fmt"
	"time"
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
		{Name: "broker-paused", Fault: "Kafka: the leader paused, 20 s", brokers: true, strike: func(ctx context.Context, s *stage) error {
			leader, err := s.leader(ctx)
			if err != nil {
				return err
			}
			return s.frozen(ctx, "kafka3", leader, 20*time.Second)
		}},
		{Name: "publish-late", Fault: "Kafka: answers 1.5 s late, 4 times; records land after the release", brokers: true, late: true, strike: func(ctx context.Context, s *stage) error {
			return during(ctx, 8*time.Second, 500*time.Millisecond, func() error {
				leader, err := s.leader(ctx)
				if err != nil {
					return err
				}
				return s.frozen(ctx, "kafka3", leader, 1500*time.Millisecond)
			})
		}},
		{Name: "topic-missing", Fault: "Kafka: no topic for the first 3 s", noTopic: true, strike: func(ctx context.Context, s *stage) error {
			if err := sleep(ctx, 2*time.Second); err != nil {
				return err
			}
			return s.makeTopic(ctx, s.setup.Orders)
		}},
		{Name: "rebalance", Fault: "Kafka: consumers come and go, 12 times", Quick: true, strike: func(ctx context.Context, s *stage) error {
			more := s.setup
			more.Overlap = 0
			return during(ctx, 4*time.Second, 0, func() error {
				second := more.work(ctx, s.shop.Functions(), s.log)
				err := sleep(ctx, 300*time.Millisecond)
				second.stop()
				return err
			})
		}},
	}
}

// leader is the node that leads the first partition of the orders.
func (s *stage) leader(ctx context.Context) (string, error) {
	topics, err := s.admin.ListTopics(ctx, s.setup.Orders)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(topics[s.setup.Orders].Partitions[0].Leader), nil
}
