package identity_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/shared/identity"
)

const cooldown = 30 * time.Second

// provider is an identity provider whose key set, answers and clock a test moves.
type provider struct {
	*httptest.Server
	fetches atomic.Int64
	answer  atomic.Pointer[http.HandlerFunc]
	elapsed atomic.Int64
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.fetches.Add(1)
		(*p.answer.Load())(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) serves(jwks []byte) {
	p.answers(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(jwks) })
}

func (p *provider) answers(f http.HandlerFunc) { p.answer.Store(&f) }

func (p *provider) now() time.Time         { return noon.Add(time.Duration(p.elapsed.Load())) }
func (p *provider) passes(d time.Duration) { p.elapsed.Add(int64(d)) }
func (p *provider) keys() *identity.Keys   { return identity.FetchedKeys(p.URL, cooldown, p.now) }
func (p *provider) verifier() *identity.Verifier {
	return identity.NewVerifier(p.keys(), issuer, audience, time.Minute, p.now)
}

func token(s signer) string { return s.sign(claims(nil), nil) }

func wantShopper(t *testing.T, v *identity.Verifier, s signer) {
	t.Helper()
	if got, err := v.Shopper(t.Context(), token(s)); err != nil || got != "u1" {
		t.Errorf("Shopper of %s = %q, %v; want u1", s.kid, got, err)
	}
}

func wantError(t *testing.T, v *identity.Verifier, s signer, want error) {
	t.Helper()
	if _, err := v.Shopper(t.Context(), token(s)); !errors.Is(err, want) {
		t.Errorf("Shopper of %s: %v, want %v", s.kid, err, want)
	}
}

func wantFetches(t *testing.T, p *provider, want int64) {
	t.Helper()
	if got := p.fetches.Load(); got != want {
		t.Errorf("%d fetches, want %d", got, want)
	}
}

func TestKeysAreFetchedOnce(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.serves(allKeys())
	v := p.verifier()
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() { wantShopper(t, v, ecSigner()) })
	}
	wait.Wait()
	wantShopper(t, v, rsaSigner())
	wantFetches(t, p, 1)
}

func TestFloodOfUnknownKids(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.serves(allKeys())
	v := p.verifier()
	if err := v.Warm(t.Context()); err != nil {
		t.Fatalf("Warm: %v", err)
	}
	p.passes(cooldown)
	// The one fetch that the flood causes hangs until a valid shopper is through.
	release, hangs := make(chan struct{}), make(chan struct{})
	p.answers(func(w http.ResponseWriter, _ *http.Request) {
		close(hangs) // a second fetch panics here, and is counted
		<-release
		_, _ = w.Write(allKeys())
	})
	var wait sync.WaitGroup
	for worker := range 100 {
		wait.Go(func() {
			for i := range 100 {
				forged := raw(fmt.Sprintf(`{"alg":"ES256","kid":"x%d-%d"}`, worker, i), claims(nil), "x")
				if _, err := v.Shopper(t.Context(), forged); !errors.Is(err, identity.ErrUnauthenticated) {
					t.Errorf("forged token: %v, want ErrUnauthenticated", err)
				}
			}
		})
	}
	<-hangs
	wantShopper(t, v, ecSigner()) // would never return if it waited for the fetch
	close(release)
	wait.Wait()
	wantShopper(t, v, rsaSigner())
	wantFetches(t, p, 2)
}

func TestRotation(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.serves(keySet(ecSigner().public()))
	v := p.verifier()
	wantShopper(t, v, ecSigner())

	p.serves(keySet(rsaSigner().public()))
	wantError(t, v, rsaSigner(), identity.ErrUnauthenticated) // too early for another fetch
	p.passes(cooldown - time.Nanosecond)
	wantError(t, v, rsaSigner(), identity.ErrUnauthenticated)
	wantFetches(t, p, 1)

	p.passes(time.Nanosecond)
	wantShopper(t, v, rsaSigner())
	wantError(t, v, ecSigner(), identity.ErrUnauthenticated) // withdrawn
	wantFetches(t, p, 2)
}

func TestOldKeysAreFetchedBesideTheWork(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.serves(allKeys())
	v := p.verifier()
	wantShopper(t, v, ecSigner())
	p.passes(16 * time.Minute)
	p.serves(keySet(rsaSigner().public()))
	valid := ecSigner().sign(with("exp", noon.Add(24*time.Hour).Unix()), nil)
	if _, err := v.Shopper(t.Context(), valid); err != nil {
		t.Errorf("while fetching: %v, want the known key to serve", err)
	}
	for withdrawn, tries := false, 0; !withdrawn; tries++ {
		if tries > 1000 {
			t.Fatal("the withdrawn key is still accepted")
		}
		time.Sleep(10 * time.Millisecond)
		_, err := v.Shopper(t.Context(), valid)
		withdrawn = errors.Is(err, identity.ErrUnauthenticated)
	}
	wantFetches(t, p, 2)
}

func TestProviderAway(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"500":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"html":     func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"no keys":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"keys":[]}`)) },
		"too long": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(allKeys())
			_, _ = w.Write([]byte(strings.Repeat(" ", 256<<10)))
		},
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"keys":[`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			p.answers(answer)
			v := p.verifier()
			wantError(t, v, ecSigner(), identity.ErrKeysUnavailable)
			wantError(t, v, ecSigner(), identity.ErrKeysUnavailable)
			wantFetches(t, p, 1)

			p.serves(allKeys())
			p.passes(time.Second) // without any key it looks sooner than after a cool-down
			wantShopper(t, v, ecSigner())
			wantFetches(t, p, 2)

			p.answers(answer)
			p.passes(cooldown)
			stranger := strangeSigner()
			stranger.kid = "strange"
			wantError(t, v, stranger, identity.ErrUnauthenticated)
			wantFetches(t, p, 3)
			wantShopper(t, v, ecSigner()) // the warm copy
		})
	}
}

func TestNobodyWaitsPastItsDeadline(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	release := make(chan struct{})
	defer close(release)
	p.answers(func(http.ResponseWriter, *http.Request) { <-release })
	v := p.verifier()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := v.Shopper(ctx, token(ecSigner()))
	if !errors.Is(err, identity.ErrKeysUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shopper: %v, want ErrKeysUnavailable by the deadline", err)
	}
	if errors.Is(err, identity.ErrUnauthenticated) {
		t.Error("a timeout was taken for a refusal")
	}
}
