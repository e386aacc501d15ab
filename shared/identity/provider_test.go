package identity_test

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"flashsale/shared/identity"
)

// An idp is an identity provider as its tokens show it.
type idp struct {
	issuer   string
	audience string // JWT_AUDIENCE, as the operator sets it
	kid      string
	typ      string // of the header
	claims   map[string]any
	sub      string
}

const (
	cognitoClient = "1example23456789"
	cognitoSub    = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
)

func cognito(use map[string]any) idp {
	c := map[string]any{
		"sub": cognitoSub, "iss": "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example", "origin_jti": "o", "event_id": "e",
		"auth_time": noon.Unix(), "iat": noon.Unix(), "exp": noon.Add(time.Hour).Unix(), "jti": "j", "cognito:groups": []string{"shoppers"},
	}
	maps.Copy(c, use)
	return idp{c["iss"].(string), cognitoClient, "abcdefghijklmnopqrsexample+/=", "", c, cognitoSub}
}

// providers are tokens in the forms that these providers document.
func providers() map[string]idp {
	return map[string]idp{
		"Cognito, access token": cognito(map[string]any{
			"token_use": "access", "client_id": cognitoClient, "username": "u1", "scope": "openid profile", "version": 2,
		}),
		"Cognito, id token": cognito(map[string]any{
			"token_use": "id", "aud": cognitoClient, "email": "u1@example.com", "email_verified": true, "cognito:username": "u1",
		}),
		"Auth0": {
			"https://shop.eu.auth0.com/", "https://flash-sale.shop.example", "NjVBRjY5MDlCMUIwNzU4RTA2QzZFMDQ4", "JWT", map[string]any{
				"iss": "https://shop.eu.auth0.com/", "sub": "auth0|5f7c8ec7c33c6c004bbafe82",
				"aud": []string{"https://flash-sale.shop.example", "https://shop.eu.auth0.com/userinfo"},
				"azp": "my_client_id", "iat": noon.Unix(), "exp": noon.Add(24 * time.Hour).Unix(), "scope": "openid profile", "permissions": []string{},
			}, "auth0|5f7c8ec7c33c6c004bbafe82",
		},
		"Keycloak with an audience mapper": {
			"https://id.shop.example/realms/shop", "flash-sale", "FJ86GcF3jTbNLOco4NvZkUCIUmfYCqoqtOQeMfbhNlE", "JWT", keycloak([]string{"flash-sale", "account"}),
			"24d7e3d6-9f6c-4c9b-8f3e-0b1c5f6c7d8e",
		},
		"Keycloak without one": {
			"https://id.shop.example/realms/shop", "account", "FJ86GcF3jTbNLOco4NvZkUCIUmfYCqoqtOQeMfbhNlE", "JWT", keycloak("account"),
			"24d7e3d6-9f6c-4c9b-8f3e-0b1c5f6c7d8e",
		},
	}
}

func keycloak(aud any) map[string]any {
	return map[string]any{
		"exp": noon.Add(5 * time.Minute).Unix(), "iat": noon.Unix(), "auth_time": noon.Unix(), "jti": "onrtac:7c8f",
		"iss": "https://id.shop.example/realms/shop", "aud": aud, "sub": "24d7e3d6-9f6c-4c9b-8f3e-0b1c5f6c7d8e",
		"typ": "Bearer", "azp": "shop-web", "sid": "s", "acr": "1", "allowed-origins": []string{"https://shop.example"},
		"realm_access":    map[string]any{"roles": []string{"offline_access"}},
		"resource_access": map[string]any{"account": map[string]any{"roles": []string{"view-profile"}}},
		"scope":           "openid email profile", "email_verified": false, "preferred_username": "u1",
	}
}

func (p idp) token(changes map[string]any) string {
	c := maps.Clone(p.claims)
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	options := (&jose.SignerOptions{}).WithHeader("kid", p.kid)
	if p.typ != "" {
		options.WithType(jose.ContentType(p.typ))
	}
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: rsaSigner().key}, options))
	return must(must(signer.Sign(must(json.Marshal(c)))).CompactSerialize())
}

func (p idp) verifier(t *testing.T) *identity.Verifier {
	t.Helper()
	// These providers name the algorithm, and publish the next key beside the one in use.
	key := rsaSigner().public()
	key.KeyID, key.Algorithm = p.kid, "RS256"
	next := rsaSigner().public()
	next.KeyID, next.Algorithm = "next", "RS256"
	keys, err := identity.StaticKeys(keySet(next, key))
	if err != nil {
		t.Fatal(err)
	}
	return identity.NewVerifier(keys, p.issuer, p.audience, time.Minute, at(noon))
}

func TestProviders(t *testing.T) {
	t.Parallel()
	for name, p := range providers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := p.verifier(t)
			if got, err := v.Shopper(t.Context(), p.token(nil)); err != nil || got != p.sub {
				t.Errorf("Shopper = %q, %v; want %s", got, err, p.sub)
			}
			for fault, changes := range map[string]map[string]any{
				"for someone else": {"aud": "other", "client_id": "other"},
				"of another realm": {"iss": p.issuer + "x"},
				"expired":          {"exp": noon.Add(-time.Hour).Unix()},
			} {
				if _, err := v.Shopper(t.Context(), p.token(changes)); !errors.Is(err, identity.ErrUnauthenticated) {
					t.Errorf("%s: %v, want ErrUnauthenticated", fault, err)
				}
			}
		})
	}
}

