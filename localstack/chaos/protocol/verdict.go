package protocol

// broken judges one state of the orders' model.
func (m orders) broken(w world) string {
	if w.active() > m.units {
		return "oversold"
	}
	for u := range int8(shoppers) {
		n := 0
		for o := range w.count {
			if w.owner[o] == u && living(w.row[o]) {
				n++
			}
		}
		if n > 1 {
			return "two orders of one shopper"
		}
	}
	held := int8(0)
	for _, h := range w.redis.holds {
		if h.order != none {
			held++
		}
	}
	if w.redis.stock+held != m.units {
		return "not conserved"
	}
	if m.atRest(w) {
		return m.settled(w)
	}
	return ""
}

// atRest: nobody is at work, and nothing is on its way.
func (m orders) atRest(w world) bool {
	if w.overtaken != none || w.offset != w.length || w.releases != 0 || w.late != 0 || w.redis.unconfirmed != 0 {
		return false
	}
	for o := range w.count {
		if w.phase[o] == reserved || w.phase[o] == failed || w.twice[o] == repeating {
			return false
		}
	}
	return true
}

// settled judges a state at rest after the reconciler has run: no unit is lost
// or doubled, no answered order has vanished.
func (m orders) settled(w world) string {
	r := w.redis
	if m.off != reconcile {
		for range 2 * maxOrders {
			for o := range w.count {
				u := w.owner[o]
				if living(w.row[o]) && r.holds[u].order == none {
					m.claim(&r, o, u, true)
				}
				if w.row[o] != noRow && !living(w.row[o]) && r.holds[u].order == o {
					m.release(&r, o, u, false)
				}
			}
		}
	}
	switch free := m.units - w.active(); {
	case r.stock < free:
		return "a unit is stranded"
	case r.stock > free:
		return "a unit is promised twice"
	}
	for o := range w.count {
		if w.phase[o] != accepted && w.twice[o] != accepted {
			continue
		}
		switch {
		case w.row[o] == noRow:
			return "an accepted order vanished"
		case w.row[o] == rejected && w.failovers == m.failovers:
			return "an accepted order was rejected without a failover"
		}
	}
	return ""
}

// quiet is a state at rest.
func (m orders) quiet(w world) bool { return m.atRest(w) }
