package drill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// An Absence is what shoppers heard while one server was away.
type Absence struct {
	OnSale  Answers // there are units
	Cold    Answers // the same, of an environment that has just begun and met the server away
	SoldOut Answers
	Later   Answers // the same, when all that was known before is too old

	ColdSoldOut Answers // of an environment that has just begun
}

// Answers are how often each status came, and how long the slowest took, less what the machine was late.
type Answers struct {
	Codes   map[int]int
	Slowest time.Duration
}

// Away lets shoppers press while a server (redis, kafka, postgres, or jwks for the identity provider)
// takes everything and answers nothing, and then while it refuses connections: while there are units,
// and when all are sold. In between the server is well.
func Away(ctx context.Context, park Park, server string, log *slog.Logger) (hangs, refuses Absence, err error) {
	d := Drill{Name: server + " away", remoteKeys: server == "jwks"}
	var gate *gate
	if server == "kafka" { // a broker tells its own address, so the proxy must be its listener
		gate = newGate()
		brokers, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ListenFn(gate.listen))
		if err != nil {
			return hangs, refuses, err
		}
		defer brokers.Close()
		park.Brokers = brokers.ListenAddrs()[0]
	}
	s, err := open(ctx, d, park, log)
	if err != nil {
		return hangs, refuses, fmt.Errorf("%s: %w", d.Name, err)
	}
	defer s.close()
	set := map[string]func(mood){"redis": s.redis.set, "postgres": s.database.set, "kafka": gate.set}[server]
	if server == "jwks" {
		set = s.keys.set
	}
	// The crew needs its servers to stop in time.
	defer set(passing)
	go s.machine.watch(ctx)
	close(s.over)
	s.rush(ctx, 5, 0) // the clients are warm
	both := []struct {
		mood
		*Absence
	}{{swallowing, &hangs}, {refusing, &refuses}}
	for _, a := range both {
		set(a.mood)
		a.OnSale = s.ask(ctx, 20)
		if a.Cold, err = s.askCold(ctx, 20); err != nil {
			return hangs, refuses, err
		}
		set(passing)
		if err := sleep(ctx, time.Second); err != nil {
			return hangs, refuses, err
		}
	}
	s.rush(ctx, units, 0)
	for _, a := range both {
		s.ask(ctx, 1) // what Redis has is known
		set(a.mood)
		a.SoldOut = s.ask(ctx, 20)
		if err := sleep(ctx, latchTime); err != nil {
			return hangs, refuses, err
		}
		a.Later = s.ask(ctx, 20)
		if a.ColdSoldOut, err = s.askCold(ctx, 20); err != nil {
			return hangs, refuses, err
		}
		set(passing)
		if err := sleep(ctx, time.Second); err != nil {
			return hangs, refuses, err
		}
	}
	return hangs, refuses, ctx.Err()
}

// ask lets n fresh shoppers press once each, all at the same time.
func (s *stage) ask(ctx context.Context, n int) Answers {
	a := Answers{Codes: map[int]int{}}
	tokens := s.login(n, make([]string, n))
	var mu sync.Mutex
	var pressing sync.WaitGroup
	for _, token := range tokens {
		pressing.Go(func() {
			began, late := time.Now(), s.machine.so()
			code, _, _ := s.press(ctx, token)
			took := time.Since(began) - (s.machine.so() - late)
			mu.Lock()
			defer mu.Unlock()
			a.Codes[code]++
			a.Slowest = max(a.Slowest, took)
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

// A gate is a listener whose connections hang while it is shut, or are closed while it refuses.
type gate struct {
	mu   sync.Mutex
	mood mood
	open chan struct{} // closed while the gate is open
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

// set changes the mood, which is passing, swallowing or refusing.
func (g *gate) set(m mood) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if (m == swallowing) != (g.mood == swallowing) {
		if m == swallowing {
			g.open = make(chan struct{})
		} else {
			close(g.open)
		}
	}
	g.mood = m
}

// pass waits while the gate is shut; it is false while the gate refuses.
func (g *gate) pass() bool {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	<-open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mood != refusing
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
	if !c.pass() {
		return 0, errors.Join(io.EOF, c.Close())
	}
	return n, err
}
