// Package sigv4 speaks to AWS: it signs what a function asks, and makes the
// tokens by which a function logs in to a server instead of by a password.
//
// It promises Signature Version 4 as AWS checks it, and nothing of AWS' SDK,
// whose smallest client makes a program a megabyte larger. Credentials never
// show in an error, nor where a [Signer] is printed.
package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// TokenLife is how long a token opens a connection. Servers close none because
// its token has run out; they refuse new ones.
const TokenLife = 15 * time.Minute

const (
	algorithm = "AWS4-HMAC-SHA256"
	stamp     = "20060102T150405Z"
)

// A Signer has the credentials of one role in one region. It is safe for concurrent use.
type Signer struct {
	region, keyID, secret, session string
	now                            func() time.Time
}

// New makes a Signer of what Lambda puts into a function's environment. The
// session is "" for credentials that do not end.
func New(region, keyID, secret, session string, now func() time.Time) *Signer {
	return &Signer{region, keyID, secret, session, now}
}

// Format hides the credentials from every verb of fmt.
func (*Signer) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "***") }

// Token is the address of a signed GET of the host's root, without its scheme:
// what RDS and ElastiCache take as a password, from now on for [TokenLife].
func (s *Signer) Token(service, host string, query url.Values) string {
	at := s.now().UTC()
	signed := url.Values{
		"X-Amz-Algorithm":     {algorithm},
		"X-Amz-Credential":    {s.keyID + "/" + s.scope(at, service)},
		"X-Amz-Date":          {at.Format(stamp)},
		"X-Amz-Expires":       {strconv.Itoa(int(TokenLife.Seconds()))},
		"X-Amz-SignedHeaders": {"host"},
	}
	if s.session != "" {
		signed.Set("X-Amz-Security-Token", s.session)
	}
	for name, values := range query {
		signed[name] = values
	}
	text := escape(signed)
	signature := s.sign(at, service, canonical(http.MethodGet, "/", text, []string{"host:" + host}, nil))
	return host + "/?" + text + "&X-Amz-Signature=" + signature
}

// Sign adds the headers that prove who sends the request with that body. All
// headers that it has by then are covered. Its path must need no escaping.
func (s *Signer) Sign(r *http.Request, service string, body []byte) {
	at := s.now().UTC()
	r.Header.Set("X-Amz-Date", at.Format(stamp))
	if s.session != "" {
		r.Header.Set("X-Amz-Security-Token", s.session)
	}
	headers := []string{"host:" + r.URL.Host}
	for name := range r.Header {
		headers = append(headers, strings.ToLower(name)+":"+strings.TrimSpace(r.Header.Get(name)))
	}
	slices.Sort(headers)
	path := r.URL.Path
	if path == "" {
		path = "/"
	}
	signature := s.sign(at, service, canonical(r.Method, path, escape(r.URL.Query()), headers, body))
	r.Header.Set("Authorization", fmt.Sprintf("%s Credential=%s/%s, SignedHeaders=%s, Signature=%s",
		algorithm, s.keyID, s.scope(at, service), names(headers), signature))
}

// canonical is a request in the one form of which both sides take the hash.
// Headers are sorted, "name:value" each.
func canonical(method, path, query string, headers []string, body []byte) string {
	return strings.Join([]string{
		method, path, query, strings.Join(headers, "\n") + "\n", names(headers), hash(body),
	}, "\n")
}

func names(headers []string) string {
	list := make([]string, len(headers))
	for i, header := range headers {
		list[i], _, _ = strings.Cut(header, ":")
	}
	return strings.Join(list, ";")
}

// escape sorts by name and escapes as AWS does: a space is no plus.
func escape(query url.Values) string { return strings.ReplaceAll(query.Encode(), "+", "%20") }

func (s *Signer) scope(at time.Time, service string) string {
	return at.Format("20060102") + "/" + s.region + "/" + service + "/aws4_request"
}

// sign derives the day's key of that service and signs the request's hash with it.
func (s *Signer) sign(at time.Time, service, request string) string {
	key := []byte("AWS4" + s.secret)
	for _, part := range []string{at.Format("20060102"), s.region, service, "aws4_request"} {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, strings.Join([]string{
		algorithm, at.Format(stamp), s.scope(at, service), hash([]byte(request)),
	}, "\n")))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
