package webhook_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"flashsale/shared/config"
	"flashsale/shared/webhook"
)

// The published vector of Standard Webhooks (and of Svix, where it comes from).
const (
	vectorSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorTime      = "1614265330"
	vectorBody      = `{"test": 2432232314}`
	vectorSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

// Stripe publishes none; this one was made with openssl dgst -hmac.
const (
	stripeSecret = "whsec_test_secret_of_stripe"
	stripeBody   = `{"id":"evt_1","type":"payment.succeeded"}`
	stripeV1     = "b8383bfc92ecc7db22c985514c1fa64c6cfcc314966dd947fae6efa5dadacdd4"
)

var otherSecret = config.Secret("whsec_" + strings.Repeat("b3Ro", 8))

func scheme(t testing.TB, signature string, secrets ...config.Secret) *webhook.Scheme {
	t.Helper()
	s, err := webhook.New(config.Webhook{Secrets: secrets, Signature: signature, Tolerance: 5 * time.Minute})
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return s
}

// headers are those of a request: name, value, name, value.
func headers(pairs ...string) func(string) []string {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h.Values
}

func standard(id, stamp, signature string) func(string) []string {
	return headers("webhook-id", id, "webhook-timestamp", stamp, "webhook-signature", signature)
}

func TestStandard(t *testing.T) {
	t.Parallel()
	sent := time.Unix(1614265330, 0).UTC()
	for name, test := range map[string]struct {
		headers func(string) []string
		body    string
		now     time.Time
		want    bool
	}{
		"the published vector":       {standard(vectorID, vectorTime, vectorSignature), vectorBody, sent, true},
		"second of two signatures":   {standard(vectorID, vectorTime, "v1,AAAA "+vectorSignature), vectorBody, sent, true},
		"beside other versions":      {standard(vectorID, vectorTime, "v1a,AAAA v2,BBBB "+vectorSignature), vectorBody, sent, true},
		"as late as allowed":         {standard(vectorID, vectorTime, vectorSignature), vectorBody, sent.Add(5 * time.Minute), true},
		"a millisecond too late":     {standard(vectorID, vectorTime, vectorSignature), vectorBody, sent.Add(5*time.Minute + time.Millisecond), false},
		"as early as allowed":        {standard(vectorID, vectorTime, vectorSignature), vectorBody, sent.Add(-5 * time.Minute), true},
		"a millisecond too early":    {standard(vectorID, vectorTime, vectorSignature), vectorBody, sent.Add(-5*time.Minute - time.Millisecond), false},
		"other body":                 {standard(vectorID, vectorTime, vectorSignature), `{"test": 2432232315}`, sent, false},
		"one more space":             {standard(vectorID, vectorTime, vectorSignature), `{"test":  2432232314}`, sent, false},
		"other id":                   {standard(vectorID+"x", vectorTime, vectorSignature), vectorBody, sent, false},
		"other time":                 {standard(vectorID, "1614265331", vectorSignature), vectorBody, sent, false},
		"time with a sign":           {standard(vectorID, "+1614265330", vectorSignature), vectorBody, sent, false},
		"no version":                 {standard(vectorID, vectorTime, strings.TrimPrefix(vectorSignature, "v1,")), vectorBody, sent, false},
		"version 2":                  {standard(vectorID, vectorTime, "v2"+vectorSignature[2:]), vectorBody, sent, false},
		"no base64":                  {standard(vectorID, vectorTime, "v1,!"), vectorBody, sent, false},
		"half a signature":           {standard(vectorID, vectorTime, vectorSignature[:24]), vectorBody, sent, false},
		"empty signature":            {standard(vectorID, vectorTime, ""), vectorBody, sent, false},
		"no headers":                 {headers(), vectorBody, sent, false},
		"no id":                      {headers("webhook-timestamp", vectorTime, "webhook-signature", vectorSignature), vectorBody, sent, false},
		"no time":                    {headers("webhook-id", vectorID, "webhook-signature", vectorSignature), vectorBody, sent, false},
		"id twice":                   {headers("webhook-id", vectorID, "webhook-id", vectorID, "webhook-timestamp", vectorTime, "webhook-signature", vectorSignature), vectorBody, sent, false},
		"signed by Stripe's way":     {headers("Stripe-Signature", "t="+vectorTime+",v1="+stripeV1), vectorBody, sent, false},
		"names in upper case (HTTP)": {headers("WEBHOOK-ID", vectorID, "WEBHOOK-TIMESTAMP", vectorTime, "WEBHOOK-SIGNATURE", vectorSignature), vectorBody, sent, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, at, err := scheme(t, "standard", vectorSecret).Verify(test.headers, []byte(test.body), test.now)
			if (err == nil) != test.want {
				t.Fatalf("verify: got %v, want accepted: %v", err, test.want)
			}
			if test.want && (id != vectorID || !at.Equal(sent)) {
				t.Errorf("got %s at %s, want %s at %s", id, at, vectorID, sent)
			}
		})
	}
}

