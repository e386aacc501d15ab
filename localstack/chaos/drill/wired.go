package drill

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	clients  = "127.0.0.1" // the host of all functions
	observer = "127.0.0.2" // the host of the drill itself, which is never cut off
)

// A wired node is a node of the cluster behind proxies, through which clients and the other nodes
// find it. It speaks from a host of its own, so that the proxies know who speaks.
type wired struct {
	name        string // its port
	host        string
	client, bus *proxy
	direct      *redis.Client
}

// wire puts proxies before all nodes of the cluster at that address. The nodes are told at run time,
// and tell each other.
func (s *stage) wire(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	base, err := strconv.Atoi(u.Port())
	if err != nil {
		return err
	}
	s.network = newNetwork()
	s.later(s.unwire)
	for i := range 6 {
		n := &wired{name: strconv.Itoa(base + i), host: fmt.Sprintf("127.0.0.%d", 10+i)}
		n.direct = node(net.JoinHostPort(clients, n.name))
		s.wired = append(s.wired, n)
		if n.client, err = s.network.proxy("127.0.0.1:0", way{to: n.host}, net.JoinHostPort(clients, n.name)); err != nil {
			return err
		}
		if n.bus, err = s.network.proxy("127.0.0.1:0", way{to: n.host}, net.JoinHostPort(clients, n.busPort())); err != nil {
			return err
		}
	}
	// Whoever hears a new address connects at once, and by then must speak from its own host.
	var doors []string
	for _, n := range s.wired {
		if err := n.set(ctx, "bind-source-addr", n.host); err != nil {
			return err
		}
	}
	for _, n := range s.wired {
		if err := n.set(ctx, "cluster-announce-ip", clients, "cluster-announce-port", n.client.port(), "cluster-announce-bus-port", n.bus.port()); err != nil {
			return err
		}
		doors = append(doors, n.client.address())
	}
	if err := s.met(ctx, func(n *wired) string { return n.client.address() + "@" + n.bus.port() }); err != nil {
		return err
	}
	u.Host, u.RawQuery = doors[0], "cluster=true&addr="+strings.Join(doors[1:], "&addr=")
	s.setup.Redis = u.String()
	return nil
}

// unwire lets the nodes find each other without proxies again, as the next drill needs it.
func (s *stage) unwire() {
	s.network.heal()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var failed error
	for _, n := range s.wired {
		// Who has connections from a node's host must not take that for its address.
		failed = errors.Join(failed, n.set(ctx, "cluster-announce-ip", clients, "cluster-announce-port", "0", "cluster-announce-bus-port", "0", "bind-source-addr", ""))
	}
	failed = errors.Join(failed, s.met(ctx, func(n *wired) string { return net.JoinHostPort(clients, n.name) + "@" + n.busPort() }))
	for _, n := range s.wired {
		n.client.close()
		n.bus.close()
		_ = n.direct.Close()
	}
	if failed != nil {
		s.log.Error("the cluster stays behind proxies that are gone", "error", failed)
	}
}

// busPort is where it listens to other nodes without the proxy.
func (n *wired) busPort() string {
	port, _ := strconv.Atoi(n.name)
	return strconv.Itoa(port + 10_000)
}

func (n *wired) set(ctx context.Context, pairs ...string) error {
	args := []any{"CONFIG", "SET"}
	for _, p := range pairs {
		args = append(args, p)
	}
	return n.direct.Do(ctx, args...).Err()
}

// asObserver connects from the drill's own host.
func asObserver(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(observer)}}
	return d.DialContext(ctx, network, address)
}

// met waits until each node is connected to all others at their right addresses, and each replica
// to its master.
func (s *stage) met(ctx context.Context, right func(*wired) string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var addresses []string
	for _, n := range s.wired {
		addresses = append(addresses, right(n))
	}
	for {
		var strange []string
		for _, n := range s.wired {
			strange = append(strange, n.strange(ctx, addresses)...)
		}
		if len(strange) == 0 {
			return nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("the cluster did not meet: %w: %q", err, strange)
		}
	}
}

// strange lists what a node says that is not as it should be.
func (n *wired) strange(ctx context.Context, addresses []string) (lines []string) {
	text, err := n.direct.ClusterNodes(ctx).Result()
	if err != nil {
		return []string{err.Error()}
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if strings.Contains(f[2], "myself") {
			continue
		}
		if !slices.Contains(addresses, f[1]) || strings.Contains(f[2], "fail") || f[7] != "connected" {
			lines = append(lines, n.name+": "+line)
		}
	}
	info, err := n.direct.Info(ctx, "replication").Result()
	if err != nil || !strings.Contains(info, "master_link_status:up") && !strings.Contains(info, "state=online") {
		lines = append(lines, n.name+": no replica or no master")
	}
	return lines
}

// at finds the node that clients find at an address.
func (s *stage) at(address string) *wired {
	i := slices.IndexFunc(s.wired, func(n *wired) bool { return n.client.address() == address })
	return s.wired[i] // they announce no others
}

// hostsBut are those of all nodes but some.
func (s *stage) hostsBut(but ...*wired) (hosts []string) {
	for _, n := range s.wired {
		if !slices.Contains(but, n) {
			hosts = append(hosts, n.host)
		}
	}
	return hosts
}
