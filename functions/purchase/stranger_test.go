package purchase_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"flashsale/shared/identity"
	"flashsale/shared/identity/identitytest"
	"flashsale/shared/sale"
)

// unsigned is a token of that header and those claims that nobody has signed.
func unsigned(header, claims string) string {
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(header)) + "." + enc([]byte(claims)) + ".c2lnbmF0dXJl"
}

// keysAway is a verifier that can check no token: its answer is 503.
func keysAway() *identity.Verifier {
	keys := identity.FetchedKeys("http://127.0.0.1:1/jwks.json", time.Minute, time.Now)
	return identity.NewVerifier(keys, identitytest.Issuer, identitytest.Audience, time.Minute, time.Now)
}

// TestUnusualTokens has tokens whose claims take more than a quick look, after the
// sell-out: nobody checks the signature of one that names no winner, and one that does
// is still a winner's.
func TestUnusualTokens(t *testing.T) {
	t.Parallel()
	const header, hard = `{"alg":"ES256","kid":"test"}`, "Jürgen <3"
	s := openStill(t, open(t, fault(nothingWrong)))
	sl := s.sells(t, 1)
	own := s.buy(t, sl, 0, hard, "").Body.OrderID
	s.buy(t, sl, 0, "early loser", "").want(t, 410, "SOLD_OUT")
	item := itemText(sl, 0)
	a := s.answer(t, call{item: item, bearer: provider.Token(hard)})
	if a.want(t, 409, "ALREADY_PURCHASED"); a.Body.OrderID != own {
		t.Errorf("order: got %s, want the own one %s", a.Body.OrderID, own)
	}
	s.answer(t, call{item: item, bearer: forged(hard)}).want(t, 410, "SOLD_OUT")

	s.h.Shoppers = keysAway()
	s.traffic.cut.Store(true)
	before := s.traffic.n.Load()
	for name, token := range map[string]string{
		"no base64":             "not.a.token",
		"no base64url":          "e30.e30+.e30",
		"random":                "4r7MkQ.Zx9-_wKfQ2bL0pTtUeVg.9sJk1A",
		"no JSON":               unsigned(header, `{"sub":`),
		"no object":             unsigned(header, `["sub","u1"]`),
		"null":                  unsigned(header, `null`),
		"no sub":                unsigned(header, `{"iss":"x"}`),
		"a number":              unsigned(header, `{"sub":1}`),
		"another claim's type":  unsigned(header, `{"sub":"Jürgen <3","exp":"x"}`),
		"two subs":              unsigned(header, `{"sub":"u1","sub":"Jürgen <3"}`),
		"too long":              unsigned(header, `{"sub":"`+strings.Repeat("ü", 128)+`"}`),
		"a control character":   unsigned(header, `{"sub":"u\u00001"}`),
		"escaped":               unsigned(header, `{"sub":"\u0075\u0031"}`),
		"an escaped name":       unsigned(header, `{"s\u0075b":"u1"}`),
		"not ASCII":             unsigned(header, `{"sub":"Ärger"}`),
		"deep":                  unsigned(header, `{"sub":"u1","x":`+strings.Repeat("[", 70)+strings.Repeat("]", 70)+`}`),
		"good, but not ASCII":   provider.Token("Ärger"),
		"a kid of nobody's key": unsigned(`{"alg":"ES256","kid":"x"}`, `{"sub":"\u0075"}`),
	} {
		t.Run(name, func(t *testing.T) {
			s.answer(t, call{item: item, bearer: token}).want(t, 410, "SOLD_OUT")
			full := map[string]any{"HTTPMETHOD": "POST"} // the event is read in full
			s.answer(t, call{item: item, bearer: token, extra: full}).want(t, 410, "SOLD_OUT")
		})
	}
	if got := s.traffic.n.Load() - before; got != 0 {
		t.Errorf("%d calls of Redis, want none", got)
	}
	s.answer(t, call{item: item, bearer: forged(hard)}).want(t, 503, "TRY_AGAIN") // may be the winner's
}

// Sales that have nothing to give, as an environment knows.
type shut struct{ out, waiting, over sale.Sale }

func (s *still) shut(t *testing.T) (known shut) {
	t.Helper()
	known.out, _ = s.latched(t)
	waiting, over := s.Sale(1), s.Sale(1)
	waiting.OpensAt, waiting.ClosesAt = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	over.OpensAt, over.ClosesAt = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	s.Offer(t, waiting, nil)
	s.Offer(t, over, nil)
	s.List(t, known.out, waiting, over)
	s.passes(time.Second)
	for _, sl := range []sale.Sale{known.out, over} { // they are looked at now
		s.buy(t, sl, 0, "loser", "")
	}
	s.answer(t, call{item: "1", bearer: provider.Token("u1")}).want(t, 404, "UNKNOWN_ITEM")
	known.waiting, known.over = waiting, over
	return known
}
