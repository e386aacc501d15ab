package identity_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"flashsale/shared/identity"
)

// respelled is the same token with a spare bit of its base64 set: it verifies.
func respelled(token string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := len(token) - 1
	return token[:last] + string(alphabet[strings.IndexByte(alphabet, token[last])+1])
}

// TestAKnownTokenIsNotVerifiedAgain is not parallel: it counts allocations, which
// a verification has by the hundred.
func TestAKnownTokenIsNotVerifiedAgain(t *testing.T) {
	v := newVerifier(t, allKeys())
	for _, s := range []signer{rsaSigner(), ecSigner(), edSigner()} {
		known := token(s)
		if got := testing.AllocsPerRun(10, func() {
			if got, err := v.Shopper(t.Context(), known); err != nil || got != "u1" {
				t.Errorf("Shopper = %q, %v; want u1", got, err)
			}
		}); got > 2 {
			t.Errorf("%s: %v allocations, want 2 at the most", s.alg, got)
		}
	}
	if got := v.Kept(); got != 3 {
		t.Errorf("%d tokens kept, want 3", got)
	}
}

func TestOnlyGoodTokensAreKept(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, allKeys())
	for _, bad := range badTokens() {
		if _, err := v.Shopper(t.Context(), bad); err == nil {
			t.Errorf("a bad token passed: %s", bad)
		}
	}
	if got := v.Kept(); got != 0 {
		t.Errorf("%d tokens kept of bad ones, want none", got)
	}
	// One token in many spellings is still good, and takes one place.
	good := token(rsaSigner())
	for _, spelling := range []string{respelled(good), good + "\n", good, strings.Replace(good, ".", "\r\n.", 1)} {
		if got, err := v.Shopper(t.Context(), spelling); err != nil || got != "u1" {
			t.Errorf("Shopper = %q, %v; want u1", got, err)
		}
	}
	if got := v.Kept(); got != 1 {
		t.Errorf("%d tokens kept, want the one in its usual spelling", got)
	}
}

// TestNothingPassesBesideAKnownToken changes each byte of one that is known.
func TestNothingPassesBesideAKnownToken(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, allKeys())
	good := token(edSigner())
	if _, err := v.Shopper(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	for i := range len(good) - 1 { // of the last part too
		if good[i] == '.' || good[i+1] == '.' {
			continue // the last byte of a part has spare bits
		}
		forged := good[:i] + string('A'+(good[i]-'A'+1)%26) + good[i+1:]
		if got, err := v.Shopper(t.Context(), forged); !errors.Is(err, identity.ErrUnauthenticated) {
			t.Fatalf("byte %d changed: got %q, %v, want ErrUnauthenticated", i, got, err)
		}
	}
	for _, other := range []string{good[:len(good)-1], good + "A", good + ".", "." + good, ""} {
		if got, err := v.Shopper(t.Context(), other); !errors.Is(err, identity.ErrUnauthenticated) {
			t.Errorf("%q: got %q, %v, want ErrUnauthenticated", other, got, err)
		}
	}
}

func TestAKnownTokenStillExpires(t *testing.T) {
	t.Parallel()
	keys, err := identity.StaticKeys(allKeys())
	if err != nil {
		t.Fatal(err)
	}
	now := noon
	v := identity.NewVerifier(keys, issuer, audience, time.Minute, func() time.Time { return now })
	known := ecSigner().sign(claims(map[string]any{"exp": noon.Add(time.Hour).Unix(), "nbf": noon.Unix(), "iat": nil}), nil)
	issued := ecSigner().sign(claims(map[string]any{"nbf": nil}), nil)
	for _, tc := range []struct {
		at time.Duration
		ok bool
	}{
		{0, true},
		{time.Hour + time.Minute, true},
		{time.Hour + time.Minute + time.Second, false},
		{0, true}, // what the clock says now counts, not what was said before
		{-time.Minute, true},
		{-time.Minute - time.Second, false},
	} {
		now = noon.Add(tc.at)
		for name, token := range map[string]string{"by nbf": known, "by iat": issued} {
			got, err := v.Shopper(t.Context(), token)
			if (err == nil) != tc.ok || (got == "u1") != tc.ok || err != nil && !errors.Is(err, identity.ErrUnauthenticated) {
				t.Errorf("%s at %s: got %q, %v, want success %t", name, tc.at, got, err, tc.ok)
			}
		}
	}
	if got := v.Kept(); got != 2 {
		t.Errorf("%d tokens kept, want 2", got)
	}
}

// TestAWithdrawnKeyDoesNotLiveOn shows the same tokens before and after.
func TestAWithdrawnKeyDoesNotLiveOn(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.serves(allKeys())
	v := p.verifier()
	first, second := token(ecSigner()), token(rsaSigner())
	wants := func(token string, ok bool) {
		t.Helper()
		if got, err := v.Shopper(t.Context(), token); (err == nil) != ok {
			t.Errorf("Shopper = %q, %v; want success %t", got, err, ok)
		}
	}
	wants(first, true) // fetches the keys, and is not kept yet
	wants(first, true)
	wants(second, true)

	p.passes(cooldown)
	flood(t, v, 0, 8) // has the keys fetched again; they are the same
	wantFetches(t, p, 2)
	if got := v.Kept(); got != 2 {
		t.Errorf("%d tokens kept under the same keys, want 2", got)
	}
	p.serves(keySet(rsaSigner().public()))
	p.passes(cooldown)
	flood(t, v, 1, 8)
	wants(first, false)
	wants(second, true)
	p.serves(keySet(strangeSigner().public(), rsaSigner().public())) // another key of the first one's name
	p.passes(cooldown)
	flood(t, v, 2, 8)
	wants(first, false)
	p.serves(allKeys())
	p.passes(cooldown)
	flood(t, v, 3, 8)
	wants(first, true)
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var m identity.Memory
	m.Has(1, 0)
	const often = -1
	m.Add(1, often)
	for n := range 3 * identity.MaxVerified {
		m.Add(1, n)
		if !m.Has(1, n) {
			t.Fatalf("token %d is not kept", n)
		}
		if n%1000 == 0 && !m.Has(1, often) {
			t.Fatalf("after %d others the token that always comes again is gone", n)
		}
		if got := m.Kept(); got > identity.MaxVerified {
			t.Fatalf("%d tokens kept, want %d at the most", got, identity.MaxVerified)
		}
	}
	if m.Has(1, 0) {
		t.Error("the oldest is still there")
	}
	if m.Has(2, often) || m.Kept() != 0 {
		t.Errorf("%d tokens live on under other keys", m.Kept())
	}
	if m.Add(1, often); m.Kept() != 0 {
		t.Error("a token of the former keys was kept")
	}
}
