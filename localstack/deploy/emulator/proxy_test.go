package emulator_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// A proxy passes connections on to a server until they are lost.
type proxy struct {
	url string // the server's, with the proxy's host

	mu    sync.Mutex
	conns []net.Conn
	lost  []*atomic.Bool
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	target := address.Host
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address.Host = listener.Addr().String()
	p := &proxy{url: address.String()}
	t.Cleanup(func() {
		_ = listener.Close()
		p.cut()
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			p.pass(conn, target)
		}
	}()
	return p
}

func (p *proxy) pass(conn net.Conn, target string) {
	onward, err := net.Dial("tcp", target)
	if err != nil {
		_ = conn.Close()
		return
	}
	lost := new(atomic.Bool)
	p.mu.Lock()
	p.conns = append(p.conns, conn, onward)
	p.lost = append(p.lost, lost)
	p.mu.Unlock()
	for _, way := range [][2]net.Conn{{conn, onward}, {onward, conn}} {
		go func() {
			_, _ = io.Copy(unless{lost, way[0]}, way[1])
			_ = way[0].Close()
		}()
	}
}

// lose makes all connections dead without a word, as an idle one is that a network has forgotten.
// New ones work.
func (p *proxy) lose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, lost := range p.lost {
		lost.Store(true)
	}
}

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

// cut ends all connections; new ones work.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.conns = nil
}
