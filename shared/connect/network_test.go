package connect_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// silentServer takes connections and never says a word.
func silentServer(t *testing.T) (address string) {
	t.Helper()
	listener := listen(t)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
	}()
	return listener.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// A wire passes bytes on to a server. It can do to the connections what a long
// freeze does: close them, or make them swallow everything without a sign.
type wire struct {
	address string
	server  string

	mu    sync.Mutex
	links []*link
}

type link struct {
	client, server net.Conn
	mu             sync.Mutex
	dead           bool
}

func newWire(t *testing.T, server string) *wire {
	t.Helper()
	listener := listen(t)
	w := &wire{address: listener.Addr().String(), server: server}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			w.join(client)
		}
	}()
	t.Cleanup(w.close)
	return w
}

func (w *wire) join(client net.Conn) {
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{client: client, server: server}
	w.mu.Lock()
	w.links = append(w.links, l)
	w.mu.Unlock()
	go l.pass(client, server)
	go l.pass(server, client)
}

// pass ends both ways when one ends, unless the link is to look alive.
func (l *link) pass(from, to net.Conn) {
	_, _ = io.Copy(writerFunc(func(p []byte) (int, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.dead {
			return len(p), nil
		}
		return to.Write(p)
	}), from)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.dead {
		_, _ = l.client.Close(), l.server.Close()
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// silence returns how many connections it has killed without their knowing.
func (w *wire) silence() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.links {
		l.mu.Lock()
		l.dead = true
		l.mu.Unlock()
	}
	return len(w.links)
}

func (w *wire) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.links {
		_, _ = l.client.Close(), l.server.Close()
	}
}
