package e2e_test

import (
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestSpread has a sale whose shoppers are let in over three seconds, and a limit.
func TestSpread(t *testing.T) {
	t.Parallel()
	b := openBackends(t)
	first := newSale(40)
	first.OpensAt, first.Spread = "+2s", "3s"
	// As many calls as by default, in a time that no slow machine outlasts.
	s := open(t, append(b.env(), "PURCHASE_LIMIT=20/1h"), first)
	t.Run("all", func(t *testing.T) { // so that the server outlives them
		t.Run("lottery", func(t *testing.T) { t.Parallel(); lottery(t, s, first) })
		t.Run("limit", func(t *testing.T) { t.Parallel(); limit(t, s) })
	})
}

// lottery lets a crowd do what the page does: fetch a pass, wait for its time, buy. One
// of two brings a pass that is not good, or comes too early first.
func lottery(t *testing.T, s *shop, sale saleFile) {
	item := sale.Items[0].ID
	if v := s.sees(t, sale.ID); !v.Admission {
		t.Errorf("the view: got %+v, want admission", v)
	}
	crowd := s.crowd(t, "lot", 40)
	passes := make([]answer, len(crowd))
	for i, p := range crowd {
		a, err := p.admission(t.Context(), sale.ID)
		if err != nil || a.Code != http.StatusOK || a.Pass == "" {
			t.Fatalf("admission: got %s, %v, want 200 and a pass", a, err)
		}
		passes[i] = a
	}
	opensAt := s.sees(t, sale.ID).OpensAt
	var all sync.WaitGroup
	for i, p := range crowd {
		all.Go(func() {
			if wait := passes[i].NotBefore.Sub(opensAt); wait < 0 || wait >= 3*time.Second {
				t.Errorf("%s: got notBefore %s after the opening, want less than 3s", p.name, wait)
			}
			if i%2 == 0 {
				time.Sleep(time.Until(opensAt.Add(100 * time.Millisecond)))
				other := passes[(i+1)%len(passes)].Pass
				if a, err := p.bring(t.Context(), item, other); err != nil || !a.is(http.StatusForbidden, "ADMISSION_REQUIRED") || !a.NotBefore.IsZero() {
					t.Errorf("%s by another's pass: got %s, %v, want 403 ADMISSION_REQUIRED", p.name, a, err)
				}
			}
			tooEarly := 0
			for {
				a, err := p.bring(t.Context(), item, passes[i].Pass)
				switch {
				case err != nil:
					t.Errorf("%s: %v", p.name, err)
					return
				case a.Code == http.StatusAccepted:
					if at := time.Now(); at.Before(passes[i].NotBefore.Add(-time.Second)) {
						t.Errorf("%s: sold at %s, long before %s", p.name, at, passes[i].NotBefore)
					}
					return
				case a.is(http.StatusForbidden, "ADMISSION_REQUIRED") && a.NotBefore.Equal(passes[i].NotBefore):
				case a.is(http.StatusForbidden, "SALE_NOT_OPEN"):
				case a.Code == http.StatusServiceUnavailable:
				default:
					t.Errorf("%s: got %s, want 202, or 403 until the own time", p.name, a)
					return
				}
				seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
				if tooEarly++; err != nil || seconds < 1 || tooEarly > 15 {
					t.Errorf("%s: refusal %d is %s with Retry-After %q", p.name, tooEarly, a, a.Header.Get("Retry-After"))
					return
				}
				time.Sleep(time.Duration(seconds) * time.Second)
			}
		})
	}
	all.Wait()
	wantItem(t, s.settled(t, sale.ID), 0, 40, 0, map[string]int{"PENDING": 40})
}

// limit is one shopper in a loop, from ever other addresses as its headers claim, beside
// one who is not. The own order is told all the time; then nothing more is sold.
func limit(t *testing.T, s *shop) {
	sale := newSale(2)
	s.offer(t, sale)
	loop, item := s.login(t, "loop"), sale.Items[0].ID
	bought, _, err := loop.buy(t.Context(), item, "")
	if err != nil || bought.Code != http.StatusAccepted {
		t.Fatalf("purchase: got %s, %v, want 202", bought, err)
	}
	press := func(i int) answer {
		header := bearer(loop.token)
		header.Set("X-Forwarded-For", "203.0.113."+strconv.Itoa(i))
		a, err := s.call(t.Context(), http.MethodPost, purchasePath(item), header, "")
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for i := range 30 {
		if a := press(i); !a.is(http.StatusConflict, "ALREADY_PURCHASED") || a.OrderID != bought.OrderID {
			t.Fatalf("press %d: got %s, want 409 with the own order", i+1, a)
		}
	}
	eventually(t, "the order is cancelled", func() bool {
		a, err := s.call(t.Context(), http.MethodDelete, orderPath(bought.OrderID), bearer(loop.token), "")
		return err == nil && a.Code == http.StatusOK
	})
	if a := press(99); !a.is(http.StatusTooManyRequests, "TOO_MANY_REQUESTS") || a.Header.Get("Retry-After") == "" {
		t.Errorf("after 31 presses: got %s, want 429 with Retry-After", a)
	}
	if a, _, err := s.login(t, "other").buy(t.Context(), item, ""); err != nil || a.Code != http.StatusAccepted {
		t.Errorf("another shopper: got %s, %v, want 202", a, err)
	}
}
