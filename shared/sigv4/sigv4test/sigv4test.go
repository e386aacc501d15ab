// Package sigv4test is AWS for tests: an HTTP server that takes only requests
// that its one role has signed just now.
package sigv4test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"flashsale/shared/sigv4"
)

// The role's credentials.
const (
	Region  = "eu-central-1"
	KeyID   = "AKIDEXAMPLE"
	Secret  = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	Session = "a session/with+signs="
)

// Signer is the role's.
func Signer() *sigv4.Signer { return sigv4.New(Region, KeyID, Secret, Session, time.Now) }

// Serve starts AWS, all services at one address. It answers what answer says of a
// request, by the service that it is signed for and its X-Amz-Target or path with query: a
// status and a body. What is not signed well is refused.
func Serve(t testing.TB, answer func(service, what string, body []byte) (status int, text string)) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		service := serviceOf(r)
		if err == nil {
			err = check(r, service, body)
		}
		if err != nil {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"__type":"com.amazon#InvalidSignatureException","message":%q}`, err)
			return
		}
		what := r.Header.Get("X-Amz-Target")
		if what == "" {
			what = r.URL.RequestURI()
		}
		status, text := answer(service, what, body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// serviceOf reads it from the scope: KEY/date/region/SERVICE/aws4_request.
func serviceOf(r *http.Request) string {
	credential, _, _ := strings.Cut(r.Header.Get("Authorization"), ",")
	if parts := strings.Split(credential, "/"); len(parts) == 5 {
		return parts[3]
	}
	return ""
}

// check signs the request again, with the headers that it says are signed.
func check(r *http.Request, service string, body []byte) error {
	got := r.Header.Get("Authorization")
	_, rest, _ := strings.Cut(got, "SignedHeaders=")
	signed, _, _ := strings.Cut(rest, ",")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if age := time.Since(at); err != nil || age.Abs() > sigv4.TokenLife {
		return fmt.Errorf("the date %q is not of now", r.Header.Get("X-Amz-Date"))
	}
	again := &http.Request{Method: r.Method, URL: &url.URL{Host: r.Host, Path: r.URL.Path, RawQuery: r.URL.RawQuery}, Header: http.Header{}}
	for name := range strings.SplitSeq(signed, ";") {
		if name != "host" {
			again.Header.Set(name, r.Header.Get(name))
		}
	}
	sigv4.New(Region, KeyID, Secret, Session, func() time.Time { return at }).Sign(again, service, body)
	if want := again.Header.Get("Authorization"); got != want {
		return fmt.Errorf("signature %q, want %q", got, want)
	}
	return nil
}

// CheckToken tells whether token lets somebody in at that moment, as RDS and
// ElastiCache judge it.
func CheckToken(token, service, host string, query url.Values, now time.Time) error {
	_, text, _ := strings.Cut(token, "?")
	got, err := url.ParseQuery(text)
	if err != nil {
		return fmt.Errorf("the token is no query: %w", err)
	}
	at, err := time.Parse("20060102T150405Z", got.Get("X-Amz-Date"))
	if err != nil || now.Before(at) || now.Sub(at) >= sigv4.TokenLife {
		return fmt.Errorf("the token of %q has run out at %s", got.Get("X-Amz-Date"), now)
	}
	want := sigv4.New(Region, KeyID, Secret, Session, func() time.Time { return at }).Token(service, host, query)
	if token != want {
		return fmt.Errorf("token %q, want %q", token, want)
	}
	return nil
}
