package protocol

// A ledger instance: one item on two shards, whose quotas PostgreSQL keeps in a
// ledger with a version. A move reads the ledger, shrinks the donor if it has
// stock, commits the ledger by version, grows the receiver; mover and keeper may
// die between any two steps, and a shard may fail over to a replica that lags.
type ledger struct {
	perShard, orders, moves, failovers, raises int8
	off                                        ledgerRule
}

type ledgerRule int

const (
	noLedgerRule      ledgerRule = iota
	shrinkNeedsStock             // the donor gives only what it has
	commitByVersion              // only if the ledger is still the one that was read
	shrinkBeforeGrow             // the receiver grows only after the commit
	newerVersionOnly             // a shard takes a quota only of a newer version
	stockMovesByDelta            // a quota moves the stock by the difference, and does not set it
	raiseByTwo                   // a dead mover may have told a shard the next version
)

const ledgerOrders = 2

type account struct {
	stock, quota, version int8
	holds                 uint8
}

type book struct {
	quota   [2]int8
	version int8
}

// The progress of a move.
const (
	noMove = iota
	moveRead
	moveShrunk
	moveCommitted
	moveOver
)

type move struct {
	donor    int8
	read     book
	progress int8
}

type warehouse struct {
	shards, replicas  [2]account
	book              book
	count             int8
	shard, row        [ledgerOrders]int8
	releases          uint8
	moves             [2]move
	moveCount         int8
	asserting         book // told to the shards in todo
	todo              uint8
	raises, failovers int8
}

func (m ledger) start() warehouse {
	one := account{stock: m.perShard, quota: m.perShard}
	w := warehouse{raises: m.raises, failovers: m.failovers}
	w.shards = [2]account{one, one}
	w.replicas = w.shards
	w.book.quota = [2]int8{m.perShard, m.perShard}
	return w
}

// setQuota is quota.lua.
func (m ledger) setQuota(a *account, quota, version int8) {
	if version <= a.version && m.off != newerVersionOnly {
		return
	}
	if m.off == stockMovesByDelta {
		a.stock = quota
	} else {
		a.stock += quota - a.quota
	}
	a.quota, a.version = quota, version
}

func (a *account) hold(o int8) { a.stock, a.holds = a.stock-1, with(a.holds, o) }

func (a *account) free(o int8) {
	if has(a.holds, o) {
		a.stock, a.holds = a.stock+1, without(a.holds, o)
	}
}

func (w *warehouse) active() (n int8) {
	for o := range w.count {
		if w.row[o] == pending {
			n++
		}
	}
	return n
}

func (m ledger) next(w warehouse) []step[warehouse] {
	var out []step[warehouse]
	then := func(name string, change func(w *warehouse)) {
		next := w
		change(&next)
		out = append(out, step[warehouse]{name, next})
	}
	for i := range w.shards {
		if w.count < m.orders && w.shards[i].stock > 0 {
			then("reserve", func(w *warehouse) {
				w.shard[w.count] = int8(i) //nolint:gosec // 0 or 1
				w.shards[i].hold(w.count)
				w.count++
			})
		}
		if w.moveCount < m.moves {
			then("mover reads", func(w *warehouse) {
				w.moves[w.moveCount] = move{int8(i), w.book, moveRead} //nolint:gosec // 0 or 1
				w.moveCount++
			})
		}
		if w.failovers > 0 && w.replicas[i] != w.shards[i] {
			then("replicate", func(w *warehouse) { w.replicas[i] = w.shards[i] })
			then("failover", func(w *warehouse) { w.shards[i] = w.replicas[i]; w.failovers-- })
		}
	}
	m.move(w, then)
	m.assert(w, then)
	m.settleOrders(w, then)
	return out
}

func (m ledger) move(w warehouse, then func(string, func(*warehouse))) {
	for k := range w.moveCount {
		mv := w.moves[k]
		from, to := mv.donor, 1-mv.donor
		grow := func(w *warehouse, b book) { m.setQuota(&w.shards[to], b.quota[to], b.version) }
		moved := mv.read
		moved.quota[from]--
		moved.quota[to]++
		moved.version++
		switch mv.progress {
		case moveRead:
			donor := w.shards[from]
			// The donor may have been told another quota than the one that was read: only what it
			// would lose must be there.
			less := donor.quota - moved.quota[from]
			enough := less <= 0 || donor.stock >= less || m.off == shrinkNeedsStock
			if enough && donor.version < moved.version {
				then("shrink", func(w *warehouse) {
					m.setQuota(&w.shards[from], moved.quota[from], moved.version)
					w.moves[k].progress = moveShrunk
					if m.off == shrinkBeforeGrow {
						grow(w, moved)
					}
				})
			}
		case moveShrunk:
			if w.book.version == mv.read.version || m.off == commitByVersion {
				then("commit", func(w *warehouse) {
					if m.off == commitByVersion {
						moved.version = max(moved.version, w.book.version+1)
					}
					w.book, w.moves[k].read, w.moves[k].progress = moved, moved, moveCommitted
				})
			}
		case moveCommitted:
			then("grow", func(w *warehouse) { grow(w, mv.read); w.moves[k].progress = moveOver })
		}
		if mv.progress != moveOver {
			then("mover dies", func(w *warehouse) { w.moves[k].progress = moveOver })
		}
	}
}

// assert is the stockkeeper that raises the ledger's version and tells all shards.
func (m ledger) assert(w warehouse, then func(string, func(*warehouse))) {
	by := int8(2)
	if m.off == raiseByTwo {
		by = 1
	}
	if w.raises > 0 && w.todo == 0 {
		then("raise", func(w *warehouse) {
			w.book.version += by
			w.raises--
			w.asserting, w.todo = w.book, 0b11
		})
	}
	for i := range int8(2) {
		if has(w.todo, i) {
			then("assert", func(w *warehouse) {
				m.setQuota(&w.shards[i], w.asserting.quota[i], w.asserting.version)
				w.todo = without(w.todo, i)
			})
		}
	}
	if w.todo != 0 {
		then("keeper dies", func(w *warehouse) { w.todo = 0 })
	}
}

func (m ledger) settleOrders(w warehouse, then func(string, func(*warehouse))) {
	for o := range w.count {
		i := w.shard[o]
		switch w.row[o] {
		case noRow:
			then("write", func(w *warehouse) {
				if !has(w.shards[i].holds, o) {
					w.shards[i].hold(o)
				}
				w.row[o] = pending
				if w.active() > 2*m.perShard {
					w.row[o] = rejected
					w.shards[i].free(o)
				}
			})
		case pending:
			then("expire", func(w *warehouse) { w.row[o], w.releases = expired, with(w.releases, o) })
		}
		if has(w.releases, o) {
			then("drain", func(w *warehouse) {
				w.shards[i].free(o)
				w.releases = without(w.releases, o)
			})
		}
	}
}
