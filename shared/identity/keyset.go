package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// maxKeySet bounds what a key server can make us read.
const maxKeySet = 256 << 10

// keyName is what a token says about its key. The algorithm in it is the one
// that the key stands for, so a token that names another finds nothing.
type keyName struct {
	id  string
	alg jose.SignatureAlgorithm
}

type keySet struct {
	byName    map[keyName]any
	only      map[jose.SignatureAlgorithm]any // where exactly one key has the algorithm
	fetchedAt time.Time
	digest    digest // of the text: sets that look the same are the same
}

// lookup also finds the only key of an algorithm for a token that names none.
func (s *keySet) lookup(name keyName) (any, bool) {
	if s == nil {
		return nil, false
	}
	if name.id == "" {
		key, ok := s.only[name.alg]
		return key, ok
	}
	key, ok := s.byName[name]
	return key, ok
}

// newClient reads no proxy from the environment and follows no redirect: both
// would let someone else say where the keys are.
func newClient() *http.Client {
	return &http.Client{
		Timeout:       fetchTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: time.Second}).DialContext,
			TLSHandshakeTimeout: time.Second,
			// A fetch is rare, and a kept socket would be dead after a freeze.
			DisableKeepAlives: true,
			ForceAttemptHTTP2: true,
		},
	}
}

func get(ctx context.Context, client *http.Client, url string) (*keySet, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("identity: fetch keys: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("identity: fetch keys: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("identity: fetch keys: status %d", response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxKeySet+1))
	if err != nil {
		return nil, fmt.Errorf("identity: fetch keys: %w", err)
	}
	if len(text) > maxKeySet {
		return nil, errors.New("identity: fetch keys: the key set is too long")
	}
	return parseKeySet(text)
}

// parseKeySet passes over keys that it cannot use, as RFC 7517 asks: providers
// publish keys for other purposes too. A set without any key is an error.
func parseKeySet(text []byte) (*keySet, error) {
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("identity: key set: %w", err)
	}
	set := &keySet{byName: map[keyName]any{}, only: map[jose.SignatureAlgorithm]any{}, digest: sha256.Sum256(text)}
	count := map[jose.SignatureAlgorithm]int{}
	for _, raw := range document.Keys {
		var key jose.JSONWebKey
		if err := key.UnmarshalJSON(raw); err != nil {
			continue
		}
		alg, ok := signatureOf(&key)
		if !ok {
			continue
		}
		set.byName[keyName{key.KeyID, alg}] = key.Key
		set.only[alg] = key.Key
		count[alg]++
	}
	if len(set.byName) == 0 {
		return nil, errors.New("identity: key set: it has no key for RS256, ES256 or EdDSA")
	}
	for alg, n := range count {
		if n > 1 {
			delete(set.only, alg)
		}
	}
	return set, nil
}

// signatureOf says which algorithm a key stands for: public signing keys only,
// one algorithm by type, and the key's own alg must agree.
func signatureOf(key *jose.JSONWebKey) (jose.SignatureAlgorithm, bool) {
	if key.Use != "" && key.Use != "sig" {
		return "", false
	}
	var alg jose.SignatureAlgorithm
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		if public.N.BitLen() < 2048 {
			return "", false
		}
		alg = jose.RS256
	case *ecdsa.PublicKey:
		if public.Curve != elliptic.P256() {
			return "", false
		}
		alg = jose.ES256
	case ed25519.PublicKey:
		alg = jose.EdDSA
	default:
		return "", false
	}
	return alg, key.Algorithm == "" || key.Algorithm == string(alg)
}
