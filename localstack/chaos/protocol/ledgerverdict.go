package protocol

// broken judges one state of the ledger's model.
func (m ledger) broken(w warehouse) string {
	if w.book.quota[0]+w.book.quota[1] != 2*m.perShard {
		return "the ledger is not the quantity"
	}
	rejections := false
	for i, a := range w.shards {
		held := int8(0)
		for o := range w.count {
			if has(a.holds, o) {
				held++
			}
		}
		if a.stock+held != a.quota {
			return "not conserved"
		}
		if a.stock < 0 && w.failovers == m.failovers {
			return "stock below zero without a failover"
		}
		rejections = rejections || (i == 0 && w.row[0] == rejected) || w.row[ledgerOrders-1] == rejected
	}
	if w.failovers == m.failovers {
		if w.shards[0].quota+w.shards[1].quota > 2*m.perShard {
			return "quotas above the quantity without a failover"
		}
		if rejections {
			return "a rejection without a failover"
		}
	}
	if m.quiet(w) {
		return m.settled(w)
	}
	return ""
}

func (m ledger) quiet(w warehouse) bool {
	if w.releases != 0 || w.todo != 0 {
		return false
	}
	for o := range w.count {
		if w.row[o] == noRow {
			return false
		}
	}
	for k := range w.moveCount {
		if w.moves[k].progress != moveOver {
			return false
		}
	}
	return true
}

// settled judges a state at rest after a last pass of the keeper.
func (m ledger) settled(w warehouse) string {
	by := int8(2)
	if m.off == raiseByTwo {
		by = 1
	}
	var stock, quota int8
	for i := range w.shards {
		a := w.shards[i]
		m.setQuota(&a, w.book.quota[i], w.book.version+by)
		for o := range w.count {
			if w.shard[o] != int8(i) { //nolint:gosec // 0 or 1
				continue
			}
			if w.row[o] == pending && !has(a.holds, o) {
				a.hold(o)
			}
			if w.row[o] != pending {
				a.free(o)
			}
		}
		stock, quota = stock+a.stock, quota+a.quota
	}
	if quota != 2*m.perShard || stock != 2*m.perShard-w.active() {
		return "the shards do not settle"
	}
	return ""
}
