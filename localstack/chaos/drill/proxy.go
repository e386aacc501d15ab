package drill

import (
	"bytes"
	"cmp"
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
	deaf            // hands requests on, drops a script's answer and the connection
	refusing        // closes every connection
)

// A proxy is the network before one server.
type proxy struct {
	listener net.Listener
	target   string
	network  *network // nil: all hear each other
	from, to string   // hosts in the network; from "" is whoever connects
	mood     atomic.Int32
	hindered atomic.Int64 // connections, requests and answers that did not pass

	mu    sync.Mutex
	conns map[net.Conn]bool
}

func newProxy(target string) (*proxy, error) {
	return (*network)(nil).proxy("127.0.0.1:0", way{}, target)
}

// proxy makes one that listens there before a server of the host w.to.
func (n *network) proxy(address string, w way, target string) (*proxy, error) {
	l, err := net.Listen("tcp", address) //nolint:noctx // local and instant
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, target: target, network: n, from: w.from, to: w.to, conns: map[net.Conn]bool{}}
	go p.serve()
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) port() string {
	_, port, _ := net.SplitHostPort(p.address()) // of a listener it has both
	return port
}

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
		p.hindered.Add(1)
		return
	}
	there := way{cmp.Or(p.from, hostOf(client.RemoteAddr())), p.to}
	p.network.await(there)
	server, err := net.Dial("tcp", p.target) //nolint:noctx // local and instant
	if err != nil {
		return
	}
	p.keep(server)
	defer p.drop(server)
	done := make(chan struct{}, 2)
	var asked atomic.Bool
	go func() { p.pump(server, client, there, &asked, false); done <- struct{}{} }()
	go func() { p.pump(client, server, way{there.to, there.from}, &asked, true); done <- struct{}{} }()
	<-done
}

// pump copies one direction as the mood says, and as the network lets it. Both directions know
// whether a script was asked for: the greeting of a new connection is no script.
func (p *proxy) pump(to io.Writer, from io.Reader, w way, asked *atomic.Bool, answers bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		switch mood(p.mood.Load()) {
		case swallowing:
			p.hindered.Add(1)
			continue
		case deaf:
			if !answers && bytes.Contains(buffer[:n], []byte("evalsha")) {
				asked.Store(true)
			} else if answers && asked.Load() {
				p.hindered.Add(1)
				return
			}
		case refusing:
			p.hindered.Add(1)
			return
		}
		p.network.await(w)
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
