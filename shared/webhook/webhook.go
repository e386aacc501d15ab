// Package webhook tells whether a webhook comes from the payment provider.
//
// Two schemes are known, one is chosen by a setting: Standard Webhooks, and
// Stripe's header. The package promises that a body is accepted only if one of
// the secrets has signed exactly these bytes together with their time, that the
// time is near, and that neither the answer nor its duration tells how near a
// wrong signature was.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"flashsale/shared/config"
)

// The headers of the two schemes.
const (
	idHeader        = "webhook-id"
	timestampHeader = "webhook-timestamp"
	signatureHeader = "webhook-signature"
	stripeHeader    = "Stripe-Signature"
)

// A Scheme signs and verifies. It is safe for concurrent use.
type Scheme struct {
	keys      [][]byte
	stripe    bool
	tolerance time.Duration
}

// New takes the provider's secrets. Without any, everything is refused.
func New(cfg config.Webhook) (*Scheme, error) {
	keys, err := cfg.Keys()
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	return &Scheme{keys, cfg.Signature == config.StripeWebhooks, cfg.Tolerance}, nil
}

// Verify returns the event's id and when it was sent, if body is signed as it
// should be. headers returns all values of a header. Stripe's header has no id:
// there it is the field "id" of the body, and empty if there is none.
func (s *Scheme) Verify(headers func(string) []string, body []byte, now time.Time) (id string, at time.Time, err error) {
	var stamp, content string
	var offered [][]byte
	if s.stripe {
		stamp, offered, err = readStripe(headers)
		content = stamp + "."
	} else {
		id, stamp, offered, err = readStandard(headers)
		content = id + "." + stamp + "."
	}
	if err != nil {
		return "", time.Time{}, fmt.Errorf("webhook: %w", err)
	}
	if !s.signed(content, body, offered) {
		return "", time.Time{}, errors.New("webhook: no signature fits")
	}
	if at, err = parseStamp(stamp); err != nil {
		return "", time.Time{}, fmt.Errorf("webhook: %w", err)
	}
	if now.Sub(at).Abs() > s.tolerance {
		return "", time.Time{}, errors.New("webhook: the time is out of tolerance")
	}
	if s.stripe {
		id = bodyID(body)
	}
	return id, at, nil
}

// Sign makes the headers of an event, as the provider does, by the first secret.
// With Stripe's header the id goes into the body, which is the caller's.
func (s *Scheme) Sign(id string, at time.Time, body []byte) map[string]string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	if s.stripe {
		return map[string]string{stripeHeader: "t=" + stamp + ",v1=" + hex.EncodeToString(mac(s.keys[0], stamp+".", body))}
	}
	return map[string]string{
		idHeader: id, timestampHeader: stamp,
		signatureHeader: "v1," + base64.StdEncoding.EncodeToString(mac(s.keys[0], id+"."+stamp+".", body)),
	}
}

// signed tries all secrets with all signatures, also after one has fitted.
func (s *Scheme) signed(content string, body []byte, offered [][]byte) bool {
	fits := false
	for _, key := range s.keys {
		want := mac(key, content, body)
		for _, signature := range offered {
			fits = hmac.Equal(want, signature) || fits
		}
	}
	return fits
}

func mac(key []byte, content string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(content))
	h.Write(body)
	return h.Sum(nil)
}

// readStandard takes the signatures of version 1, separated by spaces. Others,
// such as those with a public key, are for other receivers.
func readStandard(headers func(string) []string) (id, stamp string, offered [][]byte, err error) {
	id, err1 := single(headers, idHeader)
	stamp, err2 := single(headers, timestampHeader)
	list, err3 := single(headers, signatureHeader)
	if err := errors.Join(err1, err2, err3); err != nil {
		return "", "", nil, err
	}
	for entry := range strings.FieldsSeq(list) {
		text, v1 := strings.CutPrefix(entry, "v1,")
		if signature, err := base64.StdEncoding.Strict().DecodeString(text); v1 && err == nil {
			offered = append(offered, signature)
		}
	}
	return id, stamp, offered, nil
}

// readStripe takes t and every v1 of t=1492774577,v1=5257a869,v0=6ffbb59b.
func readStripe(headers func(string) []string) (stamp string, offered [][]byte, err error) {
	list, err := single(headers, stripeHeader)
	if err != nil {
		return "", nil, err
	}
	for entry := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(entry), "=")
		switch name {
		case "t":
			if stamp != "" {
				return "", nil, errors.New("two times")
			}
			stamp = value
		case "v1":
			if signature, err := hex.DecodeString(value); err == nil {
				offered = append(offered, signature)
			}
		}
	}
	return stamp, offered, nil
}

// single refuses a repeated header: which of the two was signed is a guess.
func single(headers func(string) []string, name string) (string, error) {
	values := headers(name)
	if len(values) != 1 || values[0] == "" {
		return "", fmt.Errorf("want one %s header, got %d", name, len(values))
	}
	return values[0], nil
}

// parseStamp reads seconds in digits only, up to the year 5138.
func parseStamp(text string) (time.Time, error) {
	seconds, err := strconv.ParseUint(text, 10, 64)
	if err != nil || len(text) > 11 {
		return time.Time{}, errors.New("the time is not in Unix seconds")
	}
	return time.Unix(int64(seconds), 0).UTC(), nil //nolint:gosec // 11 digits
}

func bodyID(body []byte) string {
	var event struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(body, &event) // what is no JSON has no id
	return event.ID
}
