package forecast

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Measured are the unit costs that `make bench` found. Each is a rate.
type Measured struct {
	From    string  `json:"from"`    // file, and date and machine where it has them
	Refusal float64 `json:"refusal"` // refusals by what the environment knows, a second and core
	Full    float64 `json:"full"`    // the same with token and Redis, a second and core
	Reserve float64 `json:"reserve"` // calls a second of one Redis node through the Go client
	Writer  float64 `json:"writer"`  // orders a second
}

// measure is one row of bench.json.
type measure struct {
	Name      string  `json:"name"`
	Value     float64 `json:"value"`
	Unit      string  `json:"unit"`
	PeerValue float64 `json:"peer_value"`
}

// ReadMeasured reads the first of the files that exists: what `make bench` wrote
// here, or the checked-in reference. A file is a list of measures, or an object
// with date, machine and that list as rows.
func ReadMeasured(files ...string) (Measured, error) {
	for _, name := range files {
		text, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return Measured{}, fmt.Errorf("forecast: %w", err)
		}
		m, err := parseMeasured(text)
		if err != nil {
			return Measured{}, fmt.Errorf("forecast: %s: %w", name, err)
		}
		m.From = strings.TrimSpace(name + m.From)
		return m, nil
	}
	return Measured{}, fmt.Errorf("forecast: there is none of %s; run make bench", strings.Join(files, ", "))
}

func parseMeasured(text []byte) (Measured, error) {
	var file struct {
		Date    string    `json:"date"`
		Machine string    `json:"machine"`
		Rows    []measure `json:"rows"`
	}
	into := any(&file)
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		into = &file.Rows
	}
	if err := json.Unmarshal(text, into); err != nil {
		return Measured{}, fmt.Errorf("it is not what make bench writes: %w", err)
	}
	var m Measured
	if file.Date != "" {
		m.From = fmt.Sprintf(" (%s, %s)", file.Date, file.Machine)
	}
	refusal, err := firstRate(file.Rows, "refusal")
	if err != nil {
		return Measured{}, err
	}
	reserve, err := firstRate(file.Rows, "reserve")
	if err != nil {
		return Measured{}, err
	}
	writer, err := firstRate(file.Rows, "writer")
	if err != nil {
		return Measured{}, err
	}
	if !isSpeed(refusal.PeerValue) {
		return Measured{}, errors.New("refusal: no peer that verifies the token and asks Redis")
	}
	m.Refusal, m.Full, m.Reserve, m.Writer = refusal.Value, refusal.PeerValue, reserve.Value, writer.Value
	return m, nil
}

// firstRate is the first row of that name that counts something a second: the goal's own.
func firstRate(rows []measure, name string) (measure, error) {
	for _, row := range rows {
		if row.Name == name && isSpeed(row.Value) && isRate(row.Unit) {
			return row, nil
		}
	}
	return measure{}, fmt.Errorf("no row %q that counts something a second", name)
}

// isSpeed tells what can have been measured: nothing does less than one thing in an hour,
// or a million million in a second.
func isSpeed(n float64) bool { return n > 1.0/3600 && n < 1e12 }

func isRate(unit string) bool {
	for _, word := range []string{"/s", "a second", "per second"} {
		if strings.Contains(unit, word) {
			return true
		}
	}
	return false
}
