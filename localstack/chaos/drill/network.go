package drill

import (
	"net"
	"sync"
)

// A network says which hosts hear each other. A host is the address that it speaks from, or a
// broker's name.
//
// Nothing that was said is lost: what somebody does not hear waits where it is, as with TCP, and
// arrives when the network is whole again, however late that is. Connections stay open, and new
// ones can be made, of which the other end knows nothing yet.
type network struct {
	mu     sync.Mutex
	mended sync.Cond
	cut    map[way]bool
}

// A way is one direction between two hosts.
type way struct{ from, to string }

func newNetwork() *network {
	n := &network{cut: map[way]bool{}}
	n.mended.L = &n.mu
	return n
}

// silence lets the second ones not hear the first ones any more.
func (n *network) silence(from, to []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range from {
		for _, b := range to {
			n.cut[way{a, b}] = true
		}
	}
}

// part lets neither side hear the other one any more.
func (n *network) part(one, other []string) {
	n.silence(one, other)
	n.silence(other, one)
}

// heal makes the network whole.
func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
	n.mended.Broadcast()
}

// await waits until something passes that way. No network lets everything pass.
func (n *network) await(w way) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.cut[w] {
		n.mended.Wait()
	}
}

// hostOf is the address without the port.
func hostOf(a net.Addr) string {
	host, _, _ := net.SplitHostPort(a.String()) // of a TCP connection it has both
	return host
}