// TestWhoATokenIsFor goes through the forms of aud, and what stands in for it.
func TestWhoATokenIsFor(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, allKeys())
	none := map[string]any{"aud": nil}
	and := func(claims map[string]any, more map[string]any) map[string]any {
		c := maps.Clone(claims)
		maps.Copy(c, more)
		return c
	}
	access := map[string]any{"token_use": "access", "client_id": audience}
	for name, tc := range map[string]struct {
		payload string
		ok      bool
	}{
		"a string":                                {claims(nil), true},
		"an array of one":                         {with("aud", []string{audience}), true},
		"an array of three":                       {with("aud", []string{"a", audience, "b"}), true},
		"the same twice":                          {with("aud", []string{audience, audience}), true},
		"another string":                          {with("aud", "other"), false},
		"in upper case":                           {with("aud", strings.ToUpper(audience)), false},
		"with a space":                            {with("aud", audience+" "), false},
		"a list in a string":                      {with("aud", "other,"+audience), false},
		"an empty string":                         {with("aud", ""), false},
		"an empty array":                          {with("aud", []string{}), false},
		"an array of empty strings":               {with("aud", []string{""}), false},
		"a number":                                {with("aud", 7), false},
		"true":                                    {with("aud", true), false},
		"an object":                               {with("aud", map[string]string{audience: audience}), false},
		"numbers beside it":                       {with("aud", []any{audience, 7}), false},
		"an array in an array":                    {with("aud", []any{[]string{audience}}), false},
		"null":                                    {strings.Replace(with("aud", 0), `"aud":0`, `"aud":null`, 1), false},
		"missing":                                 {claims(none), false},
		"missing, azp instead":                    {claims(and(none, map[string]any{"azp": audience})), false},
		"missing, client_id of an access token":   {claims(and(none, access)), true},
		"missing, client_id of an id token":       {claims(and(none, map[string]any{"token_use": "id", "client_id": audience})), false},
		"missing, client_id without token_use":    {claims(and(none, map[string]any{"client_id": audience})), false},
		"missing, another client_id":              {claims(and(none, map[string]any{"token_use": "access", "client_id": "other"})), false},
		"missing, client_id is an array":          {claims(and(none, map[string]any{"token_use": "access", "client_id": []string{audience}})), false},
		"another one, and the client_id":          {claims(and(access, map[string]any{"aud": "other"})), false},
		"an empty one, and the client_id":         {claims(and(access, map[string]any{"aud": ""})), false},
		"an empty array, and the client_id":       {claims(and(access, map[string]any{"aud": []string{}})), false},
		"null, and the client_id":                 {strings.Replace(claims(and(access, map[string]any{"aud": 0})), `"aud":0`, `"aud":null`, 1), false},
		"a string, and another client_id":         {claims(map[string]any{"token_use": "access", "client_id": "other"}), true},
		"twice":                                   {`{"aud":"other",` + claims(nil)[1:], false},
		"twice, once in other case":               {`{"AUD":"other",` + claims(nil)[1:], true}, // another claim: names tell case
		"missing, client_id twice":                {`{"client_id":"other",` + claims(and(none, access))[1:], false},
		"missing, Client_Id for the access token": {claims(and(none, map[string]any{"token_use": "access", "Client_Id": audience})), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := v.Shopper(t.Context(), ecSigner().sign(tc.payload, nil))
			if (err == nil) != tc.ok || err != nil && !errors.Is(err, identity.ErrUnauthenticated) || tc.ok && got != "u1" {
				t.Errorf("Shopper = %q, %v; want success %t", got, err, tc.ok)
			}
		})
	}
}

// TestClockSkew looks at each edge, and at a second behind it: NumericDate counts seconds.
func TestClockSkew(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{0, time.Second, time.Minute} {
		keys, err := identity.StaticKeys(allKeys())
		if err != nil {
			t.Fatal(err)
		}
		v := identity.NewVerifier(keys, issuer, audience, skew, at(noon))
		for _, tc := range []struct {
			claim  string
			offset time.Duration
			ok     bool
		}{
			{"exp", time.Second - skew, true},
			{"exp", -skew, true}, // the edge itself is inside
			{"exp", -time.Second - skew, false},
			{"nbf", skew, true},
			{"nbf", skew + time.Second, false},
			{"iat", skew, true},
			{"iat", skew + time.Second, false},
			{"iat", -1000 * time.Hour, true},
		} {
			token := ecSigner().sign(with(tc.claim, noon.Add(tc.offset).Unix()), nil)
			if _, err := v.Shopper(t.Context(), token); (err == nil) != tc.ok {
				t.Errorf("skew %s, %s at %s: %v, want success %t", skew, tc.claim, tc.offset, err, tc.ok)
			}
		}
	}
}
