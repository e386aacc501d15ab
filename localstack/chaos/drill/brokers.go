package drill

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// partedBrokersDrill has a leader that does not know that it was deposed. It must acknowledge nothing.
func partedBrokersDrill() Drill {
	return Drill{Name: "parted-leader", Fault: "Kafka: the leader of three cut off from the other brokers, not from clients, 12 s", brokers: true, parted: true, strike: func(ctx context.Context, s *stage) error {
		s.network.part([]string{"broker-1"}, []string{"broker-2", "broker-3"})
		cut := time.Now()
		var elected time.Time
		for elected.IsZero() { // the old leader, if it is asked, says that it leads
			if leader, err := s.leader(ctx); err == nil && leader != "1" {
				elected = time.Now()
			}
			if err := sleep(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
		s.log.Info("another one leads", "after", elected.Sub(cut))
		s.alone = span{cut, elected}
		if err := s.until(ctx, 12*time.Second); err != nil {
			return err
		}
		s.network.heal()
		return nil
	}, besides: func(_ context.Context, s *stage) error {
		acknowledged := 0
		s.sales.note(func(l *ledger) {
			for _, told := range l.accepted {
				if told.pressed.After(s.alone.from) && told.at.Before(s.alone.to) {
					acknowledged++
				}
			}
		})
		if acknowledged > 0 {
			return fmt.Errorf("%d orders acknowledged by a leader that was alone", acknowledged)
		}
		return nil
	}}
}

// A span is some time.
type span struct{ from, to time.Time }

func (s span) has(at time.Time) bool { return at.After(s.from) && at.Before(s.to) }

// wireBrokers puts proxies between the first broker and the others, and lets it lead the orders.
func (s *stage) wireBrokers(ctx context.Context) error {
	s.network = newNetwork()
	base, err := strconv.Atoi(portOf(s.setup.Brokers[0]))
	if err != nil {
		return err
	}
	for from := 1; from <= 3; from++ {
		for to := 1; to <= 3; to++ {
			for above := 1; above <= 2 && from != to; above++ { // as controllers, and as brokers
				port := strconv.Itoa(base + 10*(to-1) + above)
				w := way{brokerName(from), brokerName(to)}
				p, err := s.network.proxy(net.JoinHostPort(between(from, to), port), w, net.JoinHostPort("127.0.0.1", port))
				if err != nil {
					return err
				}
				s.later(p.close)
			}
		}
	}
	s.later(func() { // before the proxies are gone
		s.network.heal()
		if err := s.names(func(int, int) string { return "127.0.0.1" }); err != nil {
			s.log.Error("the brokers stay behind proxies that are gone", "error", err)
		}
	})
	// All its connections are new after that.
	if err := errors.Join(s.names(between), s.park.kill("kafka3", "1"), s.park.revive("kafka3", "1")); err != nil {
		return err
	}
	var order kadm.AlterPartitionAssignmentsReq
	for partition := range int32(2) {
		order.Assign(s.setup.Orders, partition, []int32{1, 2, 3})
	}
	if _, err := s.admin.AlterPartitionAssignments(ctx, order); err != nil {
		return err
	}
	for {
		topics, err := s.admin.ListTopics(ctx, s.setup.Orders)
		if err != nil {
			return err
		}
		ready := true
		for _, p := range topics[s.setup.Orders].Partitions {
			ready = ready && p.Leader == 1 && len(p.ISR) == 3
		}
		if ready {
			return nil
		}
		// Refused until the broker has caught up.
		_, _ = s.admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, topics.TopicsSet())
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// names tells each broker where it finds the others.
func (s *stage) names(where func(from, to int) string) error {
	for from := 1; from <= 3; from++ {
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		text := "127.0.0.1 localhost " + host + "\n"
		for to := 1; to <= 3; to++ {
			text += fmt.Sprintf("%s %s\n", where(from, to), brokerName(to))
		}
		folder, err := s.park.tell("folder", "kafka3", strconv.Itoa(from))
		if err != nil {
			return err
		}
		// As a whole: a broker may be reading it.
		file := filepath.Join(folder, "hosts")
		if err := errors.Join(os.WriteFile(file+".new", []byte(text), 0o600), os.Rename(file+".new", file)); err != nil {
			return err
		}
	}
	return nil
}

func brokerName(n int) string { return fmt.Sprintf("broker-%d", n) }

// between is where the proxies listen that lie between two brokers.
func between(from, to int) string {
	if from == to {
		return "127.0.0.1"
	}
	return fmt.Sprintf("127.0.1.%d%d", from, to)
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}
