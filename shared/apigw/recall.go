package apigw

import "flashsale/shared/plainjson"

// maxRecall is twice what API Gateway's contexts have, in bytes. Longer ones are not kept.
const maxRecall = 2048

// A recall is the request context that was read before. Those of one stage differ in
// a few values, so the next one is compared with it between these gaps, which is
// quicker than reading it, and proves as much: equal text is as valid.
type recall struct {
	text []byte // empty: nothing to compare with
	gaps []gap

	from, to int // where the context of this event stands, if it was read
}

// A gap is where a value stands: in the event that is being read, then in the recall.
type gap struct {
	from, to int
	id       bool // the request's
}

// again reads a context like the one before. False: it is another, and was not read.
func (g *Glance) again(c *plainjson.Cursor) bool {
	before := *c
	if len(g.last.text) > 0 && g.same(c) {
		return true
	}
	*c, g.requestID = before, span{}
	return false
}

func (g *Glance) same(c *plainjson.Cursor) bool {
	at := 0
	for _, gap := range g.last.gaps {
		if !c.Literal(g.last.text[at:gap.from]) {
			return false
		}
		g.gap(c, gap.id)
		at = gap.to
	}
	return c.Literal(g.last.text[at:])
}

// gap reads a value that differs from event to event.
func (g *Glance) gap(c *plainjson.Cursor, id bool) gap {
	if id {
		g.requestID = g.text(c)
		return gap{int(g.requestID.from) - 1, int(g.requestID.to) + 1, id}
	}
	from, to := c.Skip()
	return gap{from, to, id}
}

// differs is gap, and notes where it is.
func (g *Glance) differs(c *plainjson.Cursor, id bool) {
	g.last.gaps = append(g.last.gaps, g.gap(c, id))
}

// forget begins a recall anew, at a context that has to be read.
func (r *recall) forget(from int) {
	r.text, r.gaps, r.from = r.text[:0], r.gaps[:0], from
}

// keep takes the context of an event that was read to its end.
func (r *recall) keep(event []byte) {
	if r.to-r.from > maxRecall {
		return
	}
	r.text = append(r.text, event[r.from:r.to]...)
	for i := range r.gaps {
		r.gaps[i].from -= r.from
		r.gaps[i].to -= r.from
	}
}
