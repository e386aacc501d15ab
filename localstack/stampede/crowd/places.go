package crowd

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// places are as many calls as may be under way. Whoever wanted to send first gets the
// next one that is left.
type places struct {
	mu     sync.Mutex
	all    int
	free   int // 0 as long as somebody waits
	wishes wishes
}

func newPlaces(n int) *places { return &places{all: n, free: n} }

// taken is how many calls are under way.
func (p *places) taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all - p.free
}

// enter waits for a place. It is false if the context ended before.
func (p *places) enter(ctx context.Context, wanted time.Time) bool {
	p.mu.Lock()
	if p.free > 0 {
		p.free--
		p.mu.Unlock()
		return true
	}
	w := &wish{wanted: wanted, granted: make(chan struct{})}
	heap.Push(&p.wishes, w)
	p.mu.Unlock()
	select {
	case <-w.granted:
		return true
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.index >= 0 {
		heap.Remove(&p.wishes, w.index)
	} else { // granted meanwhile
		p.pass()
	}
	return false
}

// leave gives a place back.
func (p *places) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass()
}

func (p *places) pass() {
	if len(p.wishes) == 0 {
		p.free++
		return
	}
	close(heap.Pop(&p.wishes).(*wish).granted)
}

// A wish is for a place, since a moment.
type wish struct {
	wanted  time.Time
	granted chan struct{}
	index   int // in the heap; -1 once it is out
}

// wishes are a heap, the oldest first.
type wishes []*wish

func (w wishes) Len() int           { return len(w) }
func (w wishes) Less(i, j int) bool { return w[i].wanted.Before(w[j].wanted) }

func (w wishes) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].index, w[j].index = i, j
}

func (w *wishes) Push(x any) {
	one := x.(*wish)
	one.index = len(*w)
	*w = append(*w, one)
}

func (w *wishes) Pop() any {
	last := len(*w) - 1
	one := (*w)[last]
	(*w)[last] = nil
	*w, one.index = (*w)[:last], -1
	return one
}
