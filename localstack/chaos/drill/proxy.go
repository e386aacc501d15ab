package drill

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// A mood is what a proxy does with connections, old and new.
type mood int32

const (
	passing    mood = iota
	swallowing      // takes everything, answers nothing: a server that hangs
	deaf            // hands requests on, drops the answer and the connection
	refusing        // closes every connection
)

// A proxy is the network before one server.
type proxy struct {
	listener net.Listener
	target   string
	mood     atomic.Int32

	mu    sync.Mutex
	conns map[net.Conn]bool
}

func newProxy(target string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // local and instant
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, target: target, conns: map[net.Conn]bool{}}
	go p.serve()
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// set changes the mood. Connections that were swallowed from are cut: what they lost would
// otherwise confuse both ends.
func (p *proxy) set(m mood) {
	before := mood(p.mood.Swap(int32(m)))
	if m == refusing || before == swallowing {
		p.cut()
	}
}

// cut ends all connections at once.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.cut()
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.join(client)
	}
}

func (p *proxy) join(client net.Conn) {
	p.keep(client)
	defer p.drop(client)
	if mood(p.mood.Load()) == refusing {
		return
	}
	server, err := net.Dial("tcp", p.target) //nolint:noctx // local and instant
	if err != nil {
		return
	}
	p.keep(server)
	defer p.drop(server)
	done := make(chan struct{}, 2)
	go func() { p.pump(server, client, false); done <- struct{}{} }()
	go func() { p.pump(client, server, true); done <- struct{}{} }()
	<-done
}

// pump copies one direction as the mood says.
func (p *proxy) pump(to io.Writer, from io.Reader, answers bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		switch mood(p.mood.Load()) {
		case swallowing:
			continue
		case deaf:
			if answers {
				return
			}
		case refusing:
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
}

func (p *proxy) drop(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}
