// Package admission lets a crowd in one after another: by lottery, and without
// any state.
//
// A sale's spread is the time over which its shoppers are admitted. Each gets a
// pass that is good from notBefore = opensAt + spread × u on, where u in [0,1) is
// drawn from the sale and the shopper alone. The package promises that one
// account has one place, however early, fast and often it asks; that nobody can
// know or choose a place beforehand; that a pass is good for one shopper, one
// sale and one description of its window; and that keys can be replaced while
// passes are out.
//
// The lots have a secret of their own. If they were drawn by the signing key, a
// new key would give every shopper a second draw, and the better of two passes.
//
// A pass is text of seven fields and their signature, separated by points:
//
//	1.<key id>.<sale>.<opensAt>.<spread>.<wait>.<closesAt>.<HMAC-SHA-256, base64url>
//
// Times are milliseconds; notBefore is opensAt + wait. The signature covers the
// fields and, without being in the pass, the shopper. web/edge/admission.js
// checks the same, by the same test vectors.
package admission

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"flashsale/shared/config"
	"flashsale/shared/sale"
)

// ErrRequired says that a pass is missing or not good here. It is wrapped with
// the reason, which is for the log.
var ErrRequired = errors.New("admission: a pass is required")

// ErrNoKeys says that nothing can be signed or judged: a mistake in the
// settings, and no reason to let anybody in.
var ErrNoKeys = errors.New("admission: ADMISSION_KEYS or ADMISSION_LOTTERY is missing, but a sale has a spread")

// An EarlyError says that the pass is good, but not yet.
type EarlyError struct{ NotBefore time.Time }

func (e *EarlyError) Error() string {
	return "admission: not before " + e.NotBefore.Format(time.RFC3339Nano)
}

// Unneeded is the pass of a sale without a spread. Nobody looks at it.
const Unneeded = "open"

const (
	version = "1"
	fields  = 7 // before the signature
	// allowance is how far the clocks of whoever gives out and whoever judges may
	// differ. Within AWS they differ by milliseconds. It is the same for all, so
	// it changes nobody's place.
	allowance = 250 * time.Millisecond
)

// Keys judge passes. Nil has no keys and refuses all of them.
type Keys struct{ keys []config.PassKey }

// NewKeys takes the keys from the settings.
func NewKeys(cfg config.AdmissionKeys) (*Keys, error) {
	keys, err := cfg.Keys()
	if err != nil {
		return nil, fmt.Errorf("admission: %w", err)
	}
	return &Keys{keys}, nil
}

// An Office gives out passes. Nil cannot.
type Office struct {
	keys    *Keys
	lottery []byte
}

// New makes an office from the settings.
func New(cfg config.Admission) (*Office, error) {
	keys, err := NewKeys(cfg.AdmissionKeys)
	if err != nil {
		return nil, err
	}
	return &Office{keys, []byte(cfg.Lottery.Reveal())}, nil
}

// Ready tells whether the office can give out passes for a sale with a spread.
func (o *Office) Ready() bool { return o != nil && len(o.keys.keys) > 0 && len(o.lottery) > 0 }

// Issue gives a shopper the pass for a sale and tells from when on it is good.
// Again it gives the same, until the sale's window or the keys change. Its only
// error is [ErrNoKeys], for a sale with a spread.
func (o *Office) Issue(sl *sale.Sale, userID string) (pass string, notBefore time.Time, err error) {
	if sl.Spread == 0 {
		return Unneeded, sl.OpensAt, nil
	}
	if !o.Ready() {
		return "", time.Time{}, ErrNoKeys
	}
	wait := o.wait(sl, userID)
	key := o.keys.keys[0]
	text := make([]byte, 0, 160)
	text = append(text, version+"."...)
	text = append(append(text, key.ID...), '.')
	text = append(strconv.AppendUint(text, uint64(sl.ID), 10), '.')
	for _, ms := range [...]int64{sl.OpensAt.UnixMilli(), sl.Spread.Milliseconds(), wait.Milliseconds()} {
		text = append(strconv.AppendInt(text, ms, 10), '.')
	}
	text = strconv.AppendInt(text, sl.ClosesAt.UnixMilli(), 10)
	return string(text) + "." + sign(key.Secret, string(text), userID), sl.OpensAt.Add(wait), nil
}

// wait draws the lot: a whole number of milliseconds below the spread. It is the
// upper half of a product, so every millisecond is as likely as any other.
func (o *Office) wait(sl *sale.Sale, userID string) time.Duration {
	mac := hmac.New(sha256.New, o.lottery)
	mac.Write(strconv.AppendUint(nil, uint64(sl.ID), 10))
	mac.Write([]byte("." + userID))
	u := binary.BigEndian.Uint64(mac.Sum(nil))
	ms, _ := bits.Mul64(uint64(sl.Spread.Milliseconds()), u) //nolint:gosec // never negative
	return time.Duration(ms) * time.Millisecond              //nolint:gosec // below the spread
}

// sign is the last part of a pass. No field has a point in it, so no two passes
// and shoppers have the same text.
func sign(secret []byte, text, userID string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	mac.Write([]byte("." + userID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Judge tells whether the pass admits that shopper to that sale now, by the
// caller's clock. Errors: [ErrRequired], wrapped with the reason; [*EarlyError];
// [ErrNoKeys]. Call it for sales with a spread only.
//
// A pass carries the opening and the spread that it was drawn for. Once an update
// has changed one of them, it is no longer good: its place would be another one.
// One whose sale only closes later ends when it says, and is fetched anew.
func (k *Keys) Judge(pass string, sl *sale.Sale, userID string, now time.Time) error {
	if k == nil || len(k.keys) == 0 {
		return ErrNoKeys
	}
	field := strings.Split(pass, ".")
	if len(field) != fields+1 || field[0] != version {
		return required("no pass, or not of this form")
	}
	secret := k.secret(field[1])
	if secret == nil {
		return required("unknown key")
	}
	text, mac := pass[:strings.LastIndexByte(pass, '.')], field[fields]
	// Texts are compared, not bytes: base64 could be spelled in several ways.
	if !hmac.Equal([]byte(sign(secret, text, userID)), []byte(mac)) {
		return required("signature, or another shopper's")
	}
	// Whatever is signed is ours, so it is made of numbers.
	number := make([]int64, fields)
	for i, text := range field[2:fields] {
		number[i+2], _ = strconv.ParseInt(text, 10, 64)
	}
	opensAt, notBefore, closesAt := number[3], number[3]+number[5], number[6]
	switch ms := now.UnixMilli(); {
	case number[2] != int64(sl.ID):
		return required("another sale's")
	case opensAt != sl.OpensAt.UnixMilli() || number[4] != sl.Spread.Milliseconds():
		return required("from before the sale was changed")
	case ms >= closesAt+allowance.Milliseconds():
		return required("expired")
	case ms < notBefore-allowance.Milliseconds():
		return &EarlyError{time.UnixMilli(notBefore).UTC()}
	}
	return nil
}

func (k *Keys) secret(id string) []byte {
	for _, key := range k.keys {
		if key.ID == id {
			return key.Secret
		}
	}
	return nil
}

func required(reason string) error { return fmt.Errorf("%w: %s", ErrRequired, reason) }
