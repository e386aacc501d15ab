// Package relay passes connections on to a server: for a container that reaches this machine's
// loopback by no other way, and for tests that cut connections or let them die.
//
// It promises that bytes pass unchanged, with one exception: a Kafka broker tells its clients where
// it is, and [OpenKafka] puts the relay's address there, so that they stay behind it.
package relay

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// A Relay is one listener in front of one server.
type Relay struct {
	listener net.Listener
	target   string
	kafka    bool

	mu    sync.Mutex
	links map[*link]bool
}

// A link is a client's connection and the one to the server.
type link struct {
	client, server net.Conn
	lost           atomic.Bool
}

// Open listens at host:port (port 0 is any) for connections to target.
func Open(listen, target string) (*Relay, error) { return open(listen, target, false) }

// OpenKafka is Open for a Kafka cluster of one broker.
func OpenKafka(listen, target string) (*Relay, error) { return open(listen, target, true) }

func open(listen, target string, kafka bool) (*Relay, error) {
	listener, err := net.Listen("tcp", listen) //nolint:noctx // local and instant
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	r := &Relay{listener: listener, target: target, kafka: kafka, links: make(map[*link]bool)}
	go r.serve()
	return r, nil
}

// Address is where it listens, host:port.
func (r *Relay) Address() string { return r.listener.Addr().String() }

// Cut ends all connections, as a server does that restarts; new ones work. It returns how many.
func (r *Relay) Cut() int {
	return r.each(func(l *link) { _, _ = l.client.Close(), l.server.Close() })
}

// Lose makes all connections dead without a word, as an idle one is that a network has forgotten;
// new ones work. It returns how many.
func (r *Relay) Lose() int {
	return r.each(func(l *link) { l.lost.Store(true) })
}

// Close ends the relay and its connections.
func (r *Relay) Close() {
	_ = r.listener.Close()
	r.Cut()
}

func (r *Relay) each(do func(*link)) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.links {
		do(l)
	}
	return len(r.links)
}

func (r *Relay) serve() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return // closed
		}
		go r.pass(client)
	}
}

func (r *Relay) pass(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", r.target) //nolint:noctx // bounded by the system; Close need not wait for it
	if err != nil {
		return
	}
	l := &link{client: client, server: server}
	r.mu.Lock()
	r.links[l] = true
	r.mu.Unlock()
	there, back := copyBytes, copyBytes
	if r.kafka {
		there, back = (&conversation{relay: r.Address()}).copiers()
	}
	done := make(chan struct{}, 2)
	go func() { there(unless{&l.lost, server}, client); done <- struct{}{} }()
	go func() { back(unless{&l.lost, client}, server); done <- struct{}{} }()
	<-done
	_, _ = client.Close(), server.Close()
	r.mu.Lock()
	delete(r.links, l)
	r.mu.Unlock()
}

func copyBytes(to io.Writer, from io.Reader) { _, _ = io.Copy(to, from) }

// unless drops what it is given once the connection is lost.
type unless struct {
	lost *atomic.Bool
	to   io.Writer
}

func (u unless) Write(p []byte) (int, error) {
	if u.lost.Load() {
		return len(p), nil
	}
	return u.to.Write(p)
}
