package identity_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"flashsale/shared/identity"
)

// flood sends forged tokens, each with a kid that nobody has seen.
func flood(t *testing.T, v *identity.Verifier, round, n int) {
	t.Helper()
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			for i := range n / 8 {
				forged := raw(fmt.Sprintf(`{"alg":"ES256","kid":"x%d-%d-%d"}`, round, worker, i), claims(nil), "x")
				if _, err := v.Shopper(t.Context(), forged); !errors.Is(err, identity.ErrUnauthenticated) {
					t.Errorf("forged token: %v, want ErrUnauthenticated", err)
					return
				}
			}
		})
	}
	wait.Wait()
}

// TestFloodOverManyCooldowns has the provider up, then away: one fetch each
// cool-down either way, and valid shoppers come in all the time.
func TestFloodOverManyCooldowns(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.serves(allKeys())
	v := p.verifier()
	wantShopper(t, v, ecSigner())
	for round := range 6 {
		if round == 3 {
			p.answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		}
		p.passes(cooldown - time.Nanosecond)
		flood(t, v, round, 400)
		wantFetches(t, p, int64(1+round))
		p.passes(time.Nanosecond)
		flood(t, v, round, 400)
		wantFetches(t, p, int64(2+round))
		wantShopper(t, v, ecSigner())
		wantShopper(t, v, rsaSigner())
	}
}

// TestRotationUnderFlood: the flood's own fetch brings the new key to everybody.
func TestRotationUnderFlood(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.serves(keySet(ecSigner().public()))
	v := p.verifier()
	wantShopper(t, v, ecSigner())
	flood(t, v, 0, 80)

	second := signer{"ec-2", jose.ES256, newEC()}
	p.serves(keySet(ecSigner().public(), second.public())) // the new one appears beside the old one
	wantError(t, v, second, identity.ErrUnauthenticated)   // until the cool-down is over
	p.passes(cooldown)
	flood(t, v, 1, 80)
	wantShopper(t, v, second)
	wantShopper(t, v, ecSigner())

	p.serves(keySet(second.public())) // the old one is withdrawn
	p.passes(cooldown)
	flood(t, v, 2, 80)
	wantShopper(t, v, second)
	wantError(t, v, ecSigner(), identity.ErrUnauthenticated)
	wantFetches(t, p, 3)
}

// TestKeyReplacedUnderItsName: a provider that uses a kid again for a new key.
func TestKeyReplacedUnderItsName(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.serves(keySet(ecSigner().public()))
	v := p.verifier()
	wantShopper(t, v, ecSigner())
	p.serves(keySet(strangeSigner().public())) // also "ec-1"
	p.passes(cooldown)
	flood(t, v, 0, 8)
	wantShopper(t, v, strangeSigner())
	wantError(t, v, ecSigner(), identity.ErrUnauthenticated)
}

// TestWarmCacheForADay has the provider go away for good after one fetch.
func TestWarmCacheForADay(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.serves(allKeys())
	v := p.verifier()
	if err := v.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	defer close(release)
	p.answers(func(http.ResponseWriter, *http.Request) { <-release }) // it hangs, which is worse than an error
	valid := ecSigner().sign(with("exp", noon.Add(48*time.Hour).Unix()), nil)
	for hour := range 24 {
		p.passes(time.Hour)
		// Nobody waits: the context is over before a fetch could end.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		got, err := v.Shopper(ctx, valid)
		cancel()
		if err != nil || got != "u1" {
			t.Fatalf("hour %d: Shopper = %q, %v; want u1 by the known keys", hour, got, err)
		}
	}
	if n := p.fetches.Load(); n > 25 {
		t.Errorf("%d fetches in a day, want one an hour at the most", n)
	}
}

// TestStrangeKids: a kid is compared, never interpreted.
func TestStrangeKids(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, allKeys())
	for _, kid := range []string{
		"ec-1\n", "\nec-1", "ec-1\r\nX-Forged: 1", "ec-1\x00", " ec-1", "EC-1", "ec-1/../ec-1", "../../etc/passwd",
		"' OR 1=1 --", "https://evil.example/jwks.json", "ec%2D1", "é", "\ufeffec-1",
	} {
		s := ecSigner()
		s.kid = kid
		if got, err := v.Shopper(t.Context(), token(s)); !errors.Is(err, identity.ErrUnauthenticated) {
			t.Errorf("kid %q: got %q, %v, want ErrUnauthenticated", kid, got, err)
		}
	}
	// Where to find keys is ours to say, never the token's.
	for _, header := range []string{"jku", "x5u", "x5c", "jwk"} {
		forged := strangeSigner()
		forged.kid = ""
		if got, err := v.Shopper(t.Context(), forged.sign(claims(nil), map[string]any{header: "https://evil.example"})); !errors.Is(err, identity.ErrUnauthenticated) {
			t.Errorf("%s: got %q, %v, want ErrUnauthenticated", header, got, err)
		}
	}
}

// TestClaimsTwice: a claim that appears twice is read by one program so and by
// another so; it is refused whichever it is, in the header too.
func TestClaimsTwice(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, allKeys())
	for _, twice := range []string{
		`"iss":"https://id.example"`, `"aud":"flash-sale"`, `"sub":"u1"`, `"exp":9999999999`, `"nbf":0`, `"iat":0`,
		`"token_use":"id","token_use":"access"`, `"other":1,"other":2`,
	} {
		if got, err := v.Shopper(t.Context(), ecSigner().sign("{"+twice+","+claims(nil)[1:], nil)); !errors.Is(err, identity.ErrUnauthenticated) {
			t.Errorf("%s: got %q, %v, want ErrUnauthenticated", twice, got, err)
		}
	}
	for _, header := range []string{
		`{"alg":"ES256","kid":"ec-1","kid":"ec-1"}`, `{"alg":"ES256","kid":"ec-1","alg":"none"}`, `{"alg":"ES256","kid":"ec-1","\u0061lg":"none"}`,
	} {
		if _, err := v.Shopper(t.Context(), raw(header, claims(nil), "x")); !errors.Is(err, identity.ErrUnauthenticated) {
			t.Errorf("%s: got %v, want ErrUnauthenticated", header, err)
		}
	}
}
