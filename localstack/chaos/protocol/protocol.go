// Package protocol explores, on small instances, everything that can happen to
// orders and to a sale's ledger: crashes, unknown outcomes that land late,
// redelivery, expiry, payment, sweeps, failover to a replica that lags.
//
// It promises to visit every reachable state of an instance and to name each
// way in which the promise broke, with a shortest path to it. It says what the
// protocol allows, not how the code does it: the code's own tests do that.
// Rules that look superfluous can be switched off one by one; a rule whose
// absence breaks nothing would be superfluous indeed.
package protocol

import (
	"fmt"
	"slices"
)

// A step is one thing that can happen.
type step[S comparable] struct {
	name string
	to   S
}

// A model is explored by explore.
type model[S comparable] interface {
	start() S
	next(s S) []step[S]
	// broken names what is wrong in s, "" if nothing is.
	broken(s S) string
	// quiet tells whether s is a state in which all may come to rest.
	quiet(s S) bool
}

// A result is what an exploration found.
type result struct {
	states     int
	violations map[string][]string // kind → the steps of a shortest path
}

// explore visits every reachable state, at most limit of them. At the end it
// also checks that from each of them some quiet state can still be reached: a
// protocol that can get stuck for ever has broken its promise too.
func explore[S comparable](m model[S], limit int, stopAtFirst bool) (result, error) {
	type visit struct {
		from int32
		name string
	}
	first := m.start()
	index := map[S]int32{first: 0}
	states := []S{first}
	visits := []visit{{from: -1}}
	var targets, ends []int32 // the edges of state i end before ends[i]
	r := result{violations: map[string][]string{}}
	path := func(i int32) (steps []string) {
		for ; visits[i].from >= 0; i = visits[i].from {
			steps = append(steps, visits[i].name)
		}
		slices.Reverse(steps)
		return steps
	}
	for i := int32(0); int(i) < len(states); i++ {
		if kind := m.broken(states[i]); kind != "" && r.violations[kind] == nil {
			r.violations[kind] = path(i)
			if stopAtFirst {
				return r, nil
			}
		}
		for _, st := range m.next(states[i]) {
			j, seen := index[st.to]
			if !seen {
				if len(states) == limit {
					return r, fmt.Errorf("more than %d states", limit)
				}
				j = int32(len(states)) //nolint:gosec // bounded by limit
				index[st.to] = j
				states = append(states, st.to)
				visits = append(visits, visit{i, st.name})
			}
			targets = append(targets, j)
		}
		ends = append(ends, int32(len(targets))) //nolint:gosec // a small multiple of limit
	}
	r.states = len(states)
	if i := stuck(m, states, targets, ends); i >= 0 {
		r.violations["stuck"] = path(i)
	}
	return r, nil
}

// stuck returns the first state from which no quiet one can be reached, -1 if
// there is none. Nearest states come first, so its path is short.
func stuck[S comparable](m model[S], states []S, targets, ends []int32) int32 {
	sources, starts := reverse(len(states), targets, ends)
	calm := make([]bool, len(states))
	var todo []int32
	for i, s := range states {
		if m.quiet(s) {
			calm[i] = true
			todo = append(todo, int32(i)) //nolint:gosec // an index of states
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, j := range sources[starts[i]:starts[i+1]] {
			if !calm[j] {
				calm[j] = true
				todo = append(todo, j)
			}
		}
	}
	return int32(slices.Index(calm, false)) //nolint:gosec // an index of states or -1
}

// reverse turns the edges round: the sources of state i's edges begin at starts[i].
func reverse(states int, targets, ends []int32) (sources, starts []int32) {
	starts = make([]int32, states+1)
	for _, j := range targets {
		starts[j+1]++
	}
	for i := range states {
		starts[i+1] += starts[i]
	}
	sources = make([]int32, len(targets))
	at := slices.Clone(starts)
	edge := int32(0)
	for i, end := range ends {
		for ; edge < end; edge++ {
			j := targets[edge]
			sources[at[j]] = int32(i) //nolint:gosec // an index of states
			at[j]++
		}
	}
	return sources, starts
}
