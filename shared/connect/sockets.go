package connect

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// silence is how long a socket may have brought nothing before it is suspect.
const silence = time.Second

// sockets are one Redis client's. A freeze kills them all, but the library learns of one dead
// socket at a time, at the price of a timeout each, and with TLS not even of those that the server
// has closed. So the first that fails takes all others with it that were silent lately: the
// library finds them closed, and its one retry gets a new one.
type sockets struct {
	mu   sync.Mutex
	open map[*socket]bool
}

// dialer opens what dial opens.
func (s *sockets) dialer(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	s.open = make(map[*socket]bool)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		one := &socket{Conn: conn, all: s}
		one.heard.Store(time.Now().UnixNano())
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open[one] = true
		return one, nil
	}
}

// dropSilent closes the sockets that brought nothing for a while.
func (s *sockets) dropSilent() {
	limit := time.Now().Add(-silence).UnixNano()
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open {
		if one.heard.Load() < limit {
			delete(s.open, one)
			_ = one.Conn.Close()
			one.closed.Store(true)
		}
	}
}

// A socket tells the others when it fails.
type socket struct {
	net.Conn
	all    *sockets
	heard  atomic.Int64
	closed atomic.Bool
}

func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if err != nil {
		s.all.dropSilent()
	} else {
		s.heard.Store(time.Now().UnixNano())
	}
	return n, err
}

func (s *socket) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	if err != nil {
		s.all.dropSilent()
	}
	return n, err
}

func (s *socket) Close() error {
	s.all.mu.Lock()
	delete(s.all.open, s)
	s.all.mu.Unlock()
	return s.Conn.Close()
}

// SyscallConn is where the library looks for a closed socket before it uses one.
func (s *socket) SyscallConn() (syscall.RawConn, error) {
	if s.closed.Load() {
		return nil, net.ErrClosed
	}
	if plain, ok := s.Conn.(syscall.Conn); ok {
		return plain.SyscallConn()
	}
	return unseen{}, nil
}

// unseen is a TLS connection's: what lies in its socket is no sign of anything.
type unseen struct{}

func (unseen) Control(func(uintptr)) error    { return nil }
func (unseen) Read(func(uintptr) bool) error  { return nil }
func (unseen) Write(func(uintptr) bool) error { return nil }
