package protocol

// next lists everything that can happen in w.
func (m orders) next(w world) []step[world] {
	n := nexts{m: m, w: w}
	n.purchases()
	n.write()
	n.rows()
	n.sweep()
	n.reconciler()
	n.failover()
	return n.out
}

type nexts struct {
	m   orders
	w   world
	out []step[world]
}

// then adds what change makes of the world; false from change means that it cannot happen.
func (n *nexts) then(name string, change func(w *world) bool) {
	w := n.w
	if change(&w) {
		n.out = append(n.out, step[world]{name, w})
	}
}

func (n *nexts) crash(name string, change func(w *world)) {
	n.then(name, func(w *world) bool {
		if w.crashes == 0 {
			return false
		}
		w.crashes--
		change(w)
		return true
	})
}

func (n *nexts) purchases() {
	if n.w.count < n.m.orders {
		for u := range int8(shoppers) {
			if n.w.redis.holds[u].order != none || n.w.redis.stock <= 0 {
				continue
			}
			n.then("reserve", func(w *world) bool {
				o := w.count
				w.count++
				w.owner[o], w.phase[o] = u, reserved
				w.redis.stock--
				w.redis.holds[u] = hold{order: o}
				w.redis.unconfirmed = with(w.redis.unconfirmed, o)
				return true
			})
		}
	}
	for o := range n.w.count {
		switch n.w.phase[o] {
		case reserved:
			n.published(o)
		case failed:
			n.failedPublish(o)
		}
		n.repeat(o)
		if has(n.w.late, o) {
			n.then("lands late", func(w *world) bool { w.late = without(w.late, o); return w.publish(o) })
			n.then("never lands", func(w *world) bool { w.late = without(w.late, o); return true })
		}
	}
}

func (n *nexts) published(o int8) {
	n.then("acknowledged", func(w *world) bool { w.phase[o] = accepted; return w.publish(o) })
	unheard := int8(failed)
	if n.m.off == answerAfterAck {
		unheard = accepted
	}
	n.then("publish fails", func(w *world) bool { w.phase[o] = unheard; return true })
	n.then("publish unknown", func(w *world) bool {
		w.phase[o], w.late = unheard, with(w.late, o)
		return true
	})
	n.crash("dies before publish", func(w *world) { w.phase[o] = crashed })
	n.then("dies after publish", func(w *world) bool {
		if w.crashes == 0 {
			return false
		}
		w.crashes--
		w.phase[o] = crashed
		return w.publish(o)
	})
}

func (n *nexts) failedPublish(o int8) {
	u := n.w.owner[o]
	n.then("give up", func(w *world) bool {
		if n.m.giveUp(&w.redis, o, u) {
			w.phase[o] = refused
		} else {
			w.phase[o] = accepted
		}
		return true
	})
	n.crash("dies before giving up", func(w *world) { w.phase[o] = crashed })
}

// repeat is the shopper's second call with the same Idempotency-Key.
func (n *nexts) repeat(o int8) {
	u := n.w.owner[o]
	h := n.w.redis.holds[u]
	if n.w.repeats > 0 && n.w.twice[o] == absent && h.order == o && !h.claimed {
		n.then("repeat publishes", func(w *world) bool {
			w.repeats--
			w.twice[o] = repeating
			if n.m.off == repeatClaims {
				w.twice[o] = accepted
			}
			return w.publish(o)
		})
	}
	if n.w.repeats > 0 && n.w.twice[o] == absent && h.order == o && h.claimed {
		n.then("repeat hears accepted", func(w *world) bool {
			w.repeats--
			w.twice[o] = accepted
			return true
		})
	}
	if n.w.twice[o] == repeating {
		n.then("repeat claims", func(w *world) bool {
			w.twice[o] = refused
			if n.m.claim(&w.redis, o, u, false) {
				w.twice[o] = accepted
			}
			return true
		})
	}
}

// write is the order writer with the next record: claim, write, tell Redis. It
// may die in between, and starts again with the same record.
func (n *nexts) write() {
	if n.w.offset == n.w.length {
		return
	}
	o := n.w.log[n.w.offset]
	u := n.w.owner[o]
	switch n.w.writer {
	case idle:
		n.then("claim", func(w *world) bool {
			if n.m.off == claimBeforeWrite || n.m.claim(&w.redis, o, u, false) {
				w.writer = claimed
				return true
			}
			if w.row[o] == noRow {
				w.row[o] = rejected
			}
			w.offset++
			return true
		})
	case claimed:
		n.then("write", func(w *world) bool { n.m.write(w, o); return true })
		n.crash("writer dies after claim", func(w *world) { w.writer = idle })
	default:
		n.then("tell", func(w *world) bool {
			switch w.writer {
			case wroteLiving:
				n.m.confirm(&w.redis, o, u)
			case wroteExpired:
				n.m.release(&w.redis, o, u, false)
			case wroteRejected:
				n.m.release(&w.redis, o, u, true)
			}
			w.writer = idle
			w.offset++
			return true
		})
		n.crash("writer dies after write", func(w *world) { w.writer = idle })
	}
}

// write is order.WriteBatch for one record.
func (m orders) write(w *world, o int8) {
	if w.row[o] == noRow {
		full := w.active() >= m.units && m.off != databaseGuard
		w.row[o] = pending
		if full || w.shopperHasRowBut(o) {
			w.row[o] = rejected
		}
	}
	switch w.row[o] {
	case expired:
		w.writer = wroteExpired
	case rejected:
		w.writer = wroteRejected
	default:
		w.writer = wroteLiving
	}
}

func (w *world) shopperHasRowBut(o int8) bool {
	row := w.row[o]
	w.row[o] = noRow
	found := w.shopperHasRow(w.owner[o])
	w.row[o] = row
	return found
}

func (n *nexts) rows() {
	for o := range n.w.count {
		u := n.w.owner[o]
		if n.w.row[o] == pending {
			n.then("pay", func(w *world) bool { w.row[o] = paid; return true })
			n.then("expire", func(w *world) bool {
				w.row[o], w.releases = expired, with(w.releases, o)
				return true
			})
			if n.m.off == releaseAfterCommit {
				n.then("release, then roll back", func(w *world) bool { return n.m.release(&w.redis, o, u, false) })
			}
		}
		if n.w.row[o] == expired && n.m.off == expiryIsFinal {
			n.then("late payment revives", func(w *world) bool { w.row[o] = paid; return true })
		}
		if has(n.w.releases, o) {
			n.then("drain", func(w *world) bool {
				n.m.release(&w.redis, o, u, false)
				w.releases = without(w.releases, o)
				return true
			})
			n.crash("drain dies", func(w *world) { n.m.release(&w.redis, o, u, false) })
		}
	}
	if n.m.off == tombstonesKept && n.w.redis.released != 0 {
		n.then("tombstones forgotten", func(w *world) bool { w.redis.released = 0; return true })
	}
}
