// Package orderlog is the order log in Kafka: how a winning purchase is written
// to it and read back, the batches that Lambda hands out, and the dead letters.
//
// It promises that [Producer.Publish] returns without an error only if every
// in-sync replica has the record, and by its deadline whatever the broker does;
// that [Decode] accepts nothing that it does not fully understand; and that no
// record, however broken, hides the others of its batch.
package orderlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"flashsale/shared/sale"
)

// Version is the schema version that [Encode] writes and [Decode] reads.
const Version = 1

// moment is RFC 3339 with milliseconds; it is always written in UTC.
const moment = "2006-01-02T15:04:05.000Z07:00"

type value struct {
	Version    int          `json:"v"`
	OrderID    sale.OrderID `json:"orderId"`
	SaleID     sale.ID      `json:"saleId"`
	ItemID     sale.ItemID  `json:"itemId"`
	UserID     string       `json:"userId"`
	ReservedAt string       `json:"reservedAt"`
}

// Encode makes the record's value. The time is cut to milliseconds.
func Encode(p sale.Placed) []byte {
	return mustMarshal(value{
		Version, p.OrderID, p.SaleID, p.ItemID, p.UserID, p.ReservedAt.UTC().Format(moment),
	})
}

// Poison is the error of a record that no retry can mend. Placed holds what
// could still be read, if order, sale, item and shopper are there and agree, so
// that a final row can tell the shopper; without a readable reservedAt it has
// the order id's own time.
type Poison struct {
	Reason string // at most 500 bytes
	Placed *sale.Placed
}

func (p *Poison) Error() string { return "orderlog: poison record: " + p.Reason }

// Decode reads a record's value. Every error is a [*Poison]. It refuses an
// unknown version, a missing, repeated or invalid field and an order id of
// another sale; fields that it does not know are allowed.
func Decode(text []byte) (sale.Placed, error) {
	if p, ok := decodeOwn(string(text)); ok {
		return p, nil
	}
	fields, err := split(text)
	if err != nil {
		return sale.Placed{}, &Poison{Reason: clip(err.Error())}
	}
	var faults []string
	read := func(name string, into any, valid func() bool) bool {
		raw, found := fields[name]
		switch {
		case !found:
			faults = append(faults, name+" is missing")
		case json.Unmarshal(raw, into) != nil || !valid():
			faults = append(faults, name+" is invalid")
		default:
			return true
		}
		return false
	}

	var version int
	read("v", &version, func() bool { return version == Version })
	var p sale.Placed
	whole := read("orderId", &p.OrderID, func() bool { return p.OrderID != sale.OrderID{} })
	whole = read("saleId", &p.SaleID, func() bool { return p.SaleID > 0 }) && whole
	whole = read("itemId", &p.ItemID, func() bool { return p.ItemID > 0 }) && whole
	whole = read("userId", &p.UserID, func() bool { return sale.ValidUserID(p.UserID) }) && whole
	if whole && p.OrderID.SaleID() != p.SaleID {
		faults = append(faults, "orderId names another sale than saleId")
		whole = false
	}
	p.ReservedAt = p.OrderID.Time()
	var reservedAt string
	read("reservedAt", &reservedAt, func() bool {
		at, ok := parseMoment(reservedAt)
		if ok {
			p.ReservedAt = at
		}
		return ok
	})

	if len(faults) == 0 {
		return p, nil
	}
	poison := &Poison{Reason: strings.Join(faults, ", ")}
	if whole && plausible(p.ReservedAt) {
		poison.Placed = &p
	}
	return sale.Placed{}, poison
}

// decodeOwn reads what [Encode] writes, byte for byte, which is nearly every
// record. The writer's batches pass here: it takes a tenth of the general way,
// and whatever looks different in the least is left to that.
func decodeOwn(text string) (p sale.Placed, ok bool) {
	next := func(prefix, end string) string {
		rest, found := strings.CutPrefix(text, prefix)
		field, rest, ended := strings.Cut(rest, end)
		ok = ok && found && ended
		text = rest
		return field
	}
	ok = true
	orderID := next(`{"v":1,"orderId":"`, `","saleId":`)
	saleID := next(``, `,"itemId":`)
	itemID := next(``, `,"userId":"`)
	p.UserID = next(``, `","reservedAt":"`)
	reservedAt := next(``, `"}`)
	if !ok || text != "" || strings.ContainsAny(p.UserID, `"\`) || !sale.ValidUserID(p.UserID) {
		return sale.Placed{}, false
	}
	var okSale, okItem, okTime bool
	var err error
	p.OrderID, err = sale.ParseOrderID(orderID)
	p.SaleID, okSale = sale.ParseID(saleID)
	p.ItemID, okItem = sale.ParseItemID(itemID)
	p.ReservedAt, okTime = parseMoment(reservedAt)
	return p, err == nil && okSale && okItem && okTime && p.OrderID.SaleID() == p.SaleID
}

func parseMoment(text string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339, text)
	at = at.UTC().Truncate(time.Millisecond)
	return at, err == nil && plausible(at)
}

// plausible refuses a year of five digits, which a zone or an order id can lead
// to: it could not be written again, neither here nor by who reads the row.
func plausible(at time.Time) bool { return at.Year() >= 1970 && at.Year() <= 9999 }

// split takes a JSON object apart. Unlike json.Unmarshal it refuses a field
// that appears twice and tells upper from lower case in names.
func split(text []byte) (map[string]json.RawMessage, error) {
	if len(text) == 0 {
		return nil, errors.New("the value is empty")
	}
	// encoding/json would replace wrong bytes and so change a shopper's id.
	if !utf8.Valid(text) {
		return nil, errors.New("the value is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.New("the value is not a JSON object")
	}
	fields := make(map[string]json.RawMessage, 6)
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("the value is not JSON: %w", err)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, fmt.Errorf("the value is not JSON: %w", err)
		}
		key := name.(string) // the decoder guarantees it inside an object
		if _, twice := fields[key]; twice {
			return nil, fmt.Errorf("%q appears twice", key)
		}
		fields[key] = raw
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("the value is not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the value has text after the object")
	}
	return fields, nil
}