// While a secret is replaced, both are good; afterwards only the new one.
func TestRotation(t *testing.T) {
	t.Parallel()
	now := time.Now()
	body := []byte(`{}`)
	signed := headers(flat(scheme(t, "standard", vectorSecret).Sign("m1", now, body))...)
	for name, test := range map[string]struct {
		secrets []config.Secret
		want    bool
	}{
		"before":        {[]config.Secret{vectorSecret}, true},
		"both":          {[]config.Secret{otherSecret, vectorSecret}, true},
		"both turned":   {[]config.Secret{vectorSecret, otherSecret}, true},
		"after":         {[]config.Secret{otherSecret}, false},
		"none":          {nil, false},
		"no prefix":     {[]config.Secret{config.Secret(strings.TrimPrefix(vectorSecret, "whsec_"))}, true},
		"three of them": {[]config.Secret{otherSecret, otherSecret, vectorSecret}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := scheme(t, "standard", test.secrets...).Verify(signed, body, now); (err == nil) != test.want {
				t.Errorf("verify: got %v, want accepted: %v", err, test.want)
			}
		})
	}
}

func TestStripe(t *testing.T) {
	t.Parallel()
	sent := time.Unix(1492774577, 0).UTC()
	for name, test := range map[string]struct {
		header string
		body   string
		now    time.Time
		want   bool
	}{
		"the vector":              {"t=1492774577,v1=" + stripeV1, stripeBody, sent, true},
		"with spaces and v0":      {"t=1492774577, v1=" + stripeV1 + ", v0=00", stripeBody, sent, true},
		"second of two":           {"t=1492774577,v1=00,v1=" + stripeV1, stripeBody, sent, true},
		"too late":                {"t=1492774577,v1=" + stripeV1, stripeBody, sent.Add(5*time.Minute + time.Millisecond), false},
		"too early":               {"t=1492774577,v1=" + stripeV1, stripeBody, sent.Add(-5*time.Minute - time.Millisecond), false},
		"as v0":                   {"t=1492774577,v0=" + stripeV1, stripeBody, sent, false},
		"other body":              {"t=1492774577,v1=" + stripeV1, `{"id":"evt_2"}`, sent, false},
		"other time":              {"t=1492774578,v1=" + stripeV1, stripeBody, sent, false},
		"two times":               {"t=1,t=1492774577,v1=" + stripeV1, stripeBody, sent, false},
		"no time":                 {"v1=" + stripeV1, stripeBody, sent, false},
		"empty":                   {"", stripeBody, sent, false},
		"signed the standard way": {vectorSignature, stripeBody, sent, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, at, err := scheme(t, "stripe", stripeSecret).Verify(headers("Stripe-Signature", test.header), []byte(test.body), test.now)
			if (err == nil) != test.want {
				t.Fatalf("verify: got %v, want accepted: %v", err, test.want)
			}
			if test.want && (id != "evt_1" || !at.Equal(sent)) {
				t.Errorf("got %s at %s, want evt_1 at %s", id, at, sent)
			}
		})
	}
	t.Run("a body without an id", func(t *testing.T) {
		t.Parallel()
		s := scheme(t, "stripe", stripeSecret)
		body := []byte("no JSON")
		if id, _, err := s.Verify(headers(flat(s.Sign("", sent, body))...), body, sent); id != "" || err != nil {
			t.Errorf("got %q, %v, want no id and no error", id, err)
		}
	})
}

// Whatever the headers say, only what was signed is accepted.
func FuzzVerify(f *testing.F) {
	f.Add(vectorID, vectorTime, vectorSignature, []byte(vectorBody))
	f.Add("", "t=1492774577", "v1="+stripeV1, []byte(stripeBody))
	f.Fuzz(func(t *testing.T, id, stamp, signature string, body []byte) {
		now := time.Unix(1614265330, 0)
		_, _, err := scheme(t, "standard", vectorSecret).Verify(standard(id, stamp, signature), body, now)
		genuine := id == vectorID && stamp == vectorTime && bytes.Equal(body, []byte(vectorBody)) && strings.Contains(signature, vectorSignature)
		if err == nil && !genuine {
			t.Errorf("accepted %q %q %q %q", id, stamp, signature, body)
		}
		_, _, err = scheme(t, "stripe", stripeSecret).Verify(headers("Stripe-Signature", stamp+","+signature), body, time.Unix(1492774577, 0))
		if err == nil && !bytes.Equal(body, []byte(stripeBody)) {
			t.Errorf("stripe: accepted %q %q %q", stamp, signature, body)
		}
		for _, kind := range []string{"standard", "stripe"} {
			s := scheme(t, kind, vectorSecret)
			if id == "" {
				id = "m"
			}
			if _, _, err := s.Verify(headers(flat(s.Sign(id, now, body))...), body, now); err != nil {
				t.Errorf("%s: own signature: %v", kind, err)
			}
		}
	})
}

func flat(m map[string]string) []string {
	var pairs []string
	for name, value := range m {
		pairs = append(pairs, name, value)
	}
	return pairs
}
