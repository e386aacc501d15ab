package protocol

// sweep looks after unconfirmed holds whose function is finished. For a bounded
// search it looks whether the record is still unread; a real sweep cannot, and
// backs off instead.
func (n *nexts) sweep() {
	for o := range n.w.count {
		if !has(n.w.redis.unconfirmed, o) || n.w.phase[o] == reserved || n.w.phase[o] == failed {
			continue
		}
		u := n.w.owner[o]
		switch row := n.w.row[o]; {
		case living(row):
			n.then("sweep confirms", func(w *world) bool { n.m.confirm(&w.redis, o, u); return true })
		case row == expired:
			n.then("sweep releases", func(w *world) bool { return n.m.release(&w.redis, o, u, false) })
		case row == rejected:
			n.then("sweep releases", func(w *world) bool { return n.m.release(&w.redis, o, u, true) })
		case row == noRow && !n.w.unread(o) && n.m.off != sweepPublishesAgain:
			n.then("sweep publishes again", func(w *world) bool { return w.publish(o) })
		}
	}
}

// reconciler reads both sides, is overtaken by whatever happens, and applies.
func (n *nexts) reconciler() {
	if n.m.off == reconcile {
		return
	}
	if o := n.w.overtaken; o != none {
		u := n.w.owner[o]
		n.then("reconciler applies", func(w *world) bool {
			w.overtaken = none
			if w.adopting {
				n.m.claim(&w.redis, o, u, true)
			} else {
				n.m.release(&w.redis, o, u, false)
			}
			w.adopting = false
			return true
		})
		return
	}
	for o := range n.w.count {
		h := n.w.redis.holds[n.w.owner[o]]
		if living(n.w.row[o]) && h.order == none {
			n.then("reconciler reads a lost hold", func(w *world) bool { w.overtaken, w.adopting = o, true; return true })
		}
		if n.w.row[o] != noRow && !living(n.w.row[o]) && h.order == o {
			n.then("reconciler reads an ended row", func(w *world) bool { w.overtaken = o; return true })
		}
	}
}

func (n *nexts) failover() {
	if n.w.failovers == 0 || n.w.replica == n.w.redis {
		return
	}
	n.then("replicate", func(w *world) bool { w.replica = w.redis; return true })
	n.then("failover", func(w *world) bool {
		w.redis = w.replica
		w.failovers--
		return true
	})
}
