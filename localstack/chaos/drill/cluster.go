package drill

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func clusterDrills() []Drill {
	return []Drill{
		{Name: "failover", Fault: "cluster: master killed", cluster: true, explains: forgotten, strike: func(ctx context.Context, s *stage) error {
			return s.failover(ctx, 0)
		}},
		{Name: "failover-lag", Fault: "cluster: master killed, replica 0.7 s behind", cluster: true, explains: forgotten, happened: forgets, strike: func(ctx context.Context, s *stage) error {
			return s.failover(ctx, 700*time.Millisecond)
		}},
		{Name: "failover-shards", Fault: "the same, and it has one of three shards", cluster: true, shards: 3, explains: forgotten, happened: forgets, strike: func(ctx context.Context, s *stage) error {
			return s.failover(ctx, 700*time.Millisecond)
		}},
		{Name: "failover-twice", Fault: "cluster: master killed, and its successor as soon as it has a replica again", cluster: true, explains: forgotten, strike: func(ctx context.Context, s *stage) error {
			if err := s.failover(ctx, 0); err != nil {
				return err
			}
			if err := s.whole(ctx); err != nil {
				return err
			}
			return s.failover(ctx, 0)
		}},
		{Name: "master-alone", Fault: "cluster: replica hears nothing for 2 s and takes over while the master still sells", cluster: true, explains: forgotten, happened: forgets, strike: func(ctx context.Context, s *stage) error {
			return s.takeover(ctx, 2*time.Second)
		}},
		{Name: "slots-moved", Fault: "cluster: the sale's slot moved to and fro, 5 times", cluster: true, strike: func(ctx context.Context, s *stage) error {
			for range 5 {
				if err := s.moveSlot(ctx); err != nil {
					return err
				}
				if err := sleep(ctx, 300*time.Millisecond); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

// node makes a client of one cluster node, which tells what it has also if it is a replica.
func node(address string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: address, OnConnect: func(ctx context.Context, c *redis.Conn) error {
		return c.ReadOnly(ctx).Err()
	}})
}

// owners finds the master that has the sale's slot, its replica, and the other masters. Not every
// node knows of a change at once, so it asks for a while.
func (s *stage) owners(ctx context.Context) (slot int, master, replica redis.ClusterNode, others []redis.ClusterNode, err error) {
	for end := time.Now().Add(20 * time.Second); ; {
		slot, master, replica, others, err = s.look(ctx)
		if err == nil || time.Now().After(end) || sleep(ctx, 100*time.Millisecond) != nil {
			return slot, master, replica, others, err
		}
	}
}

func (s *stage) look(ctx context.Context) (slot int, master, replica redis.ClusterNode, others []redis.ClusterNode, err error) {
	at, err := s.rdb.ClusterKeySlot(ctx, s.key("meta")).Result()
	if err != nil {
		return 0, master, replica, nil, err
	}
	slot = int(at)
	ranges, err := s.rdb.ClusterSlots(ctx).Result()
	if err != nil {
		return 0, master, replica, nil, err
	}
	seen := map[string]bool{}
	for _, r := range ranges {
		if r.Start <= slot && slot <= r.End && len(r.Nodes) > 1 {
			master, replica = r.Nodes[0], r.Nodes[1]
		}
	}
	for _, r := range ranges {
		if n := r.Nodes[0]; n.ID != master.ID && !seen[n.ID] {
			seen[n.ID] = true
			others = append(others, n)
		}
	}
	if master.Addr == "" {
		return 0, master, replica, nil, errors.New("no master with a replica has the sale's slot")
	}
	return slot, master, replica, others, nil
}

// whole starts the nodes that are down and waits until the sale's master has a replica that has
// heard everything.
func (s *stage) whole(ctx context.Context) error {
	for _, port := range s.fallen {
		if err := s.park.revive("cluster", port); err != nil {
			return err
		}
	}
	for {
		_, master, _, _, err := s.owners(ctx)
		var info string
		if err == nil {
			m := node(master.Addr)
			info, err = m.Info(ctx, "replication").Result()
			_ = m.Close()
			if err == nil && strings.Contains(info, "state=online") {
				return nil
			}
		}
		if stopped := sleep(ctx, 100*time.Millisecond); stopped != nil {
			return fmt.Errorf("no master with a replica: %w: %s", errors.Join(stopped, err), info)
		}
	}
}

// takeover is what a network that cuts a master off from all other nodes, but not from its clients,
// comes to: it sells on, nobody hears of it, and its replica becomes the master. There is no network
// between the nodes here, so the replica is told to do what it would be elected for.
func (s *stage) takeover(ctx context.Context, alone time.Duration) error {
	_, _, replica, _, err := s.owners(ctx)
	if err != nil {
		return err
	}
	r := node(replica.Addr)
	defer func() { _ = r.Close() }()
	if err := deafen(ctx, r, alone); err != nil {
		return err
	}
	if err := errors.Join(s.recalls(ctx, r, time.Time{}, 0), r.Do(ctx, "CLUSTER", "FAILOVER", "TAKEOVER").Err(), hear(ctx, r), leads(ctx, r), s.sellsOn(ctx)); err != nil {
		return err
	}
	s.stopped = time.Now()
	return nil
}

// deafen lets a replica hear nothing for that time and longer: it may not log in to its master, who
// knows no password.
func deafen(ctx context.Context, replica *redis.Client, d time.Duration) error {
	if err := errors.Join(
		replica.ConfigSet(ctx, "masterauth", "nobody knows it").Err(),
		replica.ClientKillByFilter(ctx, "TYPE", "master").Err(),
	); err != nil {
		return err
	}
	return sleep(ctx, d)
}

func hear(ctx context.Context, replica *redis.Client) error {
	return replica.ConfigSet(ctx, "masterauth", "").Err()
}

// leads waits until the node is a master.
func leads(ctx context.Context, n *redis.Client) error { return has(ctx, n, "master") }

// has waits until the node has that role.
func has(ctx context.Context, n *redis.Client, wanted string) error {
	for {
		role, err := n.Do(ctx, "ROLE").Slice()
		if err == nil && len(role) > 0 && role[0] == wanted {
			return nil
		}
		if stopped := sleep(ctx, 50*time.Millisecond); stopped != nil {
			return fmt.Errorf("%s is no %s but %v: %w", n.Options().Addr, wanted, role, errors.Join(stopped, err))
		}
	}
}

// failover kills the master of the sale's slot, whose replica has heard nothing for lag by then.
func (s *stage) failover(ctx context.Context, lag time.Duration) error {
	_, master, replica, _, err := s.owners(ctx)
	if err != nil {
		return err
	}
	r := node(replica.Addr)
	defer func() { _ = r.Close() }()
	if lag > 0 {
		if err := deafen(ctx, r, lag); err != nil {
			return err
		}
	}
	_, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		return err
	}
	if err := s.fell(port); err != nil {
		return err
	}
	if err := errors.Join(s.recalls(ctx, r, time.Now(), 0), hear(ctx, r)); err != nil {
		return err
	}
	// Until the replica is the master the fault is not over.
	return errors.Join(leads(ctx, r), s.sellsOn(ctx))
}

// fell kills a node of the cluster until the drill is over.
func (s *stage) fell(port string) error {
	if err := s.park.kill("cluster", port); err != nil {
		return err
	}
	s.fallen = append(s.fallen, port)
	s.later(func() { _ = s.park.revive("cluster", port) })
	return nil
}

// moveSlot moves the sale's slot to another master, key by key, as a resharding does.
func (s *stage) moveSlot(ctx context.Context) error {
	slot, master, _, others, err := s.owners(ctx)
	if err != nil {
		return err
	}
	target := others[0]
	from, to := node(master.Addr), node(target.Addr)
	defer func() { _, _ = from.Close(), to.Close() }()
	host, port, err := net.SplitHostPort(target.Addr)
	if err != nil {
		return err
	}
	if err := errors.Join(
		to.Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", master.ID).Err(),
		from.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", target.ID).Err(),
	); err != nil {
		return err
	}
	for {
		keys, err := from.ClusterGetKeysInSlot(ctx, slot, 1).Result()
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		if err := from.Migrate(ctx, host, port, keys[0], 0, 5*time.Second).Err(); err != nil {
			return err
		}
		if err := sleep(ctx, 30*time.Millisecond); err != nil { // scripts meet a slot that is half here and half there
			return err
		}
	}
	return errors.Join(
		to.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", target.ID).Err(),
		from.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", target.ID).Err(),
	)
}
