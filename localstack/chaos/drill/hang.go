package drill

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// A Hanging is what shoppers heard while one server hung.
type Hanging struct {
	OnSale  Answers // there are units
	Cold    Answers // the same, of an environment that has just begun and met the server hanging
	SoldOut Answers
	Later   Answers // the same, when all that was known before is too old
}

// Answers are how often each status came, and how long the slowest took.
type Answers struct {
	Codes   map[int]int
	Slowest time.Duration
}

// Hang lets shoppers press while a server (redis, kafka, postgres, or jwks for the identity provider)
// hangs: while there are units, and when all are sold. In between the server is well.
func Hang(ctx context.Context, park Park, server string, log *slog.Logger) (Hanging, error) {
	d := Drill{Name: server + " hangs", remoteKeys: server == "jwks"}
	var gate *gate
	if server == "kafka" { // a broker tells its own address, so the proxy must be its listener
		gate = newGate()
		brokers, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ListenFn(gate.listen))
		if err != nil {
			return Hanging{}, err
		}
		defer brokers.Close()
		park.Brokers = brokers.ListenAddrs()[0]
	}
	s, err := open(ctx, d, park, log)
	if err != nil {
		return Hanging{}, fmt.Errorf("%s: %w", d.Name, err)
	}
	defer s.close()
	hang := func(on bool) {
		switch {
		case server == "kafka":
			gate.shut(on)
		case server == "redis" && on:
			s.redis.set(swallowing)
		case server == "redis":
			s.redis.set(passing)
		case server == "jwks" && on:
			s.keys.set(swallowing)
		case server == "jwks":
			s.keys.set(passing)
		case on:
			s.database.set(swallowing)
		default:
			s.database.set(passing)
		}
	}
	close(s.over)
	s.rush(ctx, 5, 0) // the clients are warm
	var h Hanging
	hang(true)
	h.OnSale = s.ask(ctx, 20)
	if h.Cold, err = s.askCold(ctx, 20); err != nil {
		return h, err
	}
	hang(false)
	if err := sleep(ctx, time.Second); err != nil {
		return h, err
	}
	s.rush(ctx, units, 0)
	// The crew needs its servers to stop in time.
	defer hang(false)
	s.ask(ctx, 1) // what Redis has is known
	hang(true)
	h.SoldOut = s.ask(ctx, 20)
	if err := sleep(ctx, latchTime); err != nil {
		return h, err
	}
	h.Later = s.ask(ctx, 20)
	return h, ctx.Err()
}

// ask lets n fresh shoppers press once each, all at the same time.
func (s *stage) ask(ctx context.Context, n int) Answers {
	a := Answers{Codes: map[int]int{}}
	tokens := s.login(n, make([]string, n))
	var mu sync.Mutex
	var pressing sync.WaitGroup
	for _, token := range tokens {
		pressing.Go(func() {
			began := time.Now()
			code, _, _ := s.press(ctx, token)
			mu.Lock()
			defer mu.Unlock()
			a.Codes[code]++
			a.Slowest = max(a.Slowest, time.Since(began))
		})
	}
	pressing.Wait()
	return a
}

// askCold asks a new environment.
func (s *stage) askCold(ctx context.Context, n int) (Answers, error) {
	cold, err := s.setup.open(ctx, s.log)
	if err != nil {
		return Answers{}, err
	}
	defer cold.Close()
	warm := s.functions["purchase"]
	s.functions["purchase"] = cold.Functions()["purchase"]
	defer func() { s.functions["purchase"] = warm }()
	return s.ask(ctx, n), nil
}

// A gate is a listener whose connections hang while it is shut.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed while the gate is open
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

func (g *gate) shut(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if on {
		g.open = make(chan struct{})
	} else {
		close(g.open)
	}
}

func (g *gate) pass() {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	<-open
}

func (g *gate) listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address) //nolint:noctx // local and instant
	return &gatedListener{l, g}, err
}

type gatedListener struct {
	net.Listener
	*gate
}

func (l *gatedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &gatedConn{c, l.gate}, err
}

type gatedConn struct {
	net.Conn
	*gate
}

func (c *gatedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.pass()
	return n, err
}
