package sigv4_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"flashsale/shared/sigv4"
	"flashsale/shared/sigv4/sigv4test"
)

func at(t *testing.T, text string) func() time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return func() time.Time { return moment }
}

// Signatures that others have published: AWS' documentation, botocore's test of
// RDS tokens, and AWS' Java SDK for an ElastiCache token.
func TestPublishedSignatures(t *testing.T) {
	t.Parallel()
	t.Run("AWS documentation, ListUsers", func(t *testing.T) {
		t.Parallel()
		s := sigv4.New("us-east-1", "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "", at(t, "2015-08-30T12:36:00Z"))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://iam.amazonaws.com/?Version=2010-05-08&Action=ListUsers", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
		s.Sign(r, "iam", nil)
		const want = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, " +
			"SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("Authorization:\ngot  %s\nwant %s", got, want)
		}
	})
	for name, c := range map[string]struct {
		region, key, secret, at, service, host string
		query                                  url.Values
		want                                   string
	}{
		"botocore, RDS": {
			"us-east-1", "akid", "skid", "2016-11-07T17:39:33Z", "rds-db", "prod-instance.us-east-1.rds.amazonaws.com:3306",
			url.Values{"Action": {"connect"}, "DBUser": {"someusername"}},
			"d1138cdbc0ca63eec012ec0fc6c2267e03642168f5884a7795320d4c18374c61",
		},
		"Java, ElastiCache": {
			"eu-west-1", "accessKey", "secretKey", "2024-08-02T12:11:50Z", "elasticache", "my-cache",
			url.Values{"Action": {"connect"}, "User": {"user123"}, "ResourceType": {"ServerlessCache"}},
			"5dda5db919b1337db6596b2a608924bc10197fb39289b933b60bdb114d5a70dc",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := sigv4.New(c.region, c.key, c.secret, "", at(t, c.at)).Token(c.service, c.host, c.query)
			if !strings.HasPrefix(got, c.host+"/?Action=connect&") || !strings.HasSuffix(got, "&X-Amz-Signature="+c.want) {
				t.Errorf("token: got %s, want it of %s with signature %s", got, c.host, c.want)
			}
		})
	}
}

func TestTokenRunsOut(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC)
	now := start
	s := sigv4.New(sigv4test.Region, sigv4test.KeyID, sigv4test.Secret, sigv4test.Session, func() time.Time { return now })
	query := url.Values{"Action": {"connect"}, "User": {"u"}}
	token := s.Token("elasticache", "cache", query)
	for _, c := range []struct {
		after time.Duration
		good  bool
	}{{0, true}, {15*time.Minute - time.Second, true}, {15 * time.Minute, false}} {
		if err := sigv4test.CheckToken(token, "elasticache", "cache", query, start.Add(c.after)); (err == nil) != c.good {
			t.Errorf("after %v: %v, want it good %t", c.after, err, c.good)
		}
	}
	now = start.Add(15 * time.Minute)
	if fresh := s.Token("elasticache", "cache", query); fresh == token || sigv4test.CheckToken(fresh, "elasticache", "cache", query, now) != nil {
		t.Errorf("a token of later: got %s, want a fresh one", fresh)
	}
	if err := sigv4test.CheckToken(token, "elasticache", "cache", url.Values{"Action": {"connect"}, "User": {"other"}}, start); err == nil {
		t.Error("the token opens another user's door")
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	failures := 1
	address := sigv4test.Serve(t, func(service, what string, body []byte) (int, string) {
		switch {
		case failures > 0:
			failures--
			return http.StatusInternalServerError, "not JSON"
		case service == "secretsmanager" && what == "secretsmanager.GetSecretValue" && string(body) == `{"SecretId":"shop"}`:
			return http.StatusOK, `{"SecretString":"x"}`
		default:
			return http.StatusBadRequest, `{"__type":"com.amazonaws#ResourceNotFoundException","Message":"no secret"}`
		}
	})
	var out struct{ SecretString string }
	in := map[string]string{"SecretId": "shop"}
	if err := sigv4test.Signer().Call(t.Context(), address, "secretsmanager", "secretsmanager.GetSecretValue", in, &out); err != nil || out.SecretString != "x" {
		t.Errorf("call after a failure of AWS: got %q, %v", out.SecretString, err)
	}
	err := sigv4test.Signer().Call(t.Context(), address, "secretsmanager", "secretsmanager.GetSecretValue", map[string]string{"SecretId": "other"}, &out)
	if refused, ok := errors.AsType[sigv4.RefusedError](err); !ok || refused != (sigv4.RefusedError{400, "ResourceNotFoundException", "no secret"}) {
		t.Errorf("an unknown secret: got %v", err)
	}
	stranger := sigv4.New(sigv4test.Region, sigv4test.KeyID, "another secret", sigv4test.Session, time.Now)
	err = stranger.Call(t.Context(), address, "secretsmanager", "secretsmanager.GetSecretValue", in, &out)
	if refused, ok := errors.AsType[sigv4.RefusedError](err); !ok || refused.Code != "InvalidSignatureException" {
		t.Errorf("a wrong signature: got %v", err)
	}
}

// Whoever was too fast is let in a moment later, and nobody asks a third time.
func TestTooFast(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		text   string
		calls  int
	}{
		"by its status":          {http.StatusTooManyRequests, `{"Reason":"CallerRateLimitExceeded","message":"Rate exceeded"}`, 2},
		"by its code":            {http.StatusBadRequest, `{"__type":"ThrottlingException","message":"Rate exceeded"}`, 2},
		"by another update":      {http.StatusBadRequest, `{"__type":"ConcurrentUpdateException","message":"pending"}`, 2},
		"a refusal that is none": {http.StatusBadRequest, `{"__type":"AccessDeniedException","message":"no"}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			address := sigv4test.Serve(t, func(string, string, []byte) (int, string) {
				calls++
				return c.status, c.text
			})
			err := sigv4test.Signer().Call(t.Context(), address, "servicequotas", "X.Y", map[string]string{}, &struct{}{})
			if refused, ok := errors.AsType[sigv4.RefusedError](err); !ok || refused.Status != c.status || calls != c.calls {
				t.Errorf("got %v after %d calls, want the refusal after %d", err, calls, c.calls)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := sigv4test.Signer().Call(ctx, address, "servicequotas", "X.Y", map[string]string{}, &struct{}{}); err == nil {
				t.Error("with a context that is over: got no error")
			}
		})
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	address := sigv4test.Serve(t, func(service, what string, _ []byte) (int, string) {
		return http.StatusOK, fmt.Sprintf(`{"Path":%q}`, service+what)
	})
	var out struct{ Path string }
	if err := sigv4test.Signer().Get(t.Context(), address, "lambda", "/2015-03-31/things?FunctionName=a-b&Marker=a%20b", &out); err != nil || out.Path != "lambda/2015-03-31/things?FunctionName=a-b&Marker=a%20b" {
		t.Errorf("get: got %q, %v", out.Path, err)
	}
}

func TestSignerIsNeverShown(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		if got := fmt.Sprintf(verb, sigv4test.Signer()); got != "***" {
			t.Errorf("%s: got %s, want ***", verb, got)
		}
	}
}
