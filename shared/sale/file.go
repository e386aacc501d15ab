package sale

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of a sale file. They keep every number well inside what Redis, JSON
// and PostgreSQL hold exactly.
const (
	maxItems    = 100
	maxShards   = 64
	maxQuantity = 10_000_000
	maxNameLen  = 200
	maxWindow   = 30 * 24 * time.Hour
)

// file is the sale file's own form: what an operator writes.
type file struct {
	ID            ID         `json:"id"`
	Name          string     `json:"name"`
	OpensAt       string     `json:"opensAt"`
	ClosesAt      string     `json:"closesAt"`
	PaymentWindow string     `json:"paymentWindow"`
	Grace         string     `json:"grace"`
	Shards        int        `json:"shards"`
	Spread        string     `json:"spread"`
	Items         []fileItem `json:"items"`
}

type fileItem struct {
	ID        ItemID `json:"id"`
	ProductID int64  `json:"productId"`
	Name      string `json:"name"`
	Quantity  int    `json:"quantity"`
	Price     string `json:"price"`
	Currency  string `json:"currency"`
}

// ParseFile reads a sale file. Times are RFC 3339 or relative to now ("+15s").
// The error names every fault at once, each on a line of its own.
func ParseFile(text []byte, now time.Time) (Sale, error) {
	f := file{PaymentWindow: "10m", Grace: "1m", Shards: 1, Spread: "0s"}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return Sale{}, fmt.Errorf("sale file: %w", readable(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Sale{}, errors.New("sale file: text after the sale")
	}
	return f.sale(now)
}

// readable says what an operator can look for; the library speaks of Go's types.
func readable(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s cannot be a %s (at byte %d)", cmp.Or(wrong.Field, "the file"), wrong.Value, wrong.Offset)
	}
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON: %w (at byte %d)", wrong, wrong.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not JSON: the text ends too early")
	}
	return err
}

func (f *file) sale(now time.Time) (Sale, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	duration := func(field, text string, least time.Duration) time.Duration {
		d, err := time.ParseDuration(text)
		if err != nil || d < least || d > maxWindow {
			fault("%s %q is not a duration from %s to %s", field, text, least, maxWindow)
		}
		return d.Truncate(time.Millisecond)
	}
	moment := func(field, text string) time.Time {
		t, err := parseMoment(text, now)
		if err != nil {
			fault("%s: %w", field, err)
		}
		return t
	}

	s := Sale{ID: f.ID, Name: f.Name, Shards: f.Shards}
	if f.ID == 0 {
		fault("id is missing: 1 to 4294967295")
	}
	if !validName(f.Name) {
		fault("name must have 1 to %d characters", maxNameLen)
	}
	s.OpensAt, s.ClosesAt = moment("opensAt", f.OpensAt), moment("closesAt", f.ClosesAt)
	s.Spread = duration("spread", f.Spread, 0)
	if !s.OpensAt.IsZero() && !s.ClosesAt.IsZero() && !s.AdmitsAll() {
		fault("closesAt must lie after opensAt + spread")
	}
	s.PaymentWindow = duration("paymentWindow", f.PaymentWindow, time.Second)
	s.Grace = duration("grace", f.Grace, 0)
	if f.Shards < 1 || f.Shards > maxShards {
		fault("shards must be 1 to %d", maxShards)
	}
	if len(f.Items) == 0 || len(f.Items) > maxItems {
		fault("items: 1 to %d are needed", maxItems)
	}
	seen := make(map[ItemID]bool, len(f.Items))
	for i, fi := range f.Items {
		item, err := fi.item()
		if err != nil {
			fault("items[%d]: %w", i, err)
		}
		if seen[item.ID] {
			fault("items[%d]: id %d appears twice", i, item.ID)
		}
		seen[item.ID] = true
		s.Items = append(s.Items, item)
	}
	if len(faults) > 0 {
		return Sale{}, fmt.Errorf("sale file: %w", errors.Join(faults...))
	}
	return s, nil
}

func (fi fileItem) item() (Item, error) {
	var faults []error
	if fi.ID < 1 {
		faults = append(faults, errors.New("id must be 1 or more"))
	}
	if fi.ProductID < 1 {
		faults = append(faults, errors.New("productId must be 1 or more"))
	}
	if !validName(fi.Name) {
		faults = append(faults, fmt.Errorf("name must have 1 to %d characters", maxNameLen))
	}
	if fi.Quantity < 1 || fi.Quantity > maxQuantity {
		faults = append(faults, fmt.Errorf("quantity must be 1 to %d", maxQuantity))
	}
	minor, err := ParsePrice(fi.Price, fi.Currency)
	if err != nil {
		faults = append(faults, err)
	} else if minor == 0 {
		faults = append(faults, errors.New("price must be more than 0"))
	}
	return Item{fi.ID, fi.ProductID, fi.Name, fi.Quantity, minor, fi.Currency}, errors.Join(faults...)
}

// validName also refuses what PostgreSQL cannot store or a page should not show.
func validName(name string) bool {
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxNameLen {
		return false
	}
	for _, r := range name {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return false
		}
	}
	return true
}

func parseMoment(text string, now time.Time) (time.Time, error) {
	t, err := readMoment(text, now)
	// Beyond these years JSON, and so the catalog of all sales, cannot be written.
	if err == nil && (t.Year() < 2000 || t.Year() > 2999) {
		err = fmt.Errorf("%q lies outside the years 2000 to 2999", text)
	}
	return t, err
}

func readMoment(text string, now time.Time) (time.Time, error) {
	if text != "" && (text[0] == '+' || text[0] == '-') {
		d, err := time.ParseDuration(text)
		if err != nil {
			return time.Time{}, fmt.Errorf("%q is not a time relative to now such as +15s", text)
		}
		return now.Add(d).UTC().Truncate(time.Millisecond), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is neither RFC 3339 nor relative such as +15s", text)
	}
	return t.UTC().Truncate(time.Millisecond), nil
}
