package apigw

import "flashsale/shared/plainjson"

const (
	maxGaps   = 8
	maxRecall = 2048 // bytes; a context of API Gateway's has about 1,000
)

// A recall is the request context that was read before. Those of one stage differ in
// a few values, so the next one is compared with it between these gaps, which is
// quicker than reading it, and proves as much: equal text is as valid.
type recall struct {
	text [maxRecall]byte
	n    int // bytes; 0: nothing to compare with
	gaps [maxGaps]gap
	many int // gaps

	from, to int // where the context of this event stands, if it was read
}

// A gap is where a value stands: in the event that is being read, then in the recall.
type gap struct {
	from, to int
	kind     gapKind
}

type gapKind uint8

const (
	ignored gapKind = iota
	requestID
	sourceIP
)

// again reads a context like the one before. False: it is another, and was not read.
func (g *Glance) again(c *plainjson.Cursor) bool {
	if g.last.n == 0 {
		return false
	}
	before, at := *c, 0
	for _, gap := range g.last.gaps[:g.last.many] {
		if !c.Literal(g.last.text[at:gap.from]) {
			*c, g.requestID, g.sourceIP = before, span{}, span{}
			return false
		}
		g.gap(c, gap.kind)
		at = gap.to
	}
	if c.Literal(g.last.text[at:g.last.n]) {
		return true
	}
	*c, g.requestID, g.sourceIP = before, span{}, span{}
	return false
}

// gap reads a value that differs from event to event.
func (g *Glance) gap(c *plainjson.Cursor, kind gapKind) gap {
	switch kind {
	case requestID:
		g.requestID = g.text(c)
		return gap{int(g.requestID.from) - 1, int(g.requestID.to) + 1, kind}
	case sourceIP:
		g.sourceIP = g.text(c)
		return gap{int(g.sourceIP.from) - 1, int(g.sourceIP.to) + 1, kind}
	default:
		from, to := c.Skip()
		return gap{from, to, kind}
	}
}

// differs is gap, and remembers it.
func (g *Glance) differs(c *plainjson.Cursor, kind gapKind) {
	found := g.gap(c, kind)
	if g.last.many < maxGaps {
		g.last.gaps[g.last.many] = found
	}
	g.last.many++
}

// remember keeps the context of an event that was read to its end.
func (g *Glance) remember() {
	r := &g.last
	if r.to-r.from > maxRecall || r.many > maxGaps {
		return
	}
	r.n = copy(r.text[:], g.event[r.from:r.to])
	for i := range r.gaps[:r.many] {
		r.gaps[i].from -= r.from
		r.gaps[i].to -= r.from
	}
}
