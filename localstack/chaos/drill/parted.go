package drill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// partedDrills cut nodes of the cluster off from each other, or from their clients.
func partedDrills() []Drill {
	return []Drill{
		parted("parted-master", "cluster: the master cut off from all other nodes, not from its clients, 8 s", forgotten, func(ctx context.Context, s *stage, c cast) error {
			s.network.part(hosts(c.master), s.hostsBut(c.master))
			return s.outvoted(ctx, c, 8*time.Second)
		}),
		parted("parted-minority", "cluster: the master and another one's replica cut off from the rest, not from clients, 8 s; three shards", forgotten, func(ctx context.Context, s *stage, c cast) error {
			s.network.part(hosts(c.master, c.stranger), s.hostsBut(c.master, c.stranger))
			return s.outvoted(ctx, c, 8*time.Second)
		}).sharded(3),
		parted("parted-pair", "cluster: the master and its replica cut off from the rest, not from clients, 6 s", none, func(ctx context.Context, s *stage, c cast) error {
			s.network.part(hosts(c.master, c.replica), s.hostsBut(c.master, c.replica))
			if err := errors.Join(s.stops(ctx, c.master), s.until(ctx, 6*time.Second)); err != nil {
				return err
			}
			s.network.heal()
			return nil
		}),
		parted("parted-mute", "cluster: the master hears the other nodes and is not heard by them, 8 s", forgotten, func(ctx context.Context, s *stage, c cast) error {
			s.network.silence(hosts(c.master), s.hostsBut(c.master))
			return s.outvoted(ctx, c, 8*time.Second)
		}),
		parted("parted-replica", "cluster: the replica cut off from its master for 3 s, then the master killed", forgotten, func(ctx context.Context, s *stage, c cast) error {
			s.network.part(hosts(c.master), hosts(c.replica))
			if err := errors.Join(s.until(ctx, 3*time.Second), s.fell(c.master.name), s.recalls(ctx, c.replica.direct, time.Now(), 0)); err != nil {
				return err
			}
			s.network.heal()
			return errors.Join(leads(ctx, c.replica.direct), s.sellsOn(ctx))
		}),
		parted("parted-clients", "cluster: the master of one of three shards cut off from all clients, not from the nodes, 5 s", none, func(ctx context.Context, s *stage, c cast) error {
			s.network.part(hosts(c.master), []string{clients})
			cut := time.Now()
			err := s.until(ctx, 5*time.Second)
			s.alone = span{cut, time.Now()}
			s.network.heal()
			return err
		}).sharded(3).then(func(_ context.Context, s *stage) error {
			told := 0 // though the shard that nobody reached had units
			s.sales.note(func(l *ledger) {
				for _, at := range l.refused {
					if s.alone.has(at) {
						told++
					}
				}
			})
			if told > 0 {
				return fmt.Errorf("%d shoppers heard SOLD_OUT", told)
			}
			return nil
		}),
	}
}

// A cast is who takes part.
type cast struct {
	master, replica *wired // that have the sale's first shard
	stranger        *wired // the replica of another master
}

// parted is a drill of the cluster whose nodes can be cut off.
func parted(name, fault string, explains excuse, strike func(context.Context, *stage, cast) error) Drill {
	met := turnedAway // until a replica leads, nobody is sold to
	if explains == forgotten {
		met = forgets
	}
	return Drill{Name: name, Fault: fault, cluster: true, parted: true, explains: explains, happened: met, strike: func(ctx context.Context, s *stage) error {
		c, err := s.cast(ctx)
		if err != nil {
			return err
		}
		return strike(ctx, s, c)
	}}
}

func (d Drill) sharded(shards int) Drill {
	d.shards = shards
	return d
}

func (d Drill) then(besides func(context.Context, *stage) error) Drill {
	d.besides = besides
	return d
}

func (s *stage) cast(ctx context.Context) (c cast, err error) {
	_, master, replica, others, err := s.owners(ctx)
	if err != nil {
		return c, err
	}
	c.master, c.replica = s.at(master.Addr), s.at(replica.Addr)
	ranges, err := s.rdb.ClusterSlots(ctx).Result()
	for _, r := range ranges {
		if len(r.Nodes) > 1 && r.Nodes[0].ID == others[0].ID {
			c.stranger = s.at(r.Nodes[1].Addr)
		}
	}
	if err == nil && c.stranger == nil {
		err = errors.New("no other master has a replica")
	}
	return c, err
}

// outvoted waits until the master that the majority does not hear sells nothing any more and its
// replica is elected, then for the rest of that time, heals the network, and waits until the old
// master follows the new one.
func (s *stage) outvoted(ctx context.Context, c cast, d time.Duration) error {
	if err := s.recalls(ctx, c.replica.direct, time.Time{}, 0); err != nil {
		return err
	}
	var group errgroup.Group
	group.Go(func() error { return s.stops(ctx, c.master) })
	group.Go(func() error { return leads(ctx, c.replica.direct) })
	if err := errors.Join(group.Wait(), s.sellsOn(ctx)); err != nil {
		return err
	}
	s.log.Info("the replica leads", "stopped after", s.stopped.Sub(s.struck), "and now", time.Since(s.struck))
	if err := s.until(ctx, d); err != nil {
		return err
	}
	s.network.heal()
	return has(ctx, c.master.direct, "slave")
}

// stops waits until a master does not serve the sale any more.
func (s *stage) stops(ctx context.Context, master *wired) error {
	for {
		if err := master.direct.Exists(ctx, s.key("meta")).Err(); err != nil && ctx.Err() == nil {
			s.stopped = time.Now()
			return nil
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// until waits for a moment after the strike.
func (s *stage) until(ctx context.Context, d time.Duration) error {
	return sleep(ctx, time.Until(s.struck.Add(d)))
}

func hosts(nodes ...*wired) (hosts []string) {
	for _, n := range nodes {
		hosts = append(hosts, n.host)
	}
	return hosts
}
