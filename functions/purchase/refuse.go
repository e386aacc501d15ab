package purchase

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/shared/apigw"
	"flashsale/shared/identity"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// refuse answers most of a crowd: an item that is not known, sold out, closed or
// not open yet, to somebody who has not won, and calls without a bearer. It does so
// without network, without checking a signature and, for tokens as providers write
// them, without allocating. False: the event takes the full way, where the order of precedence is the same.
func (h *Handler) refuse(ctx context.Context, event []byte) ([]byte, bool) {
	start := time.Now()
	g, plain := apigw.Look(event)
	defer g.Done()
	if !plain || string(g.Method()) != http.MethodPost {
		return nil, false
	}
	authorization, ok := g.Header("Authorization")
	if !ok {
		return nil, false
	}
	answers := h.answers()
	token, ok := identity.BearerIn(authorization)
	if !ok {
		return h.Edge.Refuse(ctx, g, answers.noBearer, start)
	}
	text, ok := g.Param("itemId")
	if !ok {
		return nil, false
	}
	itemID, ok := sale.ParseItemID(string(text))
	if !ok {
		return h.Edge.Refuse(ctx, g, answers.unknownItem, start)
	}
	now := h.Now()
	listing, sure := h.Catalog.Peek(now, itemID)
	switch {
	case !sure:
		return nil, false
	case listing == nil:
		return h.Edge.Refuse(ctx, g, answers.unknownItem, start)
	}
	refusal := h.Latch.Refusal(ctx, now, listing, itemID)
	if refusal.Outcome == 0 || mayHaveWon(refusal, token) {
		return nil, false
	}
	return h.Edge.Refuse(ctx, g, answers.of(refusal, &listing.Sale), start)
}

// mayHaveWon tells whether the token, whoever made it, names somebody whom only
// Redis can answer. One that names nobody is no winner's, however it is written.
// Whoever is refused by what the token only claims hears what is public anyway.
func mayHaveWon(refusal stock.Refusal, token []byte) bool {
	if refusal.ForAll() {
		return false
	}
	buffer := claims.Get().(*[identity.MaxClaims]byte)
	defer claims.Put(buffer)
	sub, ok := identity.UnverifiedSubject(buffer, token)
	return ok && refusal.MayName(sub)
}

// claims are buffers that are used again: one on the stack would be zeroed each time.
var claims = sync.Pool{New: func() any { return new([identity.MaxClaims]byte) }}

// told is a local refusal in words.
func told(r stock.Refusal, sl *sale.Sale) *apigw.Error {
	switch r.Outcome {
	case stock.NotOpen:
		return notOpen(sl.OpensAt, r.Now)
	case stock.Closed:
		return saleClosed()
	default:
		return soldOut()
	}
}

// answers are the refusals that are the same for everybody, encoded.
type answers struct {
	edge                                   apigw.Edge
	noBearer, unknownItem, soldOut, closed *apigw.Fixed

	// By sale id: a place for each of the sales that wait for their opening, of
	// which there are few; those that share one take turns.
	opening [64]atomic.Pointer[opening]
}

// An opening is the refusal of one sale for one second.
type opening struct {
	sale    sale.ID
	opensAt time.Time
	seconds time.Duration // left, as Retry-After says it
	answer  *apigw.Fixed
}

func (h *Handler) answers() *answers {
	if a := h.fixed.Load(); a != nil {
		return a
	}
	a := &answers{
		edge: h.Edge, noBearer: h.Edge.Fix(apigw.Unauthorized(identity.ErrUnauthenticated)),
		unknownItem: h.Edge.Fix(unknownItem()), soldOut: h.Edge.Fix(soldOut()), closed: h.Edge.Fix(saleClosed()),
	}
	h.fixed.Store(a)
	return a
}

func (a *answers) of(r stock.Refusal, sl *sale.Sale) *apigw.Fixed {
	switch r.Outcome {
	case stock.NotOpen:
		return a.notOpen(r, sl)
	case stock.Closed:
		return a.closed
	default:
		return a.soldOut
	}
}

func (a *answers) notOpen(r stock.Refusal, sl *sale.Sale) *apigw.Fixed {
	place := &a.opening[int(sl.ID)%len(a.opening)]
	seconds := (sl.OpensAt.Sub(r.Now) + time.Second - 1) / time.Second
	last := place.Load()
	if last == nil || last.sale != sl.ID || last.seconds != seconds || !last.opensAt.Equal(sl.OpensAt) {
		last = &opening{sl.ID, sl.OpensAt, seconds, a.edge.Fix(told(r, sl))}
		place.Store(last)
	}
	return last.answer
}
