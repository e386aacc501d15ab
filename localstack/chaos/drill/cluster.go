package drill

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

func clusterDrills() []Drill {
	return []Drill{
		{Name: "failover", Fault: "cluster: master killed", cluster: true, explains: forgotten, strike: func(ctx context.Context, s *stage) error {
			return s.failover(ctx, 0)
		}},
		{Name: "failover-lag", Fault: "cluster: master killed, replica 0.7 s behind", cluster: true, explains: forgotten, strike: func(ctx context.Context, s *stage) error {
			return s.failover(ctx, 700*time.Millisecond)
		}},
		{Name: "failover-shards", Fault: "the same, and it has one of three shards", cluster: true, shards: 3, explains: forgotten, strike: func(ctx context.Context, s *stage) error {
			return s.failover(ctx, 700*time.Millisecond)
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

// node makes a client of one cluster node.
func node(address string) *redis.Client { return redis.NewClient(&redis.Options{Addr: address}) }

// owners finds the master that has the sale's slot, its replica, and the other masters.
func (s *stage) owners(ctx context.Context) (slot int, master, replica redis.ClusterNode, others []redis.ClusterNode, err error) {
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

// failover kills the master of the sale's slot. Before that its replica hears nothing for lag: it
// may not log in to the master, who knows no password.
func (s *stage) failover(ctx context.Context, lag time.Duration) error {
	_, master, replica, _, err := s.owners(ctx)
	if err != nil {
		return err
	}
	r := node(replica.Addr)
	defer func() { _ = r.Close() }()
	if lag > 0 {
		if err := errors.Join(
			r.ConfigSet(ctx, "masterauth", "nobody knows it").Err(),
			r.ClientKillByFilter(ctx, "TYPE", "master").Err(),
		); err != nil {
			return err
		}
		if err := sleep(ctx, lag); err != nil {
			return err
		}
	}
	_, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		return err
	}
	if err := s.park.kill("cluster", port); err != nil {
		return err
	}
	s.later(func() { _ = s.park.revive("cluster", port) })
	if err := r.ConfigSet(ctx, "masterauth", "").Err(); err != nil {
		return err
	}
	// Until the replica is the master the fault is not over.
	for {
		role, err := r.Do(ctx, "ROLE").Slice()
		if err == nil && len(role) > 0 && role[0] == "master" {
			return nil
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
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
