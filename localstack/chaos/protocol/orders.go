package protocol

// Sizes of an instance of the orders' model.
const (
	shoppers  = 2
	maxOrders = 3
	maxLog    = maxOrders + 2
)

// An Orders instance says how much may happen, and which rules are switched off.
type orders struct {
	units, orders, failovers, crashes, repeats int8
	off                                        rule
}

// A rule is one that the protocol is said to need.
type rule int

const (
	noRule               rule = iota
	claimBeforeWrite          // the writer claims before it writes
	tombstones                // a release of an unclaimed hold leaves a tombstone
	tombstonesKept            // until the sale is archived
	releaseSparesClaimed      // a purchase does not release what a writer has claimed
	releaseComparesOrder      // a release frees only the hold of its own order
	rejectGivesBack           // a rejected order's unit comes back
	confirmTakesAnyState      // also a hold that a failover put back to reserved
	confirmMakesNoHold        // never recreates one
	expiryIsFinal             // a late payment does not revive
	answerAfterAck            // 202 only after Kafka's acknowledgement
	adoptLowersStock          // a lost hold is put back with its decrement
	reconcile                 // living rows without a hold are adopted
	databaseGuard             // rows are never more than units
	repeatClaims              // a repeated purchase claims before it says 202
	sweepPublishesAgain       // a hold that no writer confirmed
	releaseAfterCommit        // an expired order's unit
)

const none = int8(-1)

type hold struct {
	order   int8
	claimed bool
}

// shelf is Redis. Sets of orders are bits.
type shelf struct {
	stock                 int8
	holds                 [shoppers]hold
	unconfirmed, released uint8
}

// The phases of a purchase.
const (
	absent    = iota
	reserved  // holds, has not published
	failed    // its publish failed or timed out
	accepted  // answered 202
	refused   // answered 503
	crashed   // its function died
	repeating // a second call with the same key has published, and not claimed yet
)

// The states of a row.
const (
	noRow = iota
	pending
	paid
	expired
	rejected
)

// The writer's progress with the record at the offset.
const (
	idle = iota
	claimed
	wroteLiving
	wroteExpired
	wroteRejected
)

type world struct {
	redis, replica shelf

	count  int8 // of orders
	owner  [maxOrders]int8
	phase  [maxOrders]int8
	twice  [maxOrders]int8 // absent, repeating, or accepted
	row    [maxOrders]int8
	log    [maxLog]int8
	length int8
	offset int8
	writer int8

	releases, late              uint8 // orders: release rows, and records in flight
	failovers, crashes, repeats int8
	overtaken                   int8 // the order that the reconciler read, or none
	adopting                    bool
}

func has(set uint8, o int8) bool      { return set&(1<<o) != 0 }
func with(set uint8, o int8) uint8    { return set | 1<<o }
func without(set uint8, o int8) uint8 { return set &^ (1 << o) }

func (m orders) start() world {
	var w world
	w.redis.stock = m.units
	for u := range w.redis.holds {
		w.redis.holds[u] = hold{order: none}
	}
	w.replica = w.redis
	w.failovers, w.crashes, w.repeats, w.overtaken = m.failovers, m.crashes, m.repeats, none
	return w
}

func living(row int8) bool { return row == pending || row == paid }

func (w *world) active() (n int8) {
	for o := range w.count {
		if living(w.row[o]) {
			n++
		}
	}
	return n
}

func (w *world) shopperHasRow(u int8) bool {
	for o := range w.count {
		if w.owner[o] == u && living(w.row[o]) {
			return true
		}
	}
	return false
}

func (w *world) unread(o int8) bool {
	for i := w.offset; i < w.length; i++ {
		if w.log[i] == o {
			return true
		}
	}
	return false
}

func (w *world) publish(o int8) bool {
	if w.length == maxLog {
		return false
	}
	w.log[w.length] = o
	w.length++
	return true
}

// claim is claim.lua; ok tells the writer to write.
func (m orders) claim(s *shelf, o, u int8, adopt bool) (ok bool) {
	h := &s.holds[u]
	switch {
	case h.order == o:
		h.claimed = true
		return true
	case !adopt && has(s.released, o):
		return false
	case h.order != none:
		return false
	}
	if m.off != adoptLowersStock {
		s.stock--
	}
	*h = hold{o, true}
	s.unconfirmed = with(s.unconfirmed, o)
	return true
}

// confirm is confirm.lua.
func (m orders) confirm(s *shelf, o, u int8) {
	h := &s.holds[u]
	if h.order == o && (h.claimed || m.off != confirmTakesAnyState) {
		h.claimed = true
		s.unconfirmed = without(s.unconfirmed, o)
	}
	if h.order == none && m.off == confirmMakesNoHold {
		*h = hold{o, true}
	}
}

// release is release.lua in the modes settled and rejected; the latter leaves a tombstone.
func (m orders) release(s *shelf, o, u int8, rejected bool) bool {
	h := &s.holds[u]
	if h.order != o && (m.off != releaseComparesOrder || h.order == none) {
		return false
	}
	s.unconfirmed = without(s.unconfirmed, h.order)
	*h = hold{order: none}
	if !rejected || m.off != rejectGivesBack {
		s.stock++
	}
	if rejected && m.off != tombstones {
		s.released = with(s.released, o)
	}
	return true
}

// giveUp is release.lua in the mode unclaimed; false if a writer has claimed.
func (m orders) giveUp(s *shelf, o, u int8) bool {
	h := s.holds[u]
	if h.order == o && h.claimed && m.off != releaseSparesClaimed {
		return false
	}
	m.release(s, o, u, false)
	if m.off != tombstones {
		s.released = with(s.released, o)
	}
	return true
}
