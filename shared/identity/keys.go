package identity

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	fetchTimeout = 2 * time.Second

	// impatience replaces the cool-down while there are no keys at all, since
	// then every shopper waits.
	impatience = time.Second

	// maxAge is when known keys are fetched again beside the work, so that a key
	// that the provider withdrew does not live as long as the environment.
	maxAge = 15 * time.Minute
)

// Keys are the identity provider's public keys.
type Keys struct {
	set      atomic.Pointer[keySet]
	fetch    func(ctx context.Context) (*keySet, error) // nil for static keys
	cooldown time.Duration
	now      func() time.Time

	mu      sync.Mutex
	nextTry time.Time
	flight  *flight // the fetch under way, or nil
}

// A flight is one fetch that any number of callers wait for.
type flight struct {
	done chan struct{}
	err  error // after done
}

// StaticKeys reads a JWKS that never changes.
func StaticKeys(jwks []byte) (*Keys, error) {
	set, err := parseKeySet(jwks)
	if err != nil {
		return nil, err
	}
	k := &Keys{}
	k.set.Store(set)
	return k, nil
}

// FetchedKeys reads the JWKS at url when it is first needed, again when a token
// names an unknown key (once per cool-down), and again when it is old.
func FetchedKeys(url string, cooldown time.Duration, now func() time.Time) *Keys {
	k := &Keys{cooldown: cooldown, now: now}
	client := newClient()
	k.fetch = func(ctx context.Context) (*keySet, error) { return get(ctx, client, url) }
	return k
}

// current is the set that is known now, nil if there is none. An old one is
// fetched again beside the work.
func (k *Keys) current(ctx context.Context) *keySet {
	set := k.set.Load()
	if set != nil && k.fetch != nil && k.now().Sub(set.fetchedAt) > maxAge {
		k.refresh(ctx)
	}
	return set
}

// find also returns the set that has the key. It takes no lock for a known key that
// is not old, so that what strangers cause cannot slow a shopper.
func (k *Keys) find(ctx context.Context, name keyName) (any, *keySet, error) {
	set := k.current(ctx)
	if key, ok := set.lookup(name); ok {
		return key, set, nil
	}
	err := k.await(ctx)
	set = k.set.Load()
	if key, ok := set.lookup(name); ok {
		return key, set, nil
	}
	// Without keys, or without the time to wait for newer ones, nothing is known
	// about the caller.
	if set == nil || ctx.Err() != nil {
		return nil, nil, errors.Join(ErrKeysUnavailable, err)
	}
	return nil, nil, unauthenticated("unknown key")
}

// await returns when a fetch has ended, at once if it is too early for another.
func (k *Keys) await(ctx context.Context) error {
	f := k.refresh(ctx)
	if f == nil {
		return nil
	}
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *Keys) warm(ctx context.Context) error {
	if err := k.await(ctx); err != nil || k.set.Load() != nil {
		return err
	}
	return ErrKeysUnavailable
}

// refresh starts a fetch, or returns the one under way, or nil while it is too
// early for another. The fetch outlives its caller: others wait for it too.
func (k *Keys) refresh(ctx context.Context) *flight {
	if k.fetch == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.flight != nil {
		return k.flight
	}
	now := k.now()
	if now.Before(k.nextTry) {
		return nil
	}
	f := &flight{done: make(chan struct{})}
	k.flight = f
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
		defer cancel()
		set, err := k.fetch(ctx)
		k.land(f, set, err)
	}()
	return f
}

// land keeps the known keys if the fetch failed.
func (k *Keys) land(f *flight, set *keySet, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if err == nil {
		set.fetchedAt = now
		k.set.Store(set)
	}
	wait := k.cooldown
	if k.set.Load() == nil {
		wait = min(wait, impatience)
	}
	k.nextTry, k.flight, f.err = now.Add(wait), nil, err
	close(f.done)
}
